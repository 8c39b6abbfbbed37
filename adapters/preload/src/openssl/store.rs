//! What is known of one `X509_STORE`.

use std::ffi::{CString, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::append_list::AppendList;
use crate::hook::{guarded, shielded};
use crate::labels::{Bypass, Event};
use crate::openssl::api::{OPENSSL_STACK, X509, X509_LOOKUP, X509_NAME, X509_OBJECT, X509_STORE};
use crate::openssl::errors::Marked;
use crate::openssl::held::Held;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::model::{Foreign, Locked, Model, Phase};
use crate::openssl::objects::Objects;
use crate::openssl::opened_store::DefaultStore;
use crate::openssl::snapshot::Snapshot;
use crate::openssl::{apart, chains, keys, locks};
use crate::process;
use crate::ptr_table::PtrTable;

/// The state that goes with a store from its `X509_STORE_new` to its end.
pub struct StoreState {
    /// Whose store it is.
    pub library: &'static Libcrypto,
    /// The store.
    pub store: *mut X509_STORE,
    /// Its life.
    pub model: Model<Objects>,
    /// Hashed directories, in the order in which libcrypto asks them.
    pub directories: AppendList<HashedDirectory>,
    /// OpenSSL 3.0 to 3.3: the default directory as an OSSL_STORE.
    pub default_store: DefaultStore,
    /// Where the chains are that libssl has verified with it.
    pub chains: AppendList<usize>,
    /// The handle of each kind of lookup. X509_STORE_add_lookup makes one for each method.
    lookups: [AtomicUsize; LookupKind::COUNT],
}

// SAFETY: the raw pointers are only handed to libcrypto's functions, which lock the store themselves.
unsafe impl Send for StoreState {}
// SAFETY: as above; all other members are atomics, append-only lists, or protected by the model's lock.
unsafe impl Sync for StoreState {}

/// What by_dir.c keeps of a directory, but for what it knows of CRLs.
pub struct HashedDirectory {
    /// As it was given.
    pub path: CString,
    /// Its files are read as PEM.
    pub is_pem: bool,
}

/// The lookup methods of libcrypto, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupKind {
    /// `X509_LOOKUP_file`.
    File,
    /// `X509_LOOKUP_hash_dir`.
    HashedDirectory,
    /// `X509_LOOKUP_store`.
    Store,
    /// Ours, the first of the store.
    First,
    /// Ours, in place of the store lookup of the default paths.
    DefaultStore,
}

impl LookupKind {
    const COUNT: usize = LookupKind::DefaultStore as usize + 1;
}

/// From `Arc::into_raw`; the table has one of the references.
#[derive(Clone, Copy)]
struct Tracked(*const StoreState);

#[derive(Clone, Copy)]
struct TrackedLookup(*const StoreState, LookupKind);

// SAFETY: a state may be used by all threads, see above.
unsafe impl Send for Tracked {}
// SAFETY: as above.
unsafe impl Send for TrackedLookup {}

static STORES: PtrTable<Tracked> = PtrTable::new();
static LOOKUPS: PtrTable<TrackedLookup> = PtrTable::new();

/// The state of a store that was made while we were watching.
///
/// The caller holds a reference to the store for the length of its call, as the API demands of it, so the state lives.
pub fn tracked<'a>(store: *const X509_STORE) -> Option<&'a StoreState> {
    // SAFETY: see above; the table's reference is given up by the store's last X509_STORE_free alone.
    STORES.get(store as usize).map(|Tracked(state)| unsafe { &*state })
}

/// The state of the store that a lookup handle belongs to, and what the lookup is.
pub fn tracked_lookup<'a>(lookup: *const X509_LOOKUP) -> Option<(&'a StoreState, LookupKind)> {
    // SAFETY: as in `tracked`: lookups are freed with their store.
    LOOKUPS.get(lookup as usize).map(|TrackedLookup(state, kind)| (unsafe { &*state }, kind))
}

