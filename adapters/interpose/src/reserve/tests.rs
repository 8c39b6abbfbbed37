//! Tests of the reserve, used by several threads.

use std::sync::atomic::AtomicUsize;

use super::chunk::*;
use super::*;

/// A chunk that is not part of the arena.
fn chunk() -> Box<Chunk> {
    Box::new(Chunk::new())
}

/// All tests share the same chunks, so they run one at a time.
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
            // SAFETY: taken before, and not freed yet.
            let bytes = unsafe { std::slice::from_raw_parts(memory, size) };
            assert!(bytes.iter().all(|byte| *byte == fill), "round {round}");
            // Some pieces shrink first.
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
    // Memory of a chunk that was allocated later returns to it.
    let extra = known().skip(CHUNKS).find(|chunk| chunk.hold(address_space::id())).expect("more than the first ones");
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
    // SAFETY: memory from `spare` has that size, and is freed with the same layout.
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
