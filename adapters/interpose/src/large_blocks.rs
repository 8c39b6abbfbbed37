//! Large blocks of memory without a system call.
//!
//! The C library's `malloc` takes blocks larger than 128 KiB straight from the kernel (`mmap`, malloc(3),
//! `M_MMAP_THRESHOLD`), and returns them straight to it. OpenSSL loads a bundle in small pieces, which come from the
//! heap (`brk`). A process whose filter allows `brk` but not `mmap` must not be killed because the bundle is read in
//! one piece here. A few large blocks therefore have room in this library, in pages that cost nothing before they are
//! touched.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// An allocator with room for a few large blocks of its own; everything else goes to the allocator behind it.
pub struct LargeBlocks<A> {
    behind: A,
    room: &'static Room,
}

/// The smallest block that uses the room. Smaller ones come from the heap. (The header of `malloc` before each block is
/// counted.)
const LARGE: usize = (128 << 10) - 64;
const UNIT: usize = 32 << 10;
const UNITS: usize = u32::BITS as usize;

/// Memory in units, and a bit for each unit in use.
#[repr(C, align(4096))]
pub struct Room {
    memory: UnsafeCell<[u8; UNIT * UNITS]>,
    taken: AtomicU32,
}

// SAFETY: a unit is only touched by the owner of its block.
unsafe impl Sync for Room {}

impl Room {
    /// An empty room.
    pub const fn new() -> Room {
        Room { memory: UnsafeCell::new([0; UNIT * UNITS]), taken: AtomicU32::new(0) }
    }

    fn start(&self) -> *mut u8 {
        self.memory.get().cast()
    }

    /// Takes `units` free units in a row. A thread that a fork has not copied keeps the units it had.
    fn take(&self, units: usize) -> Option<*mut u8> {
        let mask = mask(units);
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let at = (0..=UNITS - units).find(|at| taken & (mask << at) == 0)?;
            match self.taken.compare_exchange_weak(taken, taken | mask << at, Ordering::Acquire, Ordering::Relaxed) {
                // SAFETY: within the memory.
                Ok(_) => return Some(unsafe { self.start().add(at * UNIT) }),
                Err(now) => taken = now,
            }
        }
    }

    /// The first unit of a block, if the block is in this room.
    fn unit(&self, block: *mut u8) -> Option<usize> {
        let offset = (block as usize).wrapping_sub(self.start() as usize);
        (offset < UNIT * UNITS).then_some(offset / UNIT)
    }

    fn give_back(&self, at: usize, units: usize) {
        self.taken.fetch_and(!(mask(units) << at), Ordering::Release);
    }
}

fn mask(units: usize) -> u32 {
    u32::MAX >> (UNITS - units)
}

impl<A> LargeBlocks<A> {
    /// Puts a room before an allocator.
    pub const fn new(room: &'static Room, behind: A) -> LargeBlocks<A> {
        LargeBlocks { behind, room }
    }

    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let units = layout.size().div_ceil(UNIT);
        let fits = layout.size() >= LARGE && units <= UNITS && layout.align() <= 4096;
        if fits { self.room.take(units) } else { None }
    }
}

// SAFETY: blocks of the room have the requested size and alignment, and belong to nobody else until they are freed; the
// rest is the inner allocator's.
unsafe impl<A: GlobalAlloc> GlobalAlloc for LargeBlocks<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller states.
        self.take(layout).unwrap_or_else(|| unsafe { self.behind.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(block) => {
                // SAFETY: the block is that large. It may have been used before.
                unsafe { ptr::write_bytes(block, 0, layout.size()) };
                block
            }
            // SAFETY: as the caller states.
            None => unsafe { self.behind.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.room.unit(block) {
            Some(at) => self.room.give_back(at, layout.size().div_ceil(UNIT)),
            // SAFETY: as the caller states; the block is not in the room.
            None => unsafe { self.behind.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let fresh = Layout::from_size_align(size, layout.align());
        if self.room.unit(block).is_none() && size < LARGE {
            // SAFETY: as the caller states.
            return unsafe { self.behind.realloc(block, layout, size) };
        }
        let Ok(fresh) = fresh else { return ptr::null_mut() };
        // SAFETY: as the caller states; both blocks are large enough for the copied bytes.
        unsafe {
            let moved = self.alloc(fresh);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    #[test]
    fn large_blocks_have_their_room_and_others_none() {
        static ROOM: Room = Room::new();
        static BLOCKS: LargeBlocks<System> = LargeBlocks::new(&ROOM, System);
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        // SAFETY: each block is freed with its layout.
        unsafe {
            let small = BLOCKS.alloc(layout(100 << 10));
            assert!(ROOM.unit(small).is_none());
            let grown = BLOCKS.realloc(small, layout(100 << 10), 220 << 10);
            assert_eq!(ROOM.unit(grown), Some(0));
            grown.write_bytes(7, 220 << 10);
            let second = BLOCKS.alloc_zeroed(layout(300 << 10));
            assert_eq!(ROOM.unit(second), Some(7));
            assert_eq!(second.read(), 0);
            let huge = BLOCKS.alloc(layout(2 << 20));
            assert!(ROOM.unit(huge).is_none());
            BLOCKS.dealloc(huge, layout(2 << 20));
            BLOCKS.dealloc(second, layout(300 << 10));
            let shrunk = BLOCKS.realloc(grown, layout(220 << 10), 10);
            assert!(ROOM.unit(shrunk).is_none() && shrunk.read() == 7);
            BLOCKS.dealloc(shrunk, layout(10));
        }
        assert_eq!(ROOM.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn no_unit_is_given_out_twice() {
        static ROOM: Room = Room::new();
        std::thread::scope(|scope| {
            for thread in 1..=4_u8 {
                scope.spawn(move || {
                    for round in 0..2000 {
                        let units = 1 + (round + thread as usize) % 9;
                        let Some(block) = ROOM.take(units) else { continue };
                        // SAFETY: the units are this thread's.
                        unsafe {
                            block.write_bytes(thread, units * UNIT);
                            assert!((0..units * UNIT).step_by(997).all(|at| block.add(at).read() == thread));
                        }
                        ROOM.give_back(ROOM.unit(block).unwrap(), units);
                    }
                });
            }
        });
        assert_eq!(ROOM.taken.load(Ordering::Relaxed), 0);
    }
}
