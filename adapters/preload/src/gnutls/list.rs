//! The state that we keep for one trust list.

use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use windlass::{AnchorIndex, RootStore};
use windlass_gnutls::GnutlsProfile;

use crate::append_list::AppendList;
use crate::fork_lock::{ForkGuard, ForkLock};
use crate::gnutls::api::{List, USE_IN_TLS};
use crate::gnutls::bucket::{AnchorBucket, Buckets, bucket_of};
use crate::gnutls::libgnutls::{Libgnutls, Served};
use crate::ptr_table::PtrTable;

/// The state of a list, from its `gnutls_x509_trust_list_init` to its `deinit`.
///
/// Invariant: while the list is lazy, the foreign list is empty (it has no certificate, CRL, name, callback or token),
/// and the recipe holds the program's loads. Once complete, it stays complete: the foreign list has all those loads,
/// and later ones go there directly.
pub struct ListState {
    /// The libgnutls that the list belongs to.
    pub library: &'static Libgnutls,
    /// Its functions.
    pub served: &'static Served,
    /// The list itself.
    pub list: *mut List,
    /// The `size` argument of its `init`.
    pub size: c_uint,
    /// The loads, in the order of the calls.
    pub recipe: AppendList<Source>,
    phase: AtomicU8,
    lock: ForkLock,
}

/// One load.
pub struct Source {
    /// The anchors that were loaded.
    pub roots: Arc<RootStore>,
    /// The `tl_flags` of the call.
    pub flags: c_uint,
    /// For each anchor, its bucket in the list.
    buckets: Buckets,
}

impl Source {
    /// A load of these anchors with these flags.
    pub fn new(roots: Arc<RootStore>, flags: c_uint) -> Source {
        Source { roots, flags, buckets: Buckets::new() }
    }

    /// Whether servers would send names from it.
    pub fn has_names(&self) -> bool {
        self.flags & USE_IN_TLS != 0
    }

    /// Whether adding its certificates would write a line to GnuTLS' audit log.
    pub fn is_audited(&self) -> bool {
        windlass_gnutls::profile(&self.roots) != GnutlsProfile::Plain
    }
}

// SAFETY: the raw pointer is only passed to libgnutls, as the program does; all else is atomics, an append-only list,
// or immutable.
unsafe impl Send for ListState {}
// SAFETY: as above.
unsafe impl Sync for ListState {}

const LAZY: u8 = 0;
const COMPLETE: u8 = 1;
const ENDED: u8 = 2;
/// Part of the recipe could not be put into the foreign list when it had to be: memory was short.
const PARTLY: u8 = 3;

/// A strong reference from `Arc::into_raw`.
#[derive(Clone, Copy)]
struct Tracked(*const ListState);

// SAFETY: a state may be used by all threads, see above.
unsafe impl Send for Tracked {}

static LISTS: PtrTable<Tracked> = PtrTable::new();

/// The state of a watched list; None for any other.
///
/// The caller is inside a call with this list, and the API forbids the program to free it meanwhile, so the state stays
/// alive.
pub fn tracked<'a>(list: *const List) -> Option<&'a ListState> {
    // SAFETY: see above; only the list's `deinit` releases the state.
    LISTS.get(list as usize).map(|Tracked(state)| unsafe { &*state })
}

/// Starts to watch a new, empty list.
pub fn begin(library: &'static Libgnutls, served: &'static Served, list: *mut List, size: c_uint) {
    let state = ListState {
        library,
        served,
        list,
        size,
        recipe: AppendList::new(),
        phase: AtomicU8::new(LAZY),
        lock: ForkLock::new(),
    };
    end(list);
    LISTS.insert(list as usize, Tracked(Arc::into_raw(Arc::new(state))));
}

/// Stops watching. Call this before the list is freed: afterwards its address may belong to another list.
pub fn end(list: *const List) {
    let Some(Tracked(state)) = LISTS.remove(list as usize) else { return };
    // SAFETY: the table's own reference, made in `begin`; whoever removes the entry releases it.
    let state = unsafe { Arc::from_raw(state) };
    // A thread that completes all lists may be working on this one.
    let _guard = state.lock();
    state.phase.store(ENDED, Ordering::Release);
}

/// All lists that are watched now. Some may end before the caller reaches them: an operation on the list itself holds
/// its lock and sees this. None if there is no memory for all.
pub fn all() -> Option<Vec<Arc<ListState>>> {
    let (mut all, mut has_room) = (Vec::new(), true);
    LISTS.for_each(|Tracked(state)| {
        has_room = has_room && all.try_reserve(1).is_ok();
        if !has_room {
            return;
        }
        // SAFETY: the table's reference keeps the state alive while the entry is in the table, and nobody can remove it
        // now.
        all.push(unsafe {
            Arc::increment_strong_count(state);
            Arc::from_raw(state)
        });
    });
    has_room.then_some(all)
}

/// One of the lists watched now that meets a condition.
pub fn one_that(is_so: impl Fn(&ListState) -> bool) -> Option<Arc<ListState>> {
    let mut found = None;
    LISTS.for_each(|Tracked(state)| {
        // SAFETY: as in `all`.
        if found.is_none() && is_so(unsafe { &*state }) {
            // SAFETY: as in `all`.
            found = Some(unsafe {
                Arc::increment_strong_count(state);
                Arc::from_raw(state)
            });
        }
    });
    found
}

impl ListState {
    /// Keeps other threads from loading into, completing and ending the list.
    pub fn lock(&self) -> ForkGuard<'_> {
        self.lock.lock()
    }

    /// Whether loads are only noted.
    pub fn is_lazy(&self) -> bool {
        self.phase.load(Ordering::Acquire) == LAZY
    }

    /// Whether the foreign list lacks something that should be there.
    pub fn is_partly(&self) -> bool {
        self.phase.load(Ordering::Acquire) == PARTLY
    }

    /// Notes that part of the recipe is missing in the foreign list although it should be there.
    pub fn set_partly(&self) {
        let _ = self.phase.compare_exchange(LAZY, PARTLY, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the program has loaded something that is not in the foreign list.
    pub fn has_pending(&self) -> bool {
        self.is_lazy() && self.recipe.len() > 0
    }

    /// The bucket of a subject.
    pub fn bucket_of(&self, subject: &[u8]) -> u32 {
        bucket_of(subject, self.size)
    }

    /// The buckets of a source's anchors.
    pub fn places<'s>(&self, source: &'s Source) -> Option<&'s [AnchorBucket]> {
        source.buckets.get(&source.roots, self.size)
    }

    /// The anchors of a source that belong in a bucket, in source order. None if there is no memory to compute this.
    pub fn in_bucket<'s>(
        &self,
        source: &'s Source,
        bucket: u32,
    ) -> Option<impl Iterator<Item = AnchorIndex> + use<'s>> {
        let all = source.roots.anchors().zip(self.places(source)?);
        Some(all.filter(move |(_, place)| place.bucket == bucket).map(|(anchor, _)| anchor.index()))
    }

    /// Notes that everything is in the foreign list. Call this with the lock held, on a lazy list.
    pub fn set_complete(&self) {
        self.phase.store(COMPLETE, Ordering::Release);
    }
}
