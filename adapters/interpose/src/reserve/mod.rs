//! The allocator of a library in somebody else's process: what to do when there is no memory.
//!
//! Rust's collections abort the process when an allocation fails, and say so on standard error. The stock libraries
//! return an error there, and many programs go on. So whatever grows with its input is asked for in a way that can
//! fail; and the few small things that are not (a box, a reference count, the payload of a panic) come from a reserve
//! when `malloc` has nothing.
//!
//! The reserve is a number of chunks in memory that costs nothing before it is touched. Each part of a hooked call
//! begins by claiming one for its thread ([`claim()`]). What is taken may outlive the call. So a chunk counts what of
//! it is taken, and may be claimed as long as half of it is free: more than any call had when all its memory came
//! from there (`tests/field/allocations`). Larger requests, which are those that can fail, never touch that half.
//!
//! If all chunks are claimed at once, or are kept by what outlived, another is asked for: memory is not short yet. A
//! part that gets none runs all the same: what a call does must not depend on how many threads there are. Nothing here
//! waits for another thread, calls the system by itself, or unwinds. Should a part need more than its chunk has, it
//! takes from other chunks; should there be none, they and `malloc` are asked some more times before the allocation
//! fails.

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

/// The system's allocator, with the reserve behind it. To be declared as the `#[global_allocator]` of a library.
pub struct Reserving;

/// How often `malloc` is asked when a small request can't be met at all.
const LAST_ATTEMPTS: usize = 1000;

// SAFETY: memory comes from the system's allocator or from a chunk, which gives each granule to one at a time, and is
// given back to where its address says that it came from. Nothing here unwinds.
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
            // SAFETY: as above; it is not of a chunk.
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
            // SAFETY: as above; it is not of a chunk.
            let grown = unsafe { System.realloc(memory, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        if size <= layout.size() {
            // The C library does not ask for the size when it frees.
            if let Some(chunk) = chunk {
                chunk.give_back(memory, size, layout.size());
            }
            return memory;
        }
        // SAFETY: the caller's own arguments.
        unsafe { moved(self, memory, layout, size) }
    }
}

/// What `realloc` is, where it can't be done in place.
///
/// # Safety
/// As for `GlobalAlloc::realloc`, to a larger size.
unsafe fn moved(from: &Reserving, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let Ok(larger) = Layout::from_size_align(size, layout.align()) else { return ptr::null_mut() };
    // SAFETY: the size is not zero; both are valid for the smaller size, and do not overlap; the old memory is the
    // caller's to give back.
    unsafe {
        let to = from.alloc(larger);
        if !to.is_null() {
            ptr::copy_nonoverlapping(memory, to, layout.size());
            from.dealloc(memory, layout);
        }
        to
    }
}

/// Memory that `malloc` does not have.
#[cold]
fn spare(layout: Layout) -> *mut u8 {
    static_tls::stay();
    if layout.size() > LARGEST || layout.align() > GRANULE || MAY_FAIL.get() {
        return ptr::null_mut();
    }
    // SAFETY: chunks are never freed; what is not null was claimed by this thread.
    if let Some(memory) = unsafe { CLAIMED.get().as_ref() }.and_then(|chunk| chunk.take(layout.size())) {
        return memory;
    }
    // Outside of any part, or of one without a chunk, or more than the chunk has.
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
    // There is only one thing left to do, which is the end of the process.
    let again = (0..LAST_ATTEMPTS).map(|_| {
        std::hint::spin_loop();
        // SAFETY: the caller's own layout.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() { taken().unwrap_or(ptr::null_mut()) } else { memory }
    });
    again.into_iter().find(|memory| !memory.is_null()).unwrap_or(ptr::null_mut())
}

/// As [`spare`]. What a chunk gives has been in use before.
#[cold]
fn spare_zeroed(layout: Layout) -> *mut u8 {
    let memory = spare(layout);
    if !memory.is_null() {
        // SAFETY: just taken, and of this size.
        unsafe { ptr::write_bytes(memory, 0, layout.size()) };
    }
    memory
}
