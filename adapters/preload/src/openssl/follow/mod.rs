//! Stores that follow their sources (`WINDLASS_FOLLOW`): a verification with a store whose sources have changed since
//! it was loaded is done with a *successor*, a store that has just been made of the same sources.
//!
//! Only what a verification searches comes from the successor. Flags, parameters and callbacks are those of the
//! program's store: libcrypto sets the context up with it, and then the context gets the successor to search in
//! (`context`). A program that asks a context for its store gets its own.
//!
//! A store is followed only if all that it holds came from files and hashed directories that were served, by absolute
//! paths, and while nothing else has touched it. Otherwise it is as without the variable. Once [left](Following::leave)
//! it is never followed again.

mod context;
pub mod hooks;
mod source;
mod successor;

use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use windlass::RootStore;

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::labels::Event;
use crate::memory;
use crate::openssl::api::X509_STORE;
use crate::openssl::model::Phase;
use crate::openssl::store::{StoreState, tracked};
use crate::process;

use context::Functions;
pub use context::begin;
use source::{Place, Seen, Source, Unknown};
use successor::{Held, Successor};

/// What is known of a store for following it.
pub struct Following {
    /// What the store was loaded from, in this order.
    sources: AppendList<Source>,
    is_left: AtomicBool,
    /// The store that this one is a successor of.
    origin: AtomicPtr<X509_STORE>,
    /// The number of times that the sources were looked at.
    looks: AtomicU64,
    /// The newest successor; changed, and its store referred to, under the lock.
    current: AtomicPtr<Successor>,
    lock: ForkLock,
}

impl Following {
    /// For a new store. None without `WINDLASS_FOLLOW`.
    pub fn of_new_store() -> Option<Box<Following>> {
        process::follows().then(|| {
            Box::new(Following {
                sources: AppendList::new(),
                is_left: AtomicBool::new(false),
                origin: AtomicPtr::new(ptr::null_mut()),
                looks: AtomicU64::new(0),
                current: AtomicPtr::new(ptr::null_mut()),
                lock: ForkLock::new(),
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

    /// Whether a successor was ever needed.
    fn has_changed(&self) -> bool {
        !self.current.load(Ordering::Acquire).is_null()
    }

    fn leave(&self) {
        if self.origin().is_none() && !self.is_left.swap(true, Ordering::AcqRel) {
            process::count(Event::StoreNotFollowed, 1);
        }
    }

    fn take(&self, place: Option<Place>, seen: impl FnOnce(&Place) -> Result<Seen, Unknown>) {
        if self.is_left() || self.origin().is_some() {
            return;
        }
        let source = place.filter(Place::is_absolute).and_then(|place| {
            let seen = seen(&place).ok()?;
            Source::new(place, seen)
        });
        if !source.is_some_and(|source| self.sources.try_push(source)) {
            self.leave();
        }
    }

    /// What all sources are now. `None` if one can't be looked at.
    fn look(&self) -> Option<Vec<Seen>> {
        let mut all = Vec::new();
        for source in self.sources.iter() {
            all.try_reserve(1).ok()?;
            all.push(source.look().ok()?);
        }
        Some(all)
    }

    fn is_as_taken(&self, now: &[Seen]) -> bool {
        self.sources.iter().zip(now).all(|(source, now)| source.seen.is_same(now))
    }

    /// The newest successor, if `is_wanted`.
    fn current(&self, functions: &'static Functions, is_wanted: impl FnOnce(&Successor) -> bool) -> Option<Held> {
        let _guard = self.lock.lock();
        // SAFETY: freed only after it was replaced under the lock.
        let current = unsafe { self.current.load(Ordering::Acquire).as_ref() }?;
        // SAFETY: it holds a store of the same libcrypto.
        if is_wanted(current) { unsafe { Held::new(functions, current.store()) } } else { None }
    }

    /// Keeps a successor for the next verification, unless there is one of a later look.
    fn publish(&self, successor: Successor) {
        let fresh = Box::into_raw(Box::new(successor));
        let replaced = {
            let _guard = self.lock.lock();
            // SAFETY: as in `current`; the fresh one is ours.
            let (current, look) = unsafe { (self.current.load(Ordering::Acquire).as_ref(), (*fresh).look) };
            match current {
                Some(current) if current.look > look => fresh,
                _ => self.current.swap(fresh, Ordering::AcqRel),
            }
        };
        if !replaced.is_null() {
            // SAFETY: made by Box::into_raw, and nobody finds it any more. Freeing a store can run the program's code,
            // so the lock is not held.
            drop(unsafe { Box::from_raw(replaced) });
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        if !current.is_null() {
            // SAFETY: made by Box::into_raw, and nobody else has it any more.
            drop(unsafe { Box::from_raw(current) });
        }
    }
}

/// Something is in the store, or may be, that a successor would not have.
pub fn leave(state: &StoreState) {
    if let Some(following) = &state.follow {
        following.leave();
    }
}

/// A file was registered with the store.
pub fn took_file(state: &StoreState, path: &CStr, roots: Arc<RootStore>) {
    if let Some(following) = &state.follow {
        following.take(memory::c_string(&[path.to_bytes()]).map(Place::File), |_| Ok(Seen::Roots(roots)));
    }
}

/// A hashed directory was added to the store. Its files are not read before a verification needs them.
pub fn took_directory(state: &StoreState, path: &[u8], is_pem: bool) {
    if let Some(following) = &state.follow {
        let place = memory::c_string(&[path]).filter(|_| is_pem).map(Place::Directory);
        following.take(place, Place::look);
    }
}

/// Calls `add`, which adds the directory of a call that has registered a file before.
pub fn with_file<R>(state: &StoreState, add: impl FnOnce() -> R) -> R {
    let Some(following) = &state.follow else { return add() };
    let before = following.sources.len();
    let result = add();
    following.sources.iter().skip(before).for_each(|source| source.needs_file.store(true, Ordering::Release));
    result
}

/// OpenSSL 3.0 to 3.3: the default directory was added as an OSSL_STORE.
pub fn took_default_store(state: &StoreState, path: &CStr) {
    if let Some(following) = &state.follow {
        following.take(memory::c_string(&[path.to_bytes()]).map(Place::DefaultStore), Place::look);
    }
}

/// The program's own store, if this is the successor of one.
fn origin_of(store: *mut X509_STORE) -> *mut X509_STORE {
    let origin = tracked(store).and_then(|state| state.follow.as_ref()?.origin());
    origin.unwrap_or(store)
}

/// The successor with which a verification that begins now is to be done. None: with the store itself.
fn successor(state: &StoreState, functions: &'static Functions) -> Option<Held> {
    let following = state.follow.as_deref()?;
    if following.is_left() || process::is_leaving() || state.is_locked_here() {
        return None;
    }
    if state.model.phase() >= Phase::Exposed || functions.has_any(state.store) {
        following.leave();
        return None;
    }
    let look = following.looks.fetch_add(1, Ordering::Relaxed);
    // What can't be looked at counts as unchanged.
    let Some(now) = following.look() else { return following.current(functions, |_| true) };
    if following.is_as_taken(&now) {
        return None;
    }
    following.current(functions, |current| current.is_of(&now)).or_else(|| {
        let made = successor::make(state, functions, following, &now);
        let Some(made) = made else { return following.current(functions, |_| true) };
        process::count(Event::StoreMadeAnew, 1);
        // SAFETY: it holds a store of this libcrypto.
        let held = unsafe { Held::new(functions, made.store()) };
        following.publish(Successor::new(made, now, look));
        held
    })
}
