//! The allocator of a library in somebody else's process, for when memory is short.
//!
//! Rust's collections abort the process when an allocation fails, with a message on standard error. The stock libraries
//! return an error, and many programs go on. Memory whose size grows with its input is therefore requested in a way
//! that can fail. The few small allocations that cannot report failure (a box, a reference count, the payload of a
//! panic) come from a reserve when `malloc` has nothing.
//!
//! The reserve is a number of chunks in memory that costs nothing before it is touched. Each part of a hooked call
//! begins by claiming one for its thread ([`claim()`]). Memory taken from it may outlive the call, so a chunk counts
//! its granules in use, and may be claimed as long as half of it is free: this is more than any call used when all its
//! memory came from there (`tests/field/allocations`). Larger requests, which are those that can fail, never touch that
//! half.
//!
//! If all chunks are claimed at once, or occupied by memory that outlived its call, another is allocated: memory is not
//! short yet. A part that gets none runs all the same: the result of a call must not depend on the number of threads.
//! Nothing here waits for another thread, makes system calls of its own, or unwinds. If a part needs more than its
//! chunk has, it takes from other chunks; if there is none, they and `malloc` are tried some more times before the
//! allocation fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::Ordering;

mod chunk;
mod claim;
#[cfg(feature = "sabotage")]
pub mod measured;
mod static_tls;
#[cfg(test)]
mod tests;

use chunk::{GRANULE, LARGEST, SMALL, known, owner};
use claim::{CLAIMED, MAY_FAIL};
pub use claim::{Claim, Unreserved, claim, try_box, unreserved};

use crate::address_space;

/// The system's allocator, with the reserve behind it. Declare it as the `#[global_allocator]` of a library.
pub struct Reserving;

/// The number of times `malloc` is tried when a small request can't be met at all.
const LAST_ATTEMPTS: usize = 1000;

// SAFETY: memory comes from the system's allocator or from a chunk, which hands out each granule to one owner at a
// time. It is returned to its origin, which its address tells. Nothing here unwinds.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        #[cfg(feature = "sabotage")]
        if measured::refuses() {
            return spare(layout);
        }
        // SAFETY: the caller's own arguments.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() { spare(layout) } else { memory }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        #[cfg(feature = "sabotage")]
        if measured::refuses() {
            return spare_zeroed(layout);
        }
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() { spare_zeroed(layout) } else { memory }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match owner(memory) {
            Some(chunk) => chunk.give_back(memory, 0, layout.size()),
            // SAFETY: as above; it is not from a chunk.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let chunk = owner(memory);
        if chunk.is_none() {
            #[cfg(feature = "sabotage")]
            if measured::refuses() && size > layout.size() {
                // SAFETY: the caller's own arguments.
                return unsafe { moved(self, memory, layout, size) };
            }
            // SAFETY: as above; it is not from a chunk.
            let grown = unsafe { System.realloc(memory, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        if size <= layout.size() {
            // The C library needs no size to free a block.
            if let Some(chunk) = chunk {
                chunk.give_back(memory, size, layout.size());
            }
            return memory;
        }
        // SAFETY: the caller's own arguments.
        unsafe { moved(self, memory, layout, size) }
    }
}

/// Does what `realloc` does, when it can't be done in place.
///
/// # Safety
/// As for `GlobalAlloc::realloc`, to a larger size.
unsafe fn moved(from: &Reserving, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let Ok(larger) = Layout::from_size_align(size, layout.align()) else { return ptr::null_mut() };
    // SAFETY: the size is not zero; both blocks are valid for the smaller size, and do not overlap; the old memory is
    // the caller's to free.
    unsafe {
        let to = from.alloc(larger);
        if !to.is_null() {
            ptr::copy_nonoverlapping(memory, to, layout.size());
            from.dealloc(memory, layout);
        }
        to
    }
}

/// Memory for when `malloc` has none.
#[cold]
fn spare(layout: Layout) -> *mut u8 {
    static_tls::stay();
    if layout.size() > LARGEST || layout.align() > GRANULE || MAY_FAIL.get() {
        return ptr::null_mut();
    }
    // SAFETY: chunks are never freed; if not null, this thread has claimed it.
    if let Some(memory) = unsafe { CLAIMED.get().as_ref() }.and_then(|chunk| chunk.take(layout.size())) {
        return memory;
    }
    // Outside of any part, or in one without a chunk, or more than the chunk has.
    let me = address_space::id();
    let taken = || {
        known().filter(|chunk| chunk.hold(me)).find_map(|chunk| {
            let memory = chunk.take(layout.size());
            chunk.holder.store(0, Ordering::Release);
            memory
        })
    };
    if let Some(memory) = taken() {
        return memory;
    }
    if layout.size() > SMALL {
        return ptr::null_mut();
    }
    // The only alternative left is the end of the process.
    let again = (0..LAST_ATTEMPTS).map(|_| {
        std::hint::spin_loop();
        // SAFETY: the caller's own layout.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() { taken().unwrap_or(ptr::null_mut()) } else { memory }
    });
    again.into_iter().find(|memory| !memory.is_null()).unwrap_or(ptr::null_mut())
}

/// As [`spare`], zeroed. Memory of a chunk has been used before.
#[cold]
fn spare_zeroed(layout: Layout) -> *mut u8 {
    let memory = spare(layout);
    if !memory.is_null() {
        // SAFETY: just taken, and of this size.
        unsafe { ptr::write_bytes(memory, 0, layout.size()) };
    }
    memory
}
