//! A lock for short critical sections that a fork can't leave locked for ever.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::address_space;

/// A lock whose word holds the number of its holder's address space.
///
/// `fork` copies the word into the child, but not the thread that would release it. The child sees the parent's number there
/// and takes the lock over. What the lock protects must therefore be consistent at every instruction (a pointer that
/// is published with one store); nothing may be kept under it that is half-written for a while.
pub struct ForkLock(AtomicU32);

/// Releases the lock when dropped.
pub struct ForkGuard<'a>(&'a ForkLock);

impl ForkLock {
    /// An unlocked lock.
    pub const fn new() -> Self {
        ForkLock(AtomicU32::new(0))
    }

    /// Waits for the lock; takes it over from a holder that did not survive a fork.
    pub fn lock(&self) -> ForkGuard<'_> {
        let me = address_space::id();
        let mut spins = 0u32;
        let mut expected = 0;
        loop {
            match self.0.compare_exchange_weak(expected, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return ForkGuard(self),
                Err(0) => expected = 0,
                Err(holder) if holder != me => expected = holder,
                Err(_) => {
                    expected = 0;
                    spins += 1;
                    match spins {
                        0..64 => std::hint::spin_loop(),
                        64..128 => std::thread::yield_now(),
                        _ => std::thread::sleep(Duration::from_micros(50)),
                    }
                }
            }
        }
    }
}

impl Drop for ForkGuard<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
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
