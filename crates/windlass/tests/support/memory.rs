//! Counts the memory that a thread holds, so that a test can want a bound on it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// What this thread holds, and the most that it held. Memory that another thread gives back counts there.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn add(size: isize) {
    // There is none any more while a thread ends.
    let _ = HELD.try_with(|cell| {
        let (held, peak) = cell.get();
        cell.set((held + size, peak.max(held + size)));
    });
}

// SAFETY: all is passed on to the system's allocator, with the arguments as they came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: by the caller, and all memory is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What the work held at its peak, beyond what was held before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(|cell| {
        let (held, _) = cell.get();
        cell.set((held, held));
        held
    });
    let result = work();
    (result, HELD.with(|cell| cell.get().1 - before) as usize)
}
