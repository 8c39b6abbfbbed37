//! Times of the program, without this library's own.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time of a clock in ns; 0 if it can't be read, which happens on no kernel since 2.6.12 with these clocks.
fn read(clock: libc::clockid_t) -> u64 {
    // SAFETY: timespec is plain data that clock_gettime fills.
    let mut now: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The time that all threads have spent in this library, including those of the ancestors that this process was forked
/// from.
static SPENT_BY_ALL: AtomicU64 = AtomicU64::new(0);

/// The CPU time that this library has used, in this process and in the earlier owners of its memory.
pub fn own_cpu() -> u64 {
    SPENT_BY_ALL.load(Ordering::Relaxed)
}

/// `CLOCK_PROCESS_CPUTIME_ID`, minus the time that this library has used since `own_cpu` was `before`.
pub fn process_cpu(before: u64) -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).saturating_sub(own_cpu().saturating_sub(before))
}

/// `CLOCK_MONOTONIC` and `CLOCK_THREAD_CPUTIME_ID`.
#[derive(Clone, Copy, Default)]
struct Moment {
    wall: u64,
    cpu: u64,
}

impl Moment {
    fn now() -> Moment {
        Moment { wall: now(), cpu: read(libc::CLOCK_THREAD_CPUTIME_ID) }
    }
}

thread_local! {
    /// The time that this thread has spent in this library since it began.
    static SPENT: Cell<Moment> = const { Cell::new(Moment { wall: 0, cpu: 0 }) };
}

/// The time that a call of the program took.
#[derive(Clone, Copy)]
pub struct Took {
    /// Its beginning.
    pub t: u64,
    /// Wall time.
    pub wall: u64,
    /// CPU time of the thread.
    pub cpu: u64,
}

/// Time that counts as this library's own, from `begin` until `Stopwatch::start` or until the value is dropped.
pub struct Overhead(Moment);

impl Overhead {
    /// Starts now.
    pub fn begin() -> Overhead {
        Overhead(Moment::now())
    }

    fn end_at(&self, end: Moment) {
        let spent = SPENT.get();
        let cpu = end.cpu.saturating_sub(self.0.cpu);
        SPENT.set(Moment { wall: spent.wall + end.wall.saturating_sub(self.0.wall), cpu: spent.cpu + cpu });
        SPENT_BY_ALL.fetch_add(cpu, Ordering::Relaxed);
    }
}

impl Drop for Overhead {
    fn drop(&mut self) {
        self.end_at(Moment::now());
    }
}

/// Measures a call of the program.
#[derive(Clone, Copy)]
pub struct Stopwatch {
    began: Moment,
    spent: Moment,
}

impl Stopwatch {
    /// Ends the preparations and begins to measure.
    pub fn start(overhead: Overhead) -> Stopwatch {
        let began = Moment::now();
        overhead.end_at(began);
        mem::forget(overhead);
        Stopwatch { began, spent: SPENT.get() }
    }

    /// Ends the measurement; the time after it is ours again.
    pub fn stop(&self) -> (Took, Overhead) {
        let ended = Moment::now();
        let spent = SPENT.get();
        let own =
            |end: u64, begin: u64, spent: u64, before: u64| end.saturating_sub(begin).saturating_sub(spent - before);
        let took = Took {
            t: self.began.wall,
            wall: own(ended.wall, self.began.wall, spent.wall, self.spent.wall),
            cpu: own(ended.cpu, self.began.cpu, spent.cpu, self.spent.cpu),
        };
        (took, Overhead(ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(until: impl Fn() -> bool) {
        while !until() {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_is_spent_here_is_not_the_programs() {
        let outer = Stopwatch::start(Overhead::begin());
        let overhead = Overhead::begin();
        let begun = now();
        spin(|| now() > begun + 2_000_000);
        drop(overhead);
        let spent = SPENT.get();
        let (took, _) = outer.stop();
        let whole = now() - outer.began.wall;
        assert!(spent.wall - outer.spent.wall >= 2_000_000);
        assert!(took.wall <= whole - 2_000_000);
        assert!(own_cpu() > 0 && process_cpu(0) < read(libc::CLOCK_PROCESS_CPUTIME_ID));
    }
}