/// Calls `f` with the state of each store that is alive, or whose last `X509_STORE_free` has begun at this moment. Such
/// a store waits for what is done under the model's lock, and what comes to the lock later finds the phase `Ended`: it
/// must not touch the store then.
pub fn for_each_live(mut f: impl FnMut(&StoreState)) {
    let mut live = Vec::new();
    STORES.for_each(|Tracked(state)| {
        // Nothing may be waited for, nor allocated by way of a hook, in here; when memory is short, the rest is left
        // out.
        if live.try_reserve(1).is_ok() {
            // SAFETY: the table has a reference, and can't give it up meanwhile.
            live.push(unsafe {
                Arc::increment_strong_count(state);
                Arc::from_raw(state)
            });
        }
    });
    live.iter().for_each(|state| f(state));
}

impl StoreState {
    /// Starts to watch a new store. The result belongs to the store's first lookup, which gives it back to `end`.
    pub fn begin(
        library: &'static Libcrypto,
        served: &'static Served,
        store: *mut X509_STORE,
        phase: Phase,
    ) -> *const StoreState {
        let state = Arc::into_raw(Arc::new(StoreState {
            library,
            store,
            model: Model::new(Objects::new(library, served, store), phase),
            directories: AppendList::new(),
            default_store: DefaultStore::default(),
            chains: AppendList::new(),
            lookups: [const { AtomicUsize::new(0) }; LookupKind::COUNT],
        }));
        STORES.insert(store as usize, Tracked(state));
        state
    }

    /// Stops watching. libcrypto calls this from the last X509_STORE_free, before it frees the objects and the lock of
    /// the store (1.1.1 to 4.0, x509_lu.c).
    ///
    /// # Safety
    /// `state` came from `begin`, and no call of the program on its store is or will be under way.
    pub unsafe fn end(state: *const StoreState) {
        // SAFETY: as the caller states.
        let known = unsafe { &*state };
        STORES.remove(known.store as usize);
        chains::forget(state as usize, &known.chains);
        for lookup in &known.lookups {
            LOOKUPS.remove(lookup.load(Ordering::Acquire));
        }
        known.model.foreign.leave();
        // Whoever found it by `for_each_live` is waited for here.
        known.model.end();
        let served = known.served();
        // SAFETY: as the caller states.
        unsafe { known.default_store.close(served) };
        for &object in known.model.foreign.retired.iter() {
            // SAFETY: taken out of the stack by `order`, and nobody is inside a call on this store any more.
            unsafe { (served.api.X509_OBJECT_free)(object as *mut X509_OBJECT) };
        }
        // SAFETY: the reference that the table had.
        drop(unsafe { Arc::from_raw(state) });
    }

    /// Remembers that a chain was verified with this store. `false`: there are too many.
    pub fn remember_chain(&self, chain: *const OPENSSL_STACK) -> bool {
        chains::remember(std::ptr::from_ref(self) as usize, &self.chains, chain)
    }

    /// The store with which a chain was verified.
    pub fn of_chain(chain: *const OPENSSL_STACK) -> Option<Arc<StoreState>> {
        chains::with_store(chain, |state| {
            let state = state as *const StoreState;
            // SAFETY: the pointer came from `Arc::into_raw`, and the table's entry goes before that reference does.
            unsafe {
                Arc::increment_strong_count(state);
                Arc::from_raw(state)
            }
        })
    }

    /// Remembers what a lookup handle of this store is.
    pub fn track_lookup(&self, lookup: *mut X509_LOOKUP, kind: LookupKind) {
        let slot = &self.lookups[kind as usize];
        if slot.load(Ordering::Acquire) == lookup as usize {
            return;
        }
        // Entered first: `end` takes out what the slot says.
        LOOKUPS.insert(lookup as usize, TrackedLookup(self, kind));
        let other = slot.swap(lookup as usize, Ordering::AcqRel);
        // Another thread may just have entered the same one.
        if other != 0 && other != lookup as usize {
            LOOKUPS.remove(other);
        }
    }

