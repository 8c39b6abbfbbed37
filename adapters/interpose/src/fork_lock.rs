//! A lock for short critical sections that a fork can't leave locked for ever.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::address_space;
use crate::futex;

/// A lock whose word holds the number of its holder's address space.
///
/// `fork` copies the word into the child, but not the thread that would release it. The child sees the parent's number
/// there and takes the lock over. The data under the lock must therefore be consistent at every instruction (a pointer
/// that is published with one store); nothing under it may be half-written for a while.
///
/// It calls the kernel only when threads contend, and then like a lock of the C library: `futex`, no `sched_yield` or
/// `nanosleep`.
pub struct ForkLock(AtomicU32);

/// Releases the lock when dropped.
pub struct ForkGuard<'a>(&'a ForkLock);

/// A bit beside the holder's number: a thread may be waiting in the kernel.
const AWAITED: u32 = address_space::LIMIT;

impl ForkLock {
    /// An unlocked lock.
    pub const fn new() -> Self {
        ForkLock(AtomicU32::new(0))
    }

    /// Waits for the lock; takes it over from a holder that did not survive a fork.
    pub fn lock(&self) -> ForkGuard<'_> {
        const SPINS: u32 = 100;
        let me = address_space::id();
        let mut spins = 0;
        // A thread that has waited can't know whether others still do.
        let mut mine = me;
        let mut seen = 0;
        loop {
            let is_free = seen & !AWAITED != me;
            if is_free {
                match self.0.compare_exchange_weak(seen, mine, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return ForkGuard(self),
                    Err(now) => seen = now,
                }
                continue;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
                seen = self.0.load(Ordering::Relaxed);
                continue;
            }
            if seen == me
                && let Err(now) = self.0.compare_exchange(me, me | AWAITED, Ordering::Relaxed, Ordering::Relaxed)
            {
                seen = now;
                continue;
            }
            mine = me | AWAITED;
            futex::wait(&self.0, mine, None);
            seen = self.0.load(Ordering::Relaxed);
        }
    }
}

impl Drop for ForkGuard<'_> {
    fn drop(&mut self) {
        if self.0.0.swap(0, Ordering::Release) & AWAITED != 0 {
            futex::wake(&self.0.0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_did_not_survive_a_fork_is_replaced() {
        let lock = ForkLock(AtomicU32::new(address_space::id() + 1));
        let guard = lock.lock();
        assert_eq!(lock.0.load(Ordering::Relaxed), address_space::id());
        drop(guard);
        assert_eq!(lock.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn excludes_other_threads() {
        let lock = ForkLock::new();
        let value = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let _guard = lock.lock();
                        let seen = value.load(Ordering::Relaxed);
                        value.store(seen + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(value.load(Ordering::Relaxed), 40_000);
    }
}
