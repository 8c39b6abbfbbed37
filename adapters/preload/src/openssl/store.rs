//! What is known of one `X509_STORE`.

use std::collections::HashSet;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use windlass::AnchorIndex;

use crate::append_list::AppendList;
use crate::fork_lock::{ForkGuard, ForkLock};
use crate::openssl::api::{X509_LOOKUP, X509_OBJECT, X509_STORE};
use crate::openssl::default_store::DefaultStore;
use crate::openssl::library::{Libcrypto, Served};
use crate::openssl::noted::Noted;
use crate::openssl::order::Event;
use crate::openssl::own::Own;
use crate::openssl::snapshot::Snapshot;
use crate::ptr_table::PtrTable;

/// The state that goes with a store from its `X509_STORE_new` to its end.
///
/// Invariant, held whenever `lock` is free: for each subject of each registered snapshot, either all its anchors are in
/// the store's memory, in the order of an eager load, or none of them and no other certificate of that subject is. Once
/// `verifies` is set (see `verification`), the former holds for all subjects that several anchors share.
pub struct StoreState {
    /// Whose store it is.
    pub library: &'static Libcrypto,
    /// The store.
    pub store: *mut X509_STORE,
    /// Something is linked against the library (see `users`); else nothing is served.
    pub linked: bool,
    lock: ForkLock,
    /// Registered sources, in the order in which the program loaded them.
    pub registrations: AppendList<Arc<Registration>>,
    /// What happened to the store, for `order`.
    pub events: AppendList<Event>,
    /// What is among the events of a store of 4.0.
    pub noted: Noted,
    /// How many of the events, from the start, are dealt with.
    pub settled: AtomicUsize,
    /// The last event is a search.
    pub ends_in_find: AtomicBool,
    /// The stack was sorted when the last load or addition was noted.
    pub sorted_when_noted: AtomicBool,
    /// 4.0: `X509_STORE_get0_objects` has turned the table of objects into a stack.
    pub converted: AtomicBool,
    /// The original has loaded something into the store.
    pub loaded_by_original: AtomicBool,
    /// Whether it shares certificates, and those that it does not.
    pub own: Own,
    /// Objects that were taken out of the store's stack; another thread may still look at them.
    pub retired: AppendList<usize>,
    /// Hashed directories, in the order in which libcrypto asks them.
    pub directories: AppendList<HashedDirectory>,
    /// The store's memory may hold something.
    pub touched: AtomicBool,
    /// Something may read the store's memory where no hook sees it: whatever is loaded goes in at once.
    pub eager: AtomicBool,
    /// A search found nothing registered, and went on to other lookups: it may add certificates at any time from now on.
    pub searches_went_on: AtomicBool,
    /// The program has had the live stack of objects.
    pub exposed: AtomicBool,
    /// A verification has begun, or may begin where no hook sees it: shared subjects are in memory, and go there as soon as
    /// they are registered.
    pub verifies: AtomicBool,
    /// OpenSSL 3.0 to 3.3: the default directory as an OSSL_STORE.
    pub default_store: DefaultStore,
    /// The handle of each kind of lookup. X509_STORE_add_lookup makes one for each method.
    lookups: [AtomicUsize; LookupKind::COUNT],
}

// SAFETY: the raw pointer is only handed to libcrypto's functions, which lock the store themselves.
unsafe impl Send for StoreState {}
// SAFETY: as above; all other members are atomics, append-only lists, or protected by `lock`.
unsafe impl Sync for StoreState {}

/// What by_dir.c keeps of a directory, but for what it knows of CRLs.
pub struct HashedDirectory {
    /// As it was given.
    pub path: CString,
    /// Its files are read as PEM.
    pub is_pem: bool,
}

/// One source, as registered with one store.
pub struct Registration {
    /// Its certificates.
    pub snapshot: Arc<Snapshot>,
    /// Those that were put into the store's memory: each once, as an eager load does.
    added: AppendList<u32>,
    /// All were.
    pub complete: AtomicBool,
}

impl Registration {
    /// Nothing was added yet.
    pub fn new(snapshot: Arc<Snapshot>) -> Registration {
        Registration { snapshot, added: AppendList::new(), complete: AtomicBool::new(false) }
    }

    /// Whether an anchor was added before.
    pub fn has_added(&self, index: AnchorIndex) -> bool {
        self.complete.load(Ordering::Acquire) || self.added.iter().any(|&known| known as usize == index.get())
    }

    /// Remembers that an anchor was added.
    pub fn mark(&self, index: AnchorIndex) {
        self.added.push(index.get() as u32);
    }

