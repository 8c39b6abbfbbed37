//! Files that processes hold open, to count for how long.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The most opens that wait for their close, and the most of one process. Those beyond are not timed.
const MOST: usize = 4096;
const OF_A_PROCESS: usize = 64;

/// Opens that wait for their close.
#[derive(Debug, Default)]
pub struct Held {
    processes: HashMap<u32, Vec<(File, Instant)>>,
    count: usize,
}

/// Device and inode.
pub type File = (u64, u64);

impl Held {
    /// Notes an open.
    pub fn open(&mut self, pid: u32, file: File, at: Instant) {
        if self.count >= MOST {
            return;
        }
        let opens = self.processes.entry(pid).or_default();
        if opens.len() < OF_A_PROCESS {
            opens.push((file, at));
            self.count += 1;
        }
    }

    /// How long the file was open; `None` for a file that was opened before the watch, or by another process. If a
    /// process holds a file open several times, it does not matter which open this is: the sum is the same.
    pub fn close(&mut self, pid: u32, file: File, at: Instant) -> Option<Duration> {
        let opens = self.processes.get_mut(&pid)?;
        let place = opens.iter().position(|(opened, _)| *opened == file)?;
        let (_, since) = opens.remove(place);
        if opens.is_empty() {
            self.processes.remove(&pid);
        }
        self.count -= 1;
        Some(at.saturating_duration_since(since))
    }

    /// Forgets all: closes may have been lost.
    pub fn clear(&mut self) {
        *self = Held::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_close_ends_one_open() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut held = Held::default();
        held.open(1, (1, 1), at(0));
        held.open(1, (1, 1), at(10));
        held.open(1, (1, 2), at(20));
        held.open(2, (1, 1), at(30));
        let times: Vec<_> =
            [(1, (1, 1), 40), (1, (1, 1), 50), (1, (1, 1), 60), (1, (1, 2), 60), (2, (1, 1), 60), (3, (1, 1), 60)]
                .into_iter()
                .map(|(pid, file, millis)| held.close(pid, file, at(millis)).map(|time| time.as_millis()))
                .collect();
        assert_eq!(times, [Some(40), Some(40), None, Some(40), Some(30), None]);
        assert!(held.count == 0 && held.processes.is_empty());
    }

    #[test]
    fn nobody_fills_it_alone() {
        let now = Instant::now();
        let mut held = Held::default();
        for file in 0..1000 {
            held.open(1, (1, file), now);
        }
        assert_eq!(held.count, OF_A_PROCESS);
        for pid in 0..10_000 {
            held.open(pid, (2, 2), now);
        }
        assert_eq!(held.count, MOST);
        held.clear();
        assert!(held.close(5, (2, 2), now).is_none());
    }
}
