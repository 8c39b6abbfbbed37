//! State that each process has for itself: a forked child must not wait for a thread that exists only in its parent.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::address_space;

/// A value that is created at its first use, and again in each forked child.
pub struct ForEachProcess<T>(AtomicPtr<InProcess<T>>);

struct InProcess<T> {
    /// The address space it was created in: see [`address_space::id`].
    address_space: u32,
    value: T,
}

impl<T: Send + Sync> ForEachProcess<T> {
    /// A value that has not been created yet.
    pub const fn new() -> ForEachProcess<T> {
        ForEachProcess(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value for this process. `make` gets the parent's value, if any. No thread uses that value any more, but a
    /// thread may have been halfway through changing it at the fork.
    pub fn get(&self, make: impl FnOnce(Option<&T>) -> T) -> &T {
        let seen = self.0.load(Ordering::Acquire);
        // SAFETY: only pointers from Box::into_raw are stored, and a stored one is freed with `self` or never.
        let known = unsafe { seen.as_ref() };
        if let Some(known) = known.filter(|known| known.address_space == address_space::id()) {
            return &known.value;
        }
        let value = make(known.map(|parent| &parent.value));
        let fresh = Box::into_raw(Box::new(InProcess { address_space: address_space::id(), value }));
        match self.0.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just stored, and freed as above.
            Ok(_) => unsafe { &(*fresh).value },
            Err(winner) => {
                // SAFETY: `fresh` was not published, so it is ours to free; `winner` was published by another thread.
                unsafe {
                    drop(Box::from_raw(fresh));
                    &(*winner).value
                }
            }
        }
    }
}

impl<T> Drop for ForEachProcess<T> {
    fn drop(&mut self) {
        let last = *self.0.get_mut();
        // SAFETY: as in `get`. A value of the parent may be half-changed, so it stays.
        if unsafe { last.as_ref() }.is_some_and(|last| last.address_space == address_space::id()) {
            // SAFETY: from Box::into_raw, and nobody refers to it any more.
            drop(unsafe { Box::from_raw(last) });
        }
    }
}
