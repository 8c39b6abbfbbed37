//! Stores that follow their sources (`WINDLASS_FOLLOW`).
//!
//! *A verification with a followed store trusts what a process started now would trust; of a source that it could not
//! look at, what it trusted at the last look.* A look gives an observation of each source (`source`), the observations
//! and the contents so far give the contents now (`contents`), and a store is made of these (`successor`): together
//! they are a [`Decision`].
//!
//! Only what a verification searches comes from the successor. Flags, parameters and callbacks are those of the
//! program's store: libcrypto sets the context up with it, and then the context gets the successor to search in
//! (`context`). A program that asks a context for its store gets its own. A client's session is offered only while the
//! contents are those that its chain was verified with (`sessions`).
//!
//! A store is followed only if all that it holds came from files and hashed directories that were served, by absolute
//! paths, and while nothing else has touched it. Otherwise it is [left](Following::leave): it stays at the last
//! decision for good. What the program itself does to a store that has a successor, it does to the successor.

mod contents;
mod context;
mod decision;
pub mod hooks;
pub mod psk;
pub mod sessions;
mod source;
mod successor;

use std::cell::Cell;
use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use windlass::RootStore;
use windlass_interpose::kernel::{RootDirectory, root_directory};

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::hook::{Caller, is_inside};
use crate::labels::Event;
use crate::memory;
use crate::openssl::api::{X509_LOOKUP, X509_STORE};
use crate::openssl::model::Phase;
use crate::openssl::store::{LookupKind, StoreState, tracked, tracked_lookup};
use crate::process;

use contents::{Content as _, Observation, Outcome};
use context::Functions;
pub use context::begin;
use decision::{Decision, Latest};
use source::{Content, Place, Source};
use successor::Held;

/// What is known of a store for following it.
pub struct Following {
    /// What the store was loaded from, in this order, each once.
    sources: AppendList<Source>,
    /// Held while a source is noted.
    taking: ForkLock,
    /// The root directory that all paths are below.
    root: Option<RootDirectory>,
    is_left: AtomicBool,
    /// The store that this one is a successor of.
    origin: AtomicPtr<X509_STORE>,
    /// The number of looks that have begun.
    looks: AtomicU64,
    /// The number of the look behind the latest decision.
    decided_by: AtomicU64,
    latest: Latest,
    /// Of a successor: the number of its contents.
    number: AtomicUsize,
}

impl Following {
    /// For a new store. None without `WINDLASS_FOLLOW`.
    pub fn of_new_store() -> Option<Box<Following>> {
        process::follows().then(|| {
            Box::new(Following {
                sources: AppendList::new(),
                taking: ForkLock::new(),
                root: root_directory(),
                is_left: AtomicBool::new(false),
                origin: AtomicPtr::new(ptr::null_mut()),
                looks: AtomicU64::new(0),
                decided_by: AtomicU64::new(0),
                latest: Latest::new(Decision::new(Vec::new(), None)),
                number: AtomicUsize::new(0),
            })
        })
    }

    fn origin(&self) -> Option<*mut X509_STORE> {
        let origin = self.origin.load(Ordering::Acquire);
        (!origin.is_null()).then_some(origin)
    }

    fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    fn leave(&self) {
        if self.origin().is_none() && !self.is_left.swap(true, Ordering::AcqRel) {
            process::count(Event::StoreNotFollowed, 1);
        }
    }

    /// Whether paths lead where they led when the store was made. Of another root directory, or in another mount
    /// namespace, nothing is believed.
    fn has_its_root(&self) -> bool {
        self.root.is_some() && self.root == root_directory()
    }

    /// Notes a source with its content, and returns its number.
    fn take(&self, place: Option<Place>, content: Option<Content>) -> Option<usize> {
        if self.is_left() || self.origin().is_some() {
            return None;
        }
        let taken = place.filter(Place::is_absolute).zip(content).filter(|_| self.has_its_root());
        let number = taken.and_then(|(place, content)| self.note(place, content));
        if number.is_none() {
            self.leave();
        }
        number
    }

    fn take_seen(&self, place: Option<Place>) -> Option<usize> {
        if self.is_left() || self.origin().is_some() {
            return None;
        }
        let content = place.as_ref().and_then(|place| match place.look(None) {
            Observation::Seen(content) => Some(content),
            Observation::NotSeen => None,
        });
        self.take(place, content)
    }

