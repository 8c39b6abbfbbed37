//! The allocator of a library in somebody else's process: what to do when there is no memory.
//!
//! Rust's collections abort the process when an allocation fails, and say so on standard error. The stock libraries return an error
//! there, and many programs go on. So whatever grows with its input is asked for in a way that can fail; and the few small
//! things that are not (a box, a reference count, the payload of a panic) come from a reserve when `malloc` has nothing.
//!
//! The reserve is a number of chunks in memory that costs nothing before it is touched. Each part of a hooked call
//! begins by claiming one for its thread ([`claim`]). What is taken may outlive the call. So a chunk counts what of
//! it is taken, and may be claimed as long as half of it is free: more than any call had when all its memory came
//! from there (`tests/field/allocations`). Larger requests, which are those that can fail, never touch that half.
//!
//! If all chunks are claimed at once, or are kept by what outlived, another is asked for: memory is not short yet. A
//! part that gets none runs all the same: what a call does must not depend on how many threads there are. Nothing
//! here
//! waits for another thread, calls the system by itself, or unwinds. Should a part need more than its chunk has, it takes from
//! other chunks; should there be none, they and `malloc` are asked some more times before the allocation fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::address_space;

/// The system's allocator, with the reserve behind it. To be declared as the `#[global_allocator]` of a library.
pub struct Reserving;

/// Memory is given out in pieces of this size and alignment.
const GRANULE: usize = 64;
const GRANULES: usize = 1024;
const BITS: usize = u64::BITS as usize;
/// As many calls at once need no memory but this. (The arena has half a megabyte of address space.)
const CHUNKS: usize = 8;
/// More than these are never asked for.
const MOST_EXTRA: usize = 256;
/// What may fail is asked for in a way that can; of what may not, nothing is larger.
const SMALL: usize = 1024;
/// Larger requests are not met.
const LARGEST: usize = GRANULES * GRANULE / 8;
/// How often `malloc` is asked when a small request can't be met at all.
const LAST_ATTEMPTS: usize = 1000;

