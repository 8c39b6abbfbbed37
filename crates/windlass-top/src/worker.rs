//! Identifies the processes behind events, and keeps the marks up to date.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustix::fs::Stat;
use rustix::fs::inotify::{WatchFlags, add_watch};
use windlass_machine::processes::ExecutableId;

use super::held::Held;
use super::ledger::Ledger;
use super::marks::Marks;
use super::reader::Message;
use super::source::{LeftOut, Source};
use super::sources::{Sources, is_directory};
use super::tally::Open;
use super::who::Who;

/// How often the sources are refreshed without a reason: a container may have started, or a link further up may have a
/// new target.
const IDLE: Duration = Duration::from_secs(1);
/// The shortest time between refreshes: changes come in bursts, and other files may be opened all the time.
const BETWEEN: Duration = Duration::from_millis(50);

/// The state shared by the worker and the main thread.
#[derive(Debug)]
pub struct State {
    /// The start of the watch.
    pub started: Instant,
    /// The counted opens.
    pub ledger: Ledger,
    /// The watched sources.
    pub sources: Vec<Source>,
    /// Sources beyond the limits.
    pub left_out: LeftOut,
    /// How often the kernel's queue overflowed.
    pub overflows: u64,
    /// Why some events could not be read.
    pub failed: Option<Errno>,
}

/// The worker's own data.
#[derive(Debug)]
pub struct Worker {
    state: Arc<Mutex<State>>,
    // Outside the shared state, because refreshing takes a while.
    sources: Sources,
    marks: Arc<Marks>,
    changes: Option<Arc<OwnedFd>>,
    looker: SyncSender<Who>,
    own: Option<ExecutableId>,
    refreshed: Instant,
    // Only of processes, and only if there are series.
    held: Held,
}

impl Worker {
    /// Marks all sources that exist now.
    pub fn new(
        state: Arc<Mutex<State>>,
        sources: Sources,
        marks: Arc<Marks>,
        changes: Option<Arc<OwnedFd>>,
        looker: SyncSender<Who>,
    ) -> Worker {
        let own = ExecutableId::of(std::process::id());
        let (refreshed, held) = (Instant::now(), Held::default());
        let mut worker = Worker { state, sources, marks, changes, looker, own, refreshed, held };
        worker.refresh();
        worker
    }

    /// Works until the reader reports the end.
    pub fn run(mut self, from: &Receiver<Message>) {
        let mut has_changed = false;
        loop {
            let wait = if has_changed { BETWEEN } else { IDLE };
            match from.recv_timeout(wait.saturating_sub(self.refreshed.elapsed())) {
                Ok(Message::Opened(opener, stat, at)) => {
                    let mut source = self.sources.of(&stat);
                    if source.is_none() && !is_directory(&stat) && self.refreshed.elapsed() > BETWEEN {
                        // A new file in a watched directory.
                        self.refresh();
                        source = self.sources.of(&stat);
                    }
                    if let Some(source) = source {
                        let size = (!is_directory(&stat)).then_some(u64::try_from(stat.st_size).unwrap_or(0));
                        let needs_container =
                            |who: &Who| self.lock(|state| state.ledger.series.is_some() && !state.ledger.has(who));
                        let seen = opener.look(self.own, needs_container);
                        if let (Some(at), Some(_), false) = (at, size, seen.is_own) {
                            self.held.open(seen.pid, file(&stat), at);
                        }
                        let opened = |state: &mut State| {
                            state.ledger.opened(seen, source, Open { size, at: state.started.elapsed() })
                        };
                        if let Some(who) = self.lock(opened) {
                            let _ = self.looker.try_send(who);
                        }
                    }
                }
                Ok(Message::Closed(pid, stat, at)) => {
                    if let Some(held) = self.held.close(pid, file(&stat), at) {
                        self.lock(|state| state.ledger.closed(pid, held));
                    }
                }
                Ok(Message::Overflow) => {
                    self.held.clear();
                    self.lock(|state| state.overflows += 1);
                }
                Ok(Message::Failed(errno)) => self.lock(|state| state.failed = Some(errno)),
                Ok(Message::Changed) => has_changed = true,
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.refreshed.elapsed() >= if has_changed { BETWEEN } else { IDLE } {
                self.refresh();
                has_changed = false;
            }
        }
    }

    fn refresh(&mut self) {
        self.sources.refresh(&self.marks);
        let list = self.sources.list.has_changed().then(|| self.sources.list.all().to_vec());
        let left_out = self.sources.left_out;
        self.lock(|state| {
            state.left_out = left_out;
            if let Some(list) = list {
                state.sources = list;
            }
        });
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR;
        for parent in self.sources.parents.take_new() {
            // Directories that can't be watched are checked each second.
            if let Some(changes) = &self.changes {
                let _ = add_watch(changes, &parent, flags);
            }
        }
        self.refreshed = Instant::now();
    }

    fn lock<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn file(stat: &Stat) -> super::held::File {
    (stat.st_dev, stat.st_ino)
}
