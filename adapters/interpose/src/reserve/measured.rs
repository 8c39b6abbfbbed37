//! The amount of a chunk that a part uses: for the tests, in builds that are never released.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::chunk::GRANULE;
use super::claim::CLAIMED;

static REFUSES: AtomicBool = AtomicBool::new(false);
static MOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The number of granules that the part of this thread uses now, and the most that it has used.
    static NOW: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// From now on each allocation within a part comes from its chunk, as if `malloc` had no memory left.
pub fn refuse() {
    REFUSES.store(true, Ordering::Relaxed);
}

pub(super) fn refuses() -> bool {
    REFUSES.load(Ordering::Relaxed) && !CLAIMED.get().is_null()
}

pub(super) fn took(granules: u32) {
    let (now, most) = NOW.get();
    NOW.set((now + granules, most.max(now + granules)));
}

pub(super) fn gave(granules: u32) {
    let (now, most) = NOW.get();
    NOW.set((now.saturating_sub(granules), most));
}

pub(super) fn end() {
    MOST.fetch_max(u64::from(NOW.replace((0, 0)).1) * GRANULE as u64, Ordering::Relaxed);
}

/// The most that a part has used of a chunk, in bytes.
pub fn most() -> u64 {
    MOST.load(Ordering::Relaxed)
}