/// A part of the reserve.
#[repr(C, align(64))]
struct Chunk {
    /// The address space whose thread has claimed it; 0: none. That of a parent, whose thread is not here, counts as none.
    holder: AtomicU32,
    /// Granules that are taken.
    used: AtomicU32,
    next: AtomicPtr<Chunk>,
    /// A bit for each granule that is taken. Bits are set by the holder only, and cleared by whoever frees.
    taken: [AtomicU64; GRANULES / BITS],
    memory: UnsafeCell<[Granule; GRANULES]>,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Granule {
    _bytes: [u8; GRANULE],
}

// SAFETY: a granule of the memory is only touched by whoever it was given to; all else is atomic.
unsafe impl Sync for Chunk {}

static CHUNK: [Chunk; CHUNKS] = [const { Chunk::new() }; CHUNKS];
/// Chunks that were asked for later, the last first. They are never given back.
static EXTRA: AtomicPtr<Chunk> = AtomicPtr::new(ptr::null_mut());
static EXTRAS: AtomicUsize = AtomicUsize::new(0);

// See `stay_in_static_tls`.
#[cfg(target_os = "linux")]
core::arch::global_asm!(
    ".pushsection .tbss.windlass_static_tls,\"awT\",%nobits",
    ".globl windlass_static_tls",
    ".hidden windlass_static_tls",
    ".type windlass_static_tls, %object",
    ".size windlass_static_tls, 1",
    "windlass_static_tls: .zero 1",
    ".popsection",
);

/// A module whose code finds one of its thread-local variables by an offset from the thread pointer (initial-exec) has all of them in
/// static TLS: the dynamic linker makes room when it loads the module, in the threads that there are as well, or refuses to load it.
/// Else the first access of a thread to a library that came by `dlopen` asks for memory (`__tls_get_addr`), and glibc ends the process
/// when there is none. One reference is enough, and it has to be in code that is never left out.
#[inline(always)]
fn stay_in_static_tls() {
    let _offset: usize;
    // SAFETY: reads a constant that the dynamic linker has put into the global offset table.
    unsafe {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        core::arch::asm!(
            "mov {}, qword ptr [rip + windlass_static_tls@GOTTPOFF]",
            out(reg) _offset,
            options(nostack, preserves_flags)
        );
        #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
        core::arch::asm!(
            "adrp {0}, :gottprel:windlass_static_tls",
            "ldr {0}, [{0}, :gottprel_lo12:windlass_static_tls]",
            out(reg) _offset,
            options(nostack, preserves_flags)
        );
    }
}

thread_local! {
    /// The chunk that this thread has claimed.
    static CLAIMED: Cell<*const Chunk> = const { Cell::new(ptr::null()) };
    /// What this thread asks for may fail.
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Until the value is dropped, the reserve has nothing for this thread: for loops in which each allocation may fail, small as it is,
/// and there are as many as an input has.
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

/// A box, if there is memory for it besides the reserve.
pub fn try_box<T>(value: T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout is that of a value, and not empty. It is freed by its address, as what `Reserving` gave.
    unsafe {
        let memory: *mut T = System.alloc(Layout::new::<T>()).cast();
        if memory.is_null() {
            return None;
        }
        memory.write(value);
        Some(Box::from_raw(memory))
    }
}

/// A chunk that this thread has claimed, until the value is dropped.
pub struct Claim {
    /// Null if an outer claim of this thread holds, or if there was none to be had.
    chunk: *const Chunk,
}

/// Gives this thread a chunk of its own, if one is free, or there is memory for another.
pub fn claim() -> Claim {
    CLAIMED.with(|claimed| {
        if !claimed.get().is_null() {
            return Claim { chunk: ptr::null() };
        }
        let (first, me) = (&CHUNK[0], address_space::id());
        // Nearly always.
        let is_first = first.is_whole() && first.hold(me);
        let chunk = if is_first { ptr::from_ref(first) } else { one_more(me).map_or(ptr::null(), ptr::from_ref) };
        claimed.set(chunk);
        Claim { chunk }
    })
}

/// Any chunk.
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

// SAFETY: memory comes from the system's allocator or from a chunk, which gives each granule to one at a time, and is given back to
// where its address says that it came from. Nothing here unwinds.
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
    // SAFETY: the size is not zero; both are valid for the smaller size, and do not overlap; the old memory is the caller's to give back.
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
    stay_in_static_tls();
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

/// All chunks that there are.
fn known() -> impl Iterator<Item = &'static Chunk> {
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
fn owner(memory: *mut u8) -> Option<&'static Chunk> {
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

/// One more chunk, claimed.
#[cold]
fn another(me: u32) -> Option<&'static Chunk> {
    if EXTRAS.fetch_add(1, Ordering::Relaxed) >= MOST_EXTRA {
        EXTRAS.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    // SAFETY: a layout of its own. The memory of a chunk may hold anything; what comes before it is written here.
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
    const fn new() -> Chunk {
        Chunk {
            holder: AtomicU32::new(0),
            used: AtomicU32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            taken: [const { AtomicU64::new(0) }; GRANULES / BITS],
            memory: UnsafeCell::new([Granule { _bytes: [0; GRANULE] }; GRANULES]),
        }
    }

    /// Whether it has what a part may need.
    #[inline]
    fn is_whole(&self) -> bool {
        self.used.load(Ordering::Relaxed) as usize <= GRANULES / 2
    }

    /// Claims it, if nobody has.
    #[inline]
    fn hold(&self, me: u32) -> bool {
        let holder = self.holder.load(Ordering::Relaxed);
        holder != me && self.holder.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes as many granules side by side as it needs. To be called by the holder.
    fn take(&self, size: usize) -> Option<*mut u8> {
        let wanted = size.div_ceil(GRANULE);
        let used = self.used.load(Ordering::Relaxed) as usize;
        if used + wanted > if size > SMALL { GRANULES / 2 } else { GRANULES } {
            return None;
        }
        let mut free = 0;
        for at in 0..GRANULES {
            // Acquire: whoever freed it has done with it.
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

    /// Gives back what lies between `kept` bytes and the end of a piece that has `size`.
    fn give_back(&self, memory: *mut u8, kept: usize, size: usize) {
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

/// How much of a chunk a part takes: for the tests, in builds that are never released.
#[cfg(feature = "sabotage")]
pub mod measured {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::{CLAIMED, GRANULE};

    static REFUSES: AtomicBool = AtomicBool::new(false);
    static MOST: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// Granules that the part of this thread has now, and the most that it has had.
        static NOW: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }

    /// From now on each allocation within a part is met from its chunk, as if `malloc` had nothing any more.
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

    /// The most that a part has had of a chunk, in bytes.
    pub fn most() -> u64 {
        MOST.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk that is no part of the arena.
    fn chunk() -> Box<Chunk> {
        Box::new(Chunk::new())
    }

    /// All tests have the same chunks.
    fn alone() -> impl Drop {
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[test]
    fn pieces_do_not_overlap_and_come_back() {
        let _alone = alone();
        let chunk = chunk();
        let mut rng = 7u64;
        let mut next = |below: usize| {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (rng >> 33) as usize % below
        };
        let mut pieces: Vec<(*mut u8, usize, u8)> = Vec::new();
        for round in 0..20_000usize {
            if next(2) == 0
                && let Some(memory) = {
                    let size = 1 + next(700);
                    chunk.take(size).inspect(|&memory| pieces.push((memory, size, round as u8)))
                }
            {
                let &(_, size, fill) = pieces.last().unwrap();
                // SAFETY: taken just now.
                unsafe { ptr::write_bytes(memory, fill, size) };
            } else if !pieces.is_empty() {
                let (memory, size, fill) = pieces.swap_remove(next(pieces.len()));
                // SAFETY: taken before, and not given back.
                let bytes = unsafe { std::slice::from_raw_parts(memory, size) };
                assert!(bytes.iter().all(|byte| *byte == fill), "round {round}");
                // Some shrink first.
                let kept = size.div_ceil(2);
                chunk.give_back(memory, kept, size);
                chunk.give_back(memory, 0, kept);
            }
        }
        for (memory, size, _) in pieces {
            chunk.give_back(memory, 0, size);
        }
        assert_eq!(chunk.used.load(Ordering::Relaxed), 0);
        assert!(chunk.taken.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn larger_requests_leave_half_of_it() {
        let _alone = alone();
        let chunk = chunk();
        while chunk.take(4096).is_some() {}
        assert!(chunk.is_whole());
        assert!(chunk.take(SMALL).is_some() && !chunk.is_whole());
        while chunk.take(1).is_some() {}
        assert_eq!(chunk.used.load(Ordering::Relaxed) as usize, GRANULES);
    }

    #[test]
    fn claims_are_one_to_a_thread_and_more_chunks_come() {
        let _alone = alone();
        let barrier = std::sync::Barrier::new(3 * CHUNKS);
        let all: Vec<usize> = std::thread::scope(|scope| {
            let claim_one = || {
                let claim = claim();
                let nested = super::claim();
                barrier.wait();
                drop(nested);
                let chunk = CLAIMED.get() as usize;
                assert_eq!(chunk, claim.chunk as usize);
                barrier.wait();
                drop(claim);
                assert!(CLAIMED.get().is_null());
                chunk
            };
            let threads: Vec<_> = (0..3 * CHUNKS).map(|_| scope.spawn(claim_one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
        // Memory of one that came later finds its way back.
        let extra =
            known().skip(CHUNKS).find(|chunk| chunk.hold(address_space::id())).expect("more than the first ones");
        let memory = extra.take(100).expect("a whole chunk");
        assert!(ptr::eq(owner(memory).expect("its chunk"), extra));
        // SAFETY: taken just now.
        unsafe { Reserving.dealloc(memory, Layout::from_size_align(100, 8).unwrap()) };
        assert_eq!(extra.used.load(Ordering::Relaxed), 0);
        extra.holder.store(0, Ordering::Release);
    }

    #[test]
    fn a_thread_too_many_has_no_chunk() {
        let _alone = alone();
        let count = CHUNKS + MOST_EXTRA + 8;
        let barrier = std::sync::Barrier::new(count);
        let without = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    let claim = claim();
                    without.fetch_add(usize::from(claim.chunk.is_null()), Ordering::Relaxed);
                    barrier.wait();
                    drop(claim);
                });
            }
        });
        assert!(without.into_inner() >= 8);
    }

    #[test]
    fn what_grows_and_shrinks_keeps_its_bytes() {
        let _alone = alone();
        let claim = claim();
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        // SAFETY: what `spare` gives is of that size, and is given back as what it is.
        unsafe {
            let memory = spare(layout(200));
            assert!(owner(memory).is_some());
            ptr::write_bytes(memory, 9, 200);
            let grown = Reserving.realloc(memory, layout(200), 1000);
            assert!(owner(grown).is_none(), "malloc has memory again");
            assert!((0..200).all(|at| *grown.add(at) == 9));
            let shrunk = Reserving.realloc(grown, layout(1000), 20);
            Reserving.dealloc(shrunk, layout(20));
            let zeroed = spare_zeroed(layout(200));
            assert!((0..200).all(|at| *zeroed.add(at) == 0));
            Reserving.dealloc(zeroed, layout(200));
            assert!(spare(layout(LARGEST + 1)).is_null());
        }
        drop(claim);
    }

    #[test]
    fn a_chunk_that_a_parent_held_may_be_claimed() {
        let _alone = alone();
        let chunk = chunk();
        let me = address_space::id();
        assert!(chunk.hold(me + 1) && chunk.hold(me) && !chunk.hold(me));
    }
}
