//! Finds out whose the events are, and keeps the marks on what is there now.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{WatchFlags, add_watch};

use super::ledger::Ledger;
use super::marks::Marks;
use super::reader::Message;
use super::sources::{Sources, is_directory};

/// How often the sources are looked at without a reason: a container may have started, a link further up may lead elsewhere.
const IDLE: Duration = Duration::from_secs(1);
/// Changes come in bursts, and a file that is no source may be opened all the time.
const BETWEEN: Duration = Duration::from_millis(50);

/// What the worker and the main thread share.
#[derive(Debug)]
pub struct State {
    /// Who opened what.
    pub ledger: Ledger,
    /// What is watched.
    pub sources: Sources,
}

/// The worker's side.
#[derive(Debug)]
pub struct Worker {
    state: Arc<Mutex<State>>,
    marks: Arc<Marks>,
    changes: Option<Arc<OwnedFd>>,
    watched: HashSet<PathBuf>,
    refreshed: Instant,
}

impl Worker {
    /// Marks what is there.
    pub fn new(state: Arc<Mutex<State>>, marks: Arc<Marks>, changes: Option<Arc<OwnedFd>>) -> Worker {
        let mut worker = Worker { state, marks, changes, watched: HashSet::new(), refreshed: Instant::now() };
        worker.refresh();
        worker
    }

    /// Works until the reader says that it was all.
    pub fn run(mut self, from: &Receiver<Message>) {
        let mut has_changed = false;
        loop {
            let wait = if has_changed { BETWEEN } else { IDLE };
            match from.recv_timeout(wait.saturating_sub(self.refreshed.elapsed())) {
                Ok(Message::Opened(opener, stat)) => {
                    let mut source = self.lock(|state| state.sources.of(&stat));
                    if source.is_none() && !is_directory(&stat) && self.refreshed.elapsed() > BETWEEN {
                        // A file that is new in a watched directory.
                        self.refresh();
                        source = self.lock(|state| state.sources.of(&stat));
                    }
                    if let Some(source) = source {
                        let size = (!is_directory(&stat)).then_some(u64::try_from(stat.st_size).unwrap_or(0));
                        self.lock(|state| state.ledger.opened(&opener, source, size));
                    }
                }
                Ok(Message::Overflow) => self.lock(|state| state.ledger.overflow()),
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
        let marks = Arc::clone(&self.marks);
        let parents: Vec<_> = self.lock(|state| {
            state.sources.refresh(&marks);
            state.sources.parents().map(PathBuf::from).collect()
        });
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR;
        for parent in parents {
            // What can't be watched is looked at each second.
            if let Some(changes) = self.changes.as_ref().filter(|_| !self.watched.contains(&parent)) {
                let _ = add_watch(changes, &parent, flags);
                self.watched.insert(parent);
            }
        }
        self.refreshed = Instant::now();
    }

    fn lock<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