    /// Whether the handle of this kind of lookup is known.
    pub fn tracks(&self, kind: LookupKind) -> bool {
        self.lookups[kind as usize].load(Ordering::Acquire) != 0
    }

    /// The functions of this store's libcrypto. Only stores of libcryptos that can be served are watched.
    pub fn served(&self) -> &'static Served {
        self.model.foreign.served
    }

    /// Whether this thread has locked the store itself.
    pub fn is_locked_here(&self) -> bool {
        locks::holds(self.store)
    }

    /// Something is about to look at all that the store holds. Adds what is only registered, and leaves the store
    /// nothing that others have, unless this thread holds the store locked.
    pub fn complete(&self) {
        if !self.is_locked_here() {
            guarded(|| {
                apart::keep_apart(&self.model);
                if self.model.is_incomplete() {
                    process::count(Event::Enumerations, 1);
                    self.complete_now();
                }
                Some(())
            });
        }
    }

    /// Adds all that is registered. This thread has not locked the store.
    pub fn complete_now(&self) {
        let _marked = Marked::new(self.served());
        self.model.complete();
    }

    /// Something may look at the store where no hook sees it, from now on.
    pub fn make_eager(&self) {
        if self.is_locked_here() {
            self.model.be_eager();
            return;
        }
        shielded(|| {
            let _marked = Marked::new(self.served());
            self.model.make_eager();
            Some(())
        });
    }

    /// See [`Model::leave_to_original`].
    pub fn leave_to_original(&self) {
        let _marked = Marked::new(self.served());
        self.model.leave_to_original();
    }

    /// Registers what was read of a file.
    pub fn register(&self, snapshot: Arc<Snapshot>) -> Result<(), Bypass> {
        let _marked = Marked::new(self.served());
        let anchors = snapshot.roots.len() as u64;
        if !keys::is_ready(self.library, self.served(), &snapshot) {
            return Err(Bypass::KeyMethods);
        }
        let locked = self.model.lock();
        if process::is_leaving() {
            return Err(Bypass::HiddenCallers);
        }
        locked.register(snapshot).map_err(|_| Bypass::SharedSubject)?;
        drop(locked);
        process::count(Event::AnchorsRegistered, anchors);
        Ok(())
    }

    /// Adds a certificate that does not come from a registered source, and returns what libcrypto says.
    ///
    /// # Safety
    /// `certificate` is a valid certificate of this store's libcrypto, and this thread has not locked the store.
    pub unsafe fn add(&self, certificate: *mut X509) -> c_int {
        // SAFETY: as the caller states.
        unsafe { self.add_locked(&self.model.lock(), certificate) }
    }

    /// As [`StoreState::add`], with the model's lock held.
    ///
    /// # Safety
    /// As for [`StoreState::add`].
    pub unsafe fn add_locked(&self, locked: &Locked<'_, Objects>, certificate: *mut X509) -> c_int {
        // SAFETY: as the caller states.
        let held = unsafe { Held::new(&self.served().api, certificate) };
        c_int::from(locked.add(held))
    }

    /// The first certificate of a name that our reader can't canonicalise, as libcrypto compares names. Everything
    /// registered is in memory, where libcrypto does not look again in this search.
    pub fn compared(&self, name: *const X509_NAME) -> Option<*mut X509> {
        let (served, model) = (self.served(), &self.model);
        let _locked = model.lock();
        if model.is_stack() {
            return model.foreign.retrieve(name);
        }
        model.registrations().iter().find_map(|known| {
            known
                .source
                .roots
                .anchors()
                .filter_map(|anchor| model.foreign.certificate(&known.source, anchor.index()))
                .find(|&certificate| {
                    // SAFETY: the snapshot holds the certificate; libcrypto passes a valid name.
                    unsafe { (served.api.X509_NAME_cmp)((served.api.X509_get_subject_name)(certificate), name) == 0 }
                })
        })
    }
}