    /// None if there is no memory, or if the store holds two contents of one source by now.
    fn note(&self, place: Place, content: Content) -> Option<usize> {
        let _guard = self.taking.lock();
        let current = self.latest.get();
        let known = self.sources.iter().position(|source| source.place == place);
        if let Some(number) = known {
            return current.contents.get(number)?.is_same(&content).then_some(number);
        }
        let number = current.contents.len();
        // A child may have been forked in the middle of this.
        if current.successor.is_some() || self.sources.len() != number || !self.sources.try_push(Source::new(place)) {
            return None;
        }
        let mut contents = Vec::new();
        contents.try_reserve_exact(number + 1).ok()?;
        contents.extend(current.contents.iter().cloned());
        contents.push(content);
        self.latest.replace(&current, &Arc::new(Decision::new(contents, None)), || true).then_some(number)
    }

    /// Whether no source is seen with another content: then it does not matter below which root directory.
    fn is_as_decided(&self, last: &Decision) -> bool {
        self.sources.iter().zip(&last.contents).all(|(source, last)| match source.place.look(Some(last)) {
            Observation::Seen(now) => last.is_same(&now),
            Observation::NotSeen => true,
        })
    }

    /// What a look at each source finds now.
    fn look(&self, last: &Decision) -> Vec<Observation<Content>> {
        let mut all = Vec::new();
        if all.try_reserve_exact(last.contents.len()).is_err() {
            return Vec::new();
        }
        all.extend(self.sources.iter().zip(&last.contents).map(|(source, last)| source.place.look(Some(last))));
        // Asked afterwards: nothing that was seen below another root directory counts.
        if self.has_its_root() { all } else { Vec::new() }
    }

    /// Looks, and decides. What can't be done for lack of memory is as if it had not been seen.
    fn decide(&self, state: &StoreState, functions: &'static Functions, mut current: Arc<Decision>) -> Arc<Decision> {
        /// How often other threads may decide in between.
        const ATTEMPTS: usize = 3;
        let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let mut observations = if self.is_as_decided(&current) { Vec::new() } else { self.look(&current) };
        for _ in 0..ATTEMPTS {
            let contents = match contents::after(&current.contents, &observations) {
                Outcome::Changed(contents) => contents,
                Outcome::Same if !self.latest.is(&current) => {
                    // Another thread has decided meanwhile, by an earlier or a later look.
                    current = self.latest.get();
                    observations = self.look(&current);
                    continue;
                }
                Outcome::Same | Outcome::NoMemory => {
                    // If a look that began later has decided, its decision counts.
                    let last = self.decided_by.fetch_max(look, Ordering::AcqRel);
                    return if last <= look { current } else { self.latest.get() };
                }
            };
            if self.decided_by.load(Ordering::Acquire) > look {
                break;
            }
            let Some(made) = successor::make(state, functions, self, &contents) else { break };
            let next = Arc::new(Decision::new(contents, Some(made)));
            next.number_successor(&self.sources);
            let is_newest = || !self.is_left() && self.decided_by.fetch_max(look, Ordering::AcqRel) <= look;
            if self.latest.replace(&current, &next, is_newest) {
                process::count(Event::StoreMadeAnew, 1);
                return next;
            }
            current = self.latest.get();
        }
        self.latest.get()
    }
}

thread_local! {
    static LOADING: Cell<Loading> = const { Cell::new(Loading::Apart) };
}

/// How the sources of a load belong together.
#[derive(Clone, Copy)]
enum Loading {
    /// Not at all.
    Apart,
    /// One call loads a file, the one with this number, and a directory only if it can load the file.
    Pair(Option<usize>),
}

/// Calls `load`, which loads a file and then, only if it could, a directory.
pub fn pair<R>(is_pair: bool, load: impl FnOnce() -> R) -> R {
    /// Code of the program may leave by `longjmp`: the next call of this kind begins anew.
    struct Previous(Loading);
    impl Drop for Previous {
        fn drop(&mut self) {
            LOADING.set(self.0);
        }
    }
    if !is_pair || !process::follows() {
        return load();
    }
    let _previous = Previous(LOADING.replace(Loading::Pair(None)));
    load()
}

/// Something is in the store, or may be, that a successor would not have.
pub fn leave(state: &StoreState) {
    if let Some(following) = &state.follow {
        following.leave();
    }
}

/// This libcrypto's contexts can't be made to search in another store: none of its decisions was ever used.
fn abandon(state: &StoreState) {
    if let Some(following) = &state.follow {
        following.leave();
        let (latest, none) = (following.latest.get(), Arc::new(Decision::new(Vec::new(), None)));
        following.latest.replace(&latest, &none, || true);
    }
}

/// A file was registered with the store.
pub fn took_file(state: &StoreState, path: &CStr, roots: Arc<RootStore>) {
    let Some(following) = &state.follow else { return };
    let number = following.take(memory::c_string(&[path.to_bytes()]).map(Place::File), Some(Content::Roots(roots)));
    if let Loading::Pair(_) = LOADING.get() {
        LOADING.set(Loading::Pair(number));
    }
}

