//! A thread's share of the reserve, and whether it may have any.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering;

use super::chunk::{CHUNK, Chunk, another, known};
#[cfg(feature = "sabotage")]
use super::measured;
use crate::address_space;

thread_local! {
    /// The chunk that this thread has claimed.
    pub(super) static CLAIMED: Cell<*const Chunk> = const { Cell::new(ptr::null()) };
    /// Set when this thread's allocations may fail.
    pub(super) static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Until the value is dropped, the reserve has nothing for this thread: for loops whose allocations are small, may
/// fail, and are as many as an input has items.
pub fn unreserved() -> Unreserved {
    Unreserved(MAY_FAIL.replace(true))
}

/// See [`unreserved`].
pub struct Unreserved(bool);

impl Drop for Unreserved {
    fn drop(&mut self) {
        MAY_FAIL.set(self.0);
    }
}

/// A box, if there is memory for it outside the reserve.
pub fn try_box<T>(value: T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout is that of a value, and not empty. It is freed by its address, like memory from `Reserving`.
    unsafe {
        let memory: *mut T = System.alloc(Layout::new::<T>()).cast();
        if memory.is_null() {
            return None;
        }
        memory.write(value);
        Some(Box::from_raw(memory))
    }
}

/// A chunk claimed by this thread until the value is dropped.
pub struct Claim {
    /// Null if an outer claim of this thread holds, or if no chunk was available.
    pub(super) chunk: *const Chunk,
}

/// Gives this thread a chunk of its own, if one is free, or there is memory for another.
pub fn claim() -> Claim {
    CLAIMED.with(|claimed| {
        if !claimed.get().is_null() {
            return Claim { chunk: ptr::null() };
        }
        let (first, me) = (&CHUNK[0], address_space::id());
        // True nearly always.
        let is_first = first.is_whole() && first.hold(me);
        let chunk = if is_first { ptr::from_ref(first) } else { one_more(me).map_or(ptr::null(), ptr::from_ref) };
        claimed.set(chunk);
        Claim { chunk }
    })
}

/// Claims any other chunk.
#[cold]
fn one_more(me: u32) -> Option<&'static Chunk> {
    known().find(|chunk| chunk.is_whole() && chunk.hold(me)).or_else(|| another(me))
}

impl Drop for Claim {
    fn drop(&mut self) {
        // SAFETY: chunks are never freed.
        if let Some(chunk) = unsafe { self.chunk.as_ref() } {
            #[cfg(feature = "sabotage")]
            measured::end();
            CLAIMED.set(ptr::null());
            chunk.holder.store(0, Ordering::Release);
        }
    }
}
