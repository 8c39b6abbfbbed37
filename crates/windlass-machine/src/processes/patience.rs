//! Inspecting a process that may block the reader.
//!
//! The arguments and the environment of a process lie in its memory: reading a page invokes the provider of that page,
//! which can be a program of the same user (userfaultfd(2), FUSE). The read therefore runs in a thread that can be
//! abandoned.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::Capture;

/// An answer takes some tens of microseconds; on a fully loaded machine, some milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most threads that may be waiting. They end with this process, or when they get their answer.
const WAITING: usize = 16;

/// Captures processes, and gives up on those that do not answer.
#[derive(Debug, Default)]
pub struct Patience {
    thread: Option<(Sender<u32>, Receiver<Option<Capture>>)>,
    /// Each waiting thread holds a clone, which counts the threads.
    alive: Arc<()>,
}

/// The process did not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;

impl Patience {
    /// [`Capture::of`], if it returns in time.
    pub fn capture(&mut self, pid: u32) -> Result<Option<Capture>, NoAnswer> {
        self.ask(pid, PATIENCE, Capture::of)
    }

    fn ask(
        &mut self,
        pid: u32,
        patience: Duration,
        look: fn(u32) -> Option<Capture>,
    ) -> Result<Option<Capture>, NoAnswer> {
        if self.thread.is_none() && Arc::strong_count(&self.alive) > WAITING {
            return Err(NoAnswer);
        }
        let (to, from) = self.thread.get_or_insert_with(|| start(look, Arc::clone(&self.alive)));
        let answer = to.send(pid).ok().and_then(|()| from.recv_timeout(patience).ok());
        if answer.is_none() {
            self.thread = None;
        }
        answer.ok_or(NoAnswer)
    }
}

fn start(look: fn(u32) -> Option<Capture>, alive: Arc<()>) -> (Sender<u32>, Receiver<Option<Capture>>) {
    let (to, pids) = channel();
    let (answers, from) = channel();
    std::thread::spawn(move || {
        let _alive = alive;
        for pid in pids {
            if answers.send(look(pid)).is_err() {
                return;
            }
        }
    });
    (to, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_answer_keeps_nobody() {
        fn look(pid: u32) -> Option<Capture> {
            if pid == 1 {
                loop {
                    std::thread::park();
                }
            }
            Capture::of(std::process::id())
        }
        let mut patience = Patience::default();
        assert_eq!(patience.ask(1, Duration::from_millis(1), look).unwrap_err(), NoAnswer);
        assert!(patience.ask(2, Duration::MAX, look).unwrap().is_some());
        for _ in 1..WAITING {
            assert!(patience.ask(1, Duration::from_millis(1), look).is_err());
        }
        assert!(patience.ask(2, Duration::MAX, look).is_err(), "no more threads than that");
    }
}
