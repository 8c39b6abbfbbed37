//! The synchronization primitives of the model of a store. Its test (tests/model.rs) has the same names from a checker
//! that tries every interleaving.

pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use std::cell::Cell;

pub use crate::append_list::{AppendList, Prepared};
use crate::fork_lock::{ForkGuard, ForkLock};

thread_local! {
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// The lock of a store. For each thread it is known whether it holds one.
pub struct Lock(ForkLock);

/// Releases the lock when dropped.
pub struct Guard<'l>(#[allow(dead_code)] ForkGuard<'l>);

impl Lock {
    /// An unlocked lock.
    pub const fn new() -> Lock {
        Lock(ForkLock::new())
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_> {
        let guard = self.0.lock();
        HELD.set(HELD.get() + 1);
        Guard(guard)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// Whether this thread holds the lock of a store.
pub fn is_locking() -> bool {
    HELD.get() > 0
}