    /// The anchors that were added one by one.
    pub fn added(&self) -> HashSet<u32> {
        self.added.iter().copied().collect()
    }
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

#[derive(Clone, Copy)]
struct Tracked(*const StoreState);

#[derive(Clone, Copy)]
struct TrackedLookup(*const StoreState, LookupKind);

static STORES: PtrTable<Tracked> = PtrTable::new();
static LOOKUPS: PtrTable<TrackedLookup> = PtrTable::new();

/// The state of a store that was made while we were watching.
///
/// The caller holds a reference to the store for the length of its call, as the API demands of it, so the state lives.
pub fn tracked<'a>(store: *const X509_STORE) -> Option<&'a StoreState> {
    // SAFETY: see above; the state is freed by the store's last X509_STORE_free alone.
    STORES.get(store as usize).map(|Tracked(state)| unsafe { &*state })
}

/// The state of the store that a lookup handle belongs to, and what the lookup is.
pub fn tracked_lookup<'a>(lookup: *const X509_LOOKUP) -> Option<(&'a StoreState, LookupKind)> {
    // SAFETY: as in `tracked`: lookups are freed with their store.
    LOOKUPS.get(lookup as usize).map(|TrackedLookup(state, kind)| (unsafe { &*state }, kind))
}

impl StoreState {
    /// Starts to watch a new store. The result belongs to the store's first lookup, which gives it back to `end`.
    pub fn begin(library: &'static Libcrypto, store: *mut X509_STORE, linked: bool, verifies: bool) -> *mut StoreState {
        let state = Box::into_raw(Box::new(StoreState {
            library,
            store,
            linked,
            lock: ForkLock::new(),
            registrations: AppendList::new(),
            events: AppendList::new(),
            settled: AtomicUsize::new(0),
            ends_in_find: AtomicBool::new(false),
            sorted_when_noted: AtomicBool::new(false),
            converted: AtomicBool::new(false),
            loaded_by_original: AtomicBool::new(false),
            own: Own::default(),
            retired: AppendList::new(),
            directories: AppendList::new(),
            touched: AtomicBool::new(false),
            eager: AtomicBool::new(false),
            exposed: AtomicBool::new(false),
            searches_went_on: AtomicBool::new(false),
            verifies: AtomicBool::new(verifies),
            noted: Noted::default(),
            default_store: DefaultStore::default(),
            lookups: [const { AtomicUsize::new(0) }; LookupKind::COUNT],
        }));
        STORES.insert(store as usize, Tracked(state));
        state
    }

    /// Stops watching.
    ///
    /// # Safety
    /// `state` came from `begin`, and no call on its store is or will be under way.
    pub unsafe fn end(state: *mut StoreState) {
        // SAFETY: as the caller states.
        let state = unsafe { Box::from_raw(state) };
        STORES.remove(state.store as usize);
        for lookup in &state.lookups {
            LOOKUPS.remove(lookup.load(Ordering::Acquire));
        }
        if let Some(served) = state.served() {
            // SAFETY: as the caller states.
            unsafe { state.default_store.close(served) };
            for &object in state.retired.iter() {
                // SAFETY: taken out of the stack by `order`, and nobody is inside a call on this store any more.
                unsafe { (served.api.X509_OBJECT_free)(object as *mut X509_OBJECT) };
            }
        }
        drop(state);
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

    /// Keeps other threads from registering or materialising.
    pub fn lock(&self) -> ForkGuard<'_> {
        self.lock.lock()
    }

    /// The program has the live stack of objects: it may take some out, and it sees what comes in. From now on everything goes
    /// in as it is loaded, and nothing comes back.
    pub fn expose(&self) {
        self.eager.store(true, Ordering::Release);
        self.exposed.store(true, Ordering::Release);
        if !self.served().is_some_and(Served::sorts_objects) {
            self.converted.store(true, Ordering::Release);
        }
    }

    /// Whether an enumeration would miss something, or see it in another order.
    pub fn is_incomplete(&self) -> bool {
        let sorts = self.served().is_some_and(Served::sorts_objects);
        (sorts && self.has_pending())
            || self.registrations.iter().any(|registration| !registration.complete.load(Ordering::Acquire))
    }

    /// Whether something is registered that is not, or not in its place, in the store's memory.
    pub fn has_pending(&self) -> bool {
        self.settled.load(Ordering::Acquire) < self.events.len()
    }

    /// The functions of this store's libcrypto. Only stores of libcryptos that can be served are watched.
    pub fn served(&self) -> Option<&'static Served> {
        self.library.served.as_ref()
    }
}
