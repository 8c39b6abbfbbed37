//! Keeps forks out of the moments in which this library holds a lock that a child could not release.
//!
//! `dl_iterate_phdr` takes `dl_load_write_lock`, which glibc's `fork` leaves locked in the child if another thread has
//! it (2.36). The child then waits for ever in its next `dlopen`. A program whose threads make TLS contexts does not
//! call `dl_iterate_phdr` by itself, so this library must not add that danger: a fork waits until no thread is inside,
//! and threads that come later wait for the end of the fork.
//!
//! All waits are bounded: a thread may be inside for long, or wait there for the thread that forks (a program that
//! forks in its own callback of `dl_iterate_phdr`). Then the fork goes on, with the danger that it has.
//!
//! No thread-local variables: an early call would reach ThreadSanitizer's `__tls_get_addr` before it is ready.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use crate::futex;

/// The threads that are inside.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// The threads that fork, and the last one that began.
static FORKS: AtomicU32 = AtomicU32::new(0);
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// The threads that wait for the end of a fork: without any, a fork makes no system call here.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Which threads are inside, each at the place that its number gives. A thread whose place is taken is only counted:
/// if it comes in again while it is inside, or forks there, it waits in vain, and the bounds end that.
static PLACES: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

const ROUND: Duration = Duration::from_millis(20);
/// The most rounds that a fork waits for threads inside, and that a thread waits for a fork.
const ROUNDS_OF_FORK: u32 = 5;
const ROUNDS_OF_THREAD: u32 = 50;

/// A number of this thread; never 0.
fn this_thread() -> usize {
    // SAFETY: no preconditions. In glibc before 2.34 it is 0 in a program without threads.
    let number = unsafe { libc::pthread_self() } as usize;
    number | 1
}

fn place_of(thread: usize) -> &'static AtomicUsize {
    // The addresses of descriptors differ in these bits: they lie at the ends of stacks.
    &PLACES[(thread >> 6 ^ thread >> 12 ^ thread >> 20) % PLACES.len()]
}

fn is_inside(thread: usize) -> bool {
    place_of(thread).load(Ordering::Relaxed) == thread
}

/// Runs `part` while no other thread forks.
pub fn pass<R>(part: impl FnOnce() -> R) -> R {
    struct Leave {
        place: Option<&'static AtomicUsize>,
    }
    impl Drop for Leave {
        fn drop(&mut self) {
            if let Some(place) = self.place {
                place.store(0, Ordering::Relaxed);
            }
            leave();
        }
    }
    let thread = this_thread();
    if is_inside(thread) || FORKING.load(Ordering::Relaxed) == thread {
        return part();
    }
    let mut rounds = 0;
    // Either this thread sees the fork, or the fork sees this thread (`begin`): both write first, then read.
    while {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        FORKS.load(Ordering::SeqCst) != 0
    } {
        if rounds == ROUNDS_OF_THREAD {
            // This process may be a child of `_Fork`, which calls no handlers.
            FORKS.store(0, Ordering::SeqCst);
            break;
        }
        leave();
        let forks = FORKS.load(Ordering::SeqCst);
        if forks != 0 {
            WAITING.fetch_add(1, Ordering::SeqCst);
            futex::wait(&FORKS, forks, Some(ROUND));
            WAITING.fetch_sub(1, Ordering::SeqCst);
        }
        rounds += 1;
    }
    let place = place_of(thread);
    let is_ours = place.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let _leave = Leave { place: is_ours.then_some(place) };
    part()
}

fn leave() {
    // It may have been set to 0 meanwhile: by a fork that waited too long, or in the child of a signal handler's fork.
    let before = INSIDE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |inside| inside.checked_sub(1));
    if before == Ok(1) && FORKS.load(Ordering::SeqCst) != 0 {
        futex::wake(&INSIDE, i32::MAX);
    }
}

/// Before a fork, in the thread that forks.
pub fn begin() {
    let thread = this_thread();
    // A signal handler that forks in the middle of `pass` must not wait for its own thread.
    if is_inside(thread) {
        return;
    }
    const SPINS: u32 = 1000;
    FORKING.store(thread, Ordering::Relaxed);
    FORKS.fetch_add(1, Ordering::SeqCst);
    for round in 0..SPINS + ROUNDS_OF_FORK {
        let inside = INSIDE.load(Ordering::SeqCst);
        if inside == 0 {
            return;
        }
        match round {
            0..SPINS => std::hint::spin_loop(),
            _ => futex::wait(&INSIDE, inside, Some(ROUND)),
        }
    }
    // The next fork need not wait again for a thread that may not exist (in a child of `_Fork`).
    INSIDE.store(0, Ordering::SeqCst);
}

/// After a fork, in the parent.
pub fn end_in_parent() {
    let thread = this_thread();
    if is_inside(thread) {
        return;
    }
    let _ = FORKING.compare_exchange(thread, 0, Ordering::Relaxed, Ordering::Relaxed);
    // A thread that waited too long may have set it to 0.
    let _ = FORKS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |forks| forks.checked_sub(1));
    // A thread that is about to wait finds that the number has changed.
    if WAITING.load(Ordering::SeqCst) != 0 {
        futex::wake(&FORKS, i32::MAX);
    }
}

/// After a fork, in the child: other threads don't exist there.
pub fn end_in_child() {
    let thread = this_thread();
    FORKING.store(0, Ordering::Relaxed);
    FORKS.store(0, Ordering::SeqCst);
    WAITING.store(0, Ordering::SeqCst);
    for place in PLACES.iter().filter(|place| place.load(Ordering::Relaxed) != thread) {
        place.store(0, Ordering::Relaxed);
    }
    INSIDE.store(u32::from(is_inside(thread)), Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// One test: the gate belongs to the process.
    #[test]
    fn no_fork_while_a_thread_is_inside_and_no_thread_inside_during_a_fork() {
        static FORKING: AtomicBool = AtomicBool::new(false);
        static BUSY: AtomicU32 = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        pass(|| {
                            BUSY.fetch_add(1, Ordering::SeqCst);
                            assert!(!FORKING.load(Ordering::SeqCst));
                            // Nested, it does not wait for a fork that waits for it.
                            pass(std::hint::spin_loop);
                            BUSY.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
            for _ in 0..2000 {
                begin();
                FORKING.store(true, Ordering::SeqCst);
                assert_eq!(BUSY.load(Ordering::SeqCst), 0);
                // The thread that forks may list the objects in a handler.
                pass(|| ());
                FORKING.store(false, Ordering::SeqCst);
                end_in_parent();
            }
        });
        assert_eq!((INSIDE.load(Ordering::SeqCst), FORKS.load(Ordering::SeqCst)), (0, 0));

        // A fork does not wait for ever for a thread that stays inside.
        std::thread::scope(|scope| {
            static STAYS: AtomicBool = AtomicBool::new(true);
            scope.spawn(|| {
                pass(|| {
                    while STAYS.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                })
            });
            while INSIDE.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            begin();
            end_in_child();
            assert_eq!((INSIDE.load(Ordering::SeqCst), FORKS.load(Ordering::SeqCst)), (0, 0));
            // It is a parent after all: the thread that leaves once more takes nothing from 0.
            STAYS.store(false, Ordering::SeqCst);
        });

        // Nor does a thread wait for ever for the end of a fork that never comes.
        FORKS.store(1, Ordering::SeqCst);
        assert_eq!(pass(|| 7), 7);
        assert_eq!((INSIDE.load(Ordering::SeqCst), FORKS.load(Ordering::SeqCst)), (0, 0));
    }
}
