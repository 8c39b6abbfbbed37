//! The state that we keep for one `X509_STORE`.

use std::ffi::{CString, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::append_list::AppendList;
use crate::hook::{guarded, shielded};
use crate::labels::{Bypass, Event};
use crate::openssl::api::{OPENSSL_STACK, X509, X509_LOOKUP, X509_NAME, X509_OBJECT, X509_STORE};
use crate::openssl::errors::Marked;
use crate::openssl::follow::Following;
use crate::openssl::held::Held;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::model::{Foreign, Locked, Model, Phase};
use crate::openssl::objects::Objects;
use crate::openssl::opened_store::DefaultStore;
use crate::openssl::snapshot::Snapshot;
use crate::openssl::{apart, chains, keys, locks};
use crate::process;
use crate::ptr_table::PtrTable;

/// The state of a store, from its `X509_STORE_new` to its end.
pub struct StoreState {
    /// The libcrypto that the store belongs to.
    pub library: &'static Libcrypto,
    /// The store itself.
    pub store: *mut X509_STORE,
    /// The model of the store's life.
    pub model: Model<Objects>,
    /// Hashed directories, in the order in which libcrypto searches them.
    pub directories: AppendList<HashedDirectory>,
    /// OpenSSL 3.0 to 3.3: the default directory, opened as an OSSL_STORE.
    pub default_store: DefaultStore,
    /// The addresses of the chains that libssl has verified with this store.
    pub chains: AppendList<usize>,
    /// With `WINDLASS_FOLLOW`: what it was loaded from.
    pub follow: Option<Box<Following>>,
    /// The handle of each kind of lookup. X509_STORE_add_lookup creates one per method.
    lookups: [AtomicUsize; LookupKind::COUNT],
}

// SAFETY: the raw pointers are only passed to libcrypto's functions, which lock the store themselves.
unsafe impl Send for StoreState {}
// SAFETY: as above; all other members are atomics, append-only lists, or protected by the model's lock.
unsafe impl Sync for StoreState {}

/// A directory as by_dir.c keeps it, without its record of CRLs.
pub struct HashedDirectory {
    /// The path as the program gave it.
    pub path: CString,
    /// Whether its files are read as PEM.
    pub is_pem: bool,
}

/// The lookup methods: libcrypto's and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupKind {
    /// `X509_LOOKUP_file`.
    File,
    /// `X509_LOOKUP_hash_dir`.
    HashedDirectory,
    /// `X509_LOOKUP_store`.
    Store,
    /// Ours, asked first in each store.
    First,
    /// Ours, replacing the store lookup of the default paths.
    DefaultStore,
}

impl LookupKind {
    const COUNT: usize = LookupKind::DefaultStore as usize + 1;
}

/// A pointer from `Arc::into_raw`; the table holds one of the references.
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

/// The state of a store that was created while we were watching; None for any other store.
///
/// The API requires the caller to hold a reference to the store for the length of its call, so the state stays alive.
pub fn tracked<'a>(store: *const X509_STORE) -> Option<&'a StoreState> {
    // SAFETY: see above; only the store's last X509_STORE_free releases the table's reference.
    STORES.get(store as usize).map(|Tracked(state)| unsafe { &*state })
}

/// The state of the store that a lookup handle belongs to, and the kind of the lookup.
pub fn tracked_lookup<'a>(lookup: *const X509_LOOKUP) -> Option<(&'a StoreState, LookupKind)> {
    // SAFETY: as in `tracked`: lookups are freed with their store.
    LOOKUPS.get(lookup as usize).map(|TrackedLookup(state, kind)| (unsafe { &*state }, kind))
}

/// Calls `f` with the state of each store that is alive, or whose last `X509_STORE_free` has just begun. The free of a
/// store waits for work under the model's lock; a caller that gets the lock later finds the phase `Ended`, and must not
/// touch the store.
pub fn for_each_live(mut f: impl FnMut(&StoreState)) {
    let mut live = Vec::new();
    STORES.for_each(|Tracked(state)| {
        // This closure must not wait, nor allocate through a hook; when memory is short, the remaining stores are left
        // out.
        if live.try_reserve(1).is_ok() {
            // SAFETY: the table holds a reference, and can't release it meanwhile.
            live.push(unsafe {
                Arc::increment_strong_count(state);
                Arc::from_raw(state)
            });
        }
    });
    live.iter().for_each(|state| f(state));
}

impl StoreState {
    /// Starts to watch a new store. The result belongs to the store's first lookup, which passes it to `end`.
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
            follow: Following::of_new_store(),
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
        // Waits for any thread that found the store by `for_each_live`.
        known.model.end();
        let served = known.served();
        // SAFETY: as the caller states.
        unsafe { known.default_store.close(served) };
        for &object in known.model.foreign.retired.iter() {
            // SAFETY: `order` took the object out of the stack, and nobody is inside a call on this store any more.
            unsafe { (served.api.X509_OBJECT_free)(object as *mut X509_OBJECT) };
        }
        // SAFETY: the reference that the table held.
        drop(unsafe { Arc::from_raw(state) });
    }

    /// Records that a chain was verified with this store. `false`: there are too many chains.
    pub fn remember_chain(&self, chain: *const OPENSSL_STACK) -> bool {
        chains::remember(std::ptr::from_ref(self) as usize, &self.chains, chain)
    }

    /// The store that a chain was verified with.
    pub fn of_chain(chain: *const OPENSSL_STACK) -> Option<Arc<StoreState>> {
        chains::with_store(chain, |state| {
            let state = state as *const StoreState;
            // SAFETY: the pointer came from `Arc::into_raw`, and the table's entry is removed before that reference is
            // dropped.
            unsafe {
                Arc::increment_strong_count(state);
                Arc::from_raw(state)
            }
        })
    }

    /// Records the kind of a lookup handle of this store.
    pub fn track_lookup(&self, lookup: *mut X509_LOOKUP, kind: LookupKind) {
        let slot = &self.lookups[kind as usize];
        if slot.load(Ordering::Acquire) == lookup as usize {
            return;
        }
        // The table comes first: `end` removes the handle that the slot names.
        LOOKUPS.insert(lookup as usize, TrackedLookup(self, kind));
        let other = slot.swap(lookup as usize, Ordering::AcqRel);
        // Another thread may just have entered the same handle.
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

    /// Whether this thread itself has locked the store.
    pub fn is_locked_here(&self) -> bool {
        locks::holds(self.store)
    }

    /// Call this before something looks at all that the store holds. It adds certificates that are only registered and
    /// gives up the shared ones, unless this thread has locked the store.
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

    /// Adds all registered certificates. This thread must not have locked the store.
    pub fn complete_now(&self) {
        let _marked = Marked::new(self.served());
        self.model.complete();
    }

    /// From now on, something may look at the store unseen by any hook.
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

    /// Registers the certificates of a file.
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

    /// Adds a certificate that does not come from a registered source, and returns libcrypto's result.
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

    /// The first registered certificate with a name that our reader can't canonicalise, compared as libcrypto compares
    /// names. All registered certificates are in memory by now, and libcrypto does not look there again in this search.
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