/// A hashed directory was added to the store. Its files are not read before a verification needs them.
pub fn took_directory(state: &StoreState, path: &[u8], is_pem: bool) {
    let Some(following) = &state.follow else { return };
    let before = following.sources.len();
    let number = following.take_seen(memory::c_string(&[path]).filter(|_| is_pem).map(Place::Directory));
    // A directory that the store had already does not depend on the file.
    if let (Some(number), Loading::Pair(Some(file))) = (number.filter(|number| *number >= before), LOADING.get())
        && let Some(source) = following.sources.iter().nth(number)
    {
        source.depend_on(file);
    }
}

/// OpenSSL 3.0 to 3.3: the default directory was added as an OSSL_STORE.
pub fn took_default_store(state: &StoreState, path: &CStr) {
    if let Some(following) = &state.follow {
        following.take_seen(memory::c_string(&[path.to_bytes()]).map(Place::DefaultStore));
    }
}

/// The program's own store, if this is the successor of one.
fn origin_of(store: *mut X509_STORE) -> *mut X509_STORE {
    let origin = tracked(store).and_then(|state| state.follow.as_ref()?.origin());
    origin.unwrap_or(store)
}

/// The store that a call of the program is to reach: its own, or the successor that has replaced it. The successor is
/// the store's for good then, as nobody knows what the program does to it.
pub fn reached(store: *mut X509_STORE, caller: Caller) -> *mut X509_STORE {
    let successor = || {
        let state = tracked(store).filter(|state| !state.library.contains(caller) && !is_inside())?;
        let following = state.follow.as_deref().filter(|following| following.origin().is_none())?;
        if state.is_locked_here() || following.latest.get().successor.is_none() {
            return None;
        }
        following.leave();
        // From here on no other successor replaces it.
        following.latest.get().successor.as_ref().map(Held::store)
    };
    if process::follows() { successor().unwrap_or(store) } else { store }
}

/// The same for a lookup of the program's store.
pub fn reached_lookup(lookup: *mut X509_LOOKUP, caller: Caller) -> *mut X509_LOOKUP {
    let of_successor = || {
        let (state, kind) = tracked_lookup(lookup)?;
        let successor = tracked(reached(state.store, caller)).filter(|successor| !ptr::eq(*successor, state))?;
        let api = &successor.served().api;
        // SAFETY: these return constant method tables; the store is alive, and has or gets a lookup of the method.
        let found = unsafe {
            let method = match kind {
                LookupKind::File => (api.X509_LOOKUP_file)(),
                LookupKind::HashedDirectory => (api.X509_LOOKUP_hash_dir)(),
                LookupKind::Store => state.library.originals.X509_LOOKUP_store?(),
                LookupKind::First | LookupKind::DefaultStore => return None,
            };
            (api.X509_STORE_add_lookup)(successor.store, method)
        };
        (!found.is_null()).then(|| {
            successor.track_lookup(found, kind);
            found
        })
    };
    if process::follows() { of_successor().unwrap_or(lookup) } else { lookup }
}

/// The latest decision, if it has a successor.
fn last_successor(state: &StoreState) -> Option<Arc<Decision>> {
    let following = state.follow.as_deref().filter(|following| following.origin().is_none())?;
    Some(following.latest.get()).filter(|latest| latest.successor.is_some())
}

/// The number of the contents that a verification with this store searches; None if they are not those of a decision.
fn number_of(state: &StoreState) -> Option<usize> {
    let following = state.follow.as_deref()?;
    if following.origin().is_some() {
        return Some(following.number.load(Ordering::Acquire)).filter(|number| *number != 0);
    }
    let latest = following.latest.get();
    let is_own = latest.successor.is_none() && !following.is_left();
    is_own.then(|| latest.number(&following.sources))
}

/// The decision for a verification or a connection that begins now. None: the store is not followed.
fn decision(state: &StoreState, functions: &'static Functions) -> Option<Arc<Decision>> {
    let following = state.follow.as_deref()?;
    let latest = following.latest.get();
    let is_exposed = || latest.successor.is_none() && state.model.phase() >= Phase::Exposed;
    if !following.is_left() && (is_exposed() || functions.has_any(state.store) || sessions::may_start_unseen()) {
        following.leave();
    }
    if following.is_left() {
        let latest = following.latest.get();
        let successor = latest.successor.as_ref()?;
        if functions.pass_on(state.store, successor.store())
            && let Some(state) = tracked(successor.store())
        {
            state.make_eager();
        }
        return Some(latest);
    }
    if state.is_locked_here() || process::is_leaving() {
        return Some(latest);
    }
    Some(following.decide(state, functions, latest))
}
