//! The chunks of the reserve: those that exist from the start, and those allocated later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

#[cfg(feature = "sabotage")]
use super::measured;

/// Memory is handed out in pieces of this size and alignment.
pub(super) const GRANULE: usize = 64;
pub(super) const GRANULES: usize = 1024;
const BITS: usize = u64::BITS as usize;
/// This many concurrent calls need no other memory. (The arena has half a megabyte of address space.)
pub(super) const CHUNKS: usize = 8;
/// The most chunks that are ever allocated later.
pub(super) const MOST_EXTRA: usize = 256;
/// The largest allocation that may not fail. Everything larger is requested in a way that can fail.
pub(super) const SMALL: usize = 1024;
/// The largest request that is met.
pub(super) const LARGEST: usize = GRANULES * GRANULE / 8;

/// A part of the reserve.
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// The address space whose thread has claimed it; 0: none. A parent's number counts as none, because its thread
    /// does not exist here.
    pub holder: AtomicU32,
    /// The number of granules in use.
    pub used: AtomicU32,
    next: AtomicPtr<Chunk>,
    /// A bit for each granule in use. Only the holder sets bits; any thread that frees memory clears them.
    pub taken: [AtomicU64; GRANULES / BITS],
    memory: UnsafeCell<[Granule; GRANULES]>,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Granule {
    _bytes: [u8; GRANULE],
}

// SAFETY: a granule of the memory is only touched by the owner of its piece; all else is atomic.
unsafe impl Sync for Chunk {}

pub(super) static CHUNK: [Chunk; CHUNKS] = [const { Chunk::new() }; CHUNKS];
/// Chunks allocated later, the last first. They are never freed.
pub(super) static EXTRA: AtomicPtr<Chunk> = AtomicPtr::new(ptr::null_mut());
pub(super) static EXTRAS: AtomicUsize = AtomicUsize::new(0);

/// All existing chunks.
pub(super) fn known() -> impl Iterator<Item = &'static Chunk> {
    let mut extra = EXTRA.load(Ordering::Acquire);
    let rest = std::iter::from_fn(move || {
        // SAFETY: published by `another`, and never freed.
        let chunk = unsafe { extra.as_ref() }?;
        extra = chunk.next.load(Ordering::Relaxed);
        Some(chunk)
    });
    CHUNK.iter().chain(rest)
}

/// The chunk that memory was taken from.
#[inline]
pub(super) fn owner(memory: *mut u8) -> Option<&'static Chunk> {
    let arena = (memory as usize).wrapping_sub(ptr::from_ref(&CHUNK) as usize);
    if arena < size_of_val(&CHUNK) {
        return CHUNK.get(arena / size_of::<Chunk>());
    }
    if EXTRA.load(Ordering::Relaxed).is_null() {
        return None;
    }
    known()
        .skip(CHUNKS)
        .find(|&chunk| (memory as usize).wrapping_sub(ptr::from_ref(chunk) as usize) < size_of::<Chunk>())
}

/// Allocates one more chunk, claimed.
#[cold]
pub(super) fn another(me: u32) -> Option<&'static Chunk> {
    if EXTRAS.fetch_add(1, Ordering::Relaxed) >= MOST_EXTRA {
        EXTRAS.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: a layout of its own. The memory of a chunk may hold anything; the fields before it are written here.
    let fresh = unsafe {
        let fresh: *mut Chunk = System.alloc(Layout::new::<Chunk>()).cast();
        if fresh.is_null() {
            EXTRAS.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        ptr::write_bytes(fresh.cast::<u8>(), 0, std::mem::offset_of!(Chunk, memory));
        &*fresh
    };
    fresh.holder.store(me, Ordering::Relaxed);
    let mut head = EXTRA.load(Ordering::Relaxed);
    loop {
        fresh.next.store(head, Ordering::Relaxed);
        let end = ptr::from_ref(fresh).cast_mut();
        match EXTRA.compare_exchange_weak(head, end, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return Some(fresh),
            Err(other) => head = other,
        }
    }
}

impl Chunk {
    pub const fn new() -> Chunk {
        Chunk {
            holder: AtomicU32::new(0),
            used: AtomicU32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            taken: [const { AtomicU64::new(0) }; GRANULES / BITS],
            memory: UnsafeCell::new([Granule { _bytes: [0; GRANULE] }; GRANULES]),
        }
    }

    /// Whether it has as much as a part may need.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.used.load(Ordering::Relaxed) as usize <= GRANULES / 2
    }

    /// Claims it, if nobody has.
    #[inline]
    pub fn hold(&self, me: u32) -> bool {
        let holder = self.holder.load(Ordering::Relaxed);
        holder != me && self.holder.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes as many adjacent granules as the size needs. Only the holder may call this.
    pub fn take(&self, size: usize) -> Option<*mut u8> {
        let wanted = size.div_ceil(GRANULE);
        let used = self.used.load(Ordering::Relaxed) as usize;
        if used + wanted > if size > SMALL { GRANULES / 2 } else { GRANULES } {
            return None;
        }
        let mut free = 0;
        for at in 0..GRANULES {
            // Acquire: the thread that freed it has finished with it.
            let is_taken = self.taken[at / BITS].load(Ordering::Acquire) & (1 << (at % BITS)) != 0;
            free = if is_taken { 0 } else { free + 1 };
            if free == wanted {
                let first = at + 1 - wanted;
                for granule in first..=at {
                    self.taken[granule / BITS].fetch_or(1 << (granule % BITS), Ordering::Relaxed);
                }
                self.used.fetch_add(wanted as u32, Ordering::Relaxed);
                #[cfg(feature = "sabotage")]
                measured::took(wanted as u32);
                return Some(self.memory.get().cast::<u8>().wrapping_add(first * GRANULE));
            }
        }
        None
    }

    /// Frees the rest of a piece of `size` bytes, after the first `kept`.
    pub fn give_back(&self, memory: *mut u8, kept: usize, size: usize) {
        let start = (memory as usize).wrapping_sub(self.memory.get() as usize) / GRANULE;
        let first = start + kept.div_ceil(GRANULE);
        let end = start + size.div_ceil(GRANULE);
        for granule in first..end.min(GRANULES) {
            self.taken[granule / BITS].fetch_and(!(1 << (granule % BITS)), Ordering::Release);
        }
        let count = end.saturating_sub(first) as u32;
        self.used.fetch_sub(count, Ordering::Relaxed);
        #[cfg(feature = "sabotage")]
        measured::gave(count);
    }
}
