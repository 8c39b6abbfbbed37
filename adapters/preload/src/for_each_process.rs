//! A state that each process has for itself: a forked child must not wait for a thread that only its parent has.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::address_space;

/// A value that is made when it is first asked for, and once more in each forked child.
pub struct ForEachProcess<T>(AtomicPtr<InProcess<T>>);

struct InProcess<T> {
    /// The one that it was made in: see [`address_space::id`].
    address_space: u32,
    value: T,
}

impl<T: Send + Sync> ForEachProcess<T> {
    /// Nothing was made yet.
    pub const fn new() -> ForEachProcess<T> {
        ForEachProcess(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value of this process. `make` gets the parent's, which no thread uses any more, though one may have been in
    /// the middle of changing it.
    pub fn get(&'static self, make: impl FnOnce(Option<&T>) -> T) -> &'static T {
        let seen = self.0.load(Ordering::Acquire);
        // SAFETY: only pointers from Box::into_raw are stored, and none that was stored is ever freed.
        let known = unsafe { seen.as_ref() };
        if let Some(known) = known.filter(|known| known.address_space == address_space::id()) {
            return &known.value;
        }
        let value = make(known.map(|parent| &parent.value));
        let fresh = Box::into_raw(Box::new(InProcess { address_space: address_space::id(), value }));
        match self.0.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just stored, never freed.
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
