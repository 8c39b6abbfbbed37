//! The watch as a whole: starting, querying and ending it.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify::{self, CreateFlags};
use windlass_machine::processes::{self, Budget, Container, Executables};

use super::exposition::Exposition;
use super::ledger::Ledger;
use super::marks::Marks;
use super::source::LeftOut;
use super::sources::Sources;
use super::who::Who;
use super::worker::{State, Worker};
use super::{looker, pending, reader};

/// The most events between the two threads. Each holds a descriptor; without room here, they wait in the kernel.
const QUEUE: usize = 256;

/// The budget for one search of new executables: bytes, and a time limit that only an unresponsive file server reaches.
const LEARNING: (u64, Duration) = (512 << 20, Duration::from_secs(30));
/// The most searches at the end.
const LAST: usize = 8;
/// The time limit for counting the remaining events at the end.
const ENDING: Duration = Duration::from_secs(20);

/// A running watch.
#[derive(Debug)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    executables: Executables,
}

/// Why a watch can't start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// CAP_SYS_ADMIN is missing.
    NotPermitted,
    /// The kernel has no fanotify, or no group to spare.
    Kernel(Errno),
}

impl Watch {
    /// Marks all known places and those in `named`, and counts from then on; with `by_container`, for
    /// [`Watch::metrics`] as well.
    pub fn start(named: Vec<PathBuf>, by_container: bool) -> Result<Watch, Refused> {
        let marks = Arc::new(Marks::new(by_container).map_err(|errno| match errno {
            Errno::EPERM => Refused::NotPermitted,
            errno => Refused::Kernel(errno),
        })?);
        let kernel = |errno: rustix::io::Errno| Refused::Kernel(Errno::from_raw(errno.raw_os_error()));
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok().map(Arc::new);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(kernel)?);
        raise_limit();
        let state = Arc::new(Mutex::new(State {
            started: Instant::now(),
            ledger: Ledger::new(by_container),
            sources: Vec::new(),
            left_out: LeftOut::default(),
            overflows: 0,
            failed: None,
        }));
        let (ask, looker) = looker::start(Arc::clone(&state));
        let sources = Sources::new(named);
        let worker = Worker::new(Arc::clone(&state), sources, Arc::clone(&marks), changes.clone(), ask);

        let (to, from) = sync_channel(QUEUE);
        let told = Arc::clone(&stop);
        let threads = vec![
            std::thread::spawn(move || reader::run(&marks, changes.as_deref(), &told, &to)),
            std::thread::spawn(move || worker.run(&from)),
            looker,
        ];
        Ok(Watch { state, stop, threads, executables: Executables::default() })
    }

    /// Searches new executables, and passes the state to `show`.
    pub fn with<T>(&mut self, show: impl FnOnce(&State) -> T) -> T {
        self.learn();
        show(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Searches the executables of new processes. If this is called often enough, none of them is held open for long.
    /// `false`: some are left for the next time.
    pub fn learn(&mut self) -> bool {
        let pending = self.state.lock().unwrap_or_else(PoisonError::into_inner).ledger.pending.take();
        self.executables.refill(Budget::of(LEARNING.0, LEARNING.1));
        // Without the lock: an executable may have a hundred megabytes.
        let (learned, rest) = pending::look_into(pending, &mut self.executables);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (who, facts) in learned {
            state.ledger.learn(&who, facts);
        }
        let is_done = rest.is_empty();
        state.ledger.pending.put_back(rest);
        is_done
    }

    /// Searches new executables, and puts into the metrics what was counted.
    pub fn fold(&mut self) {
        self.learn();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.started.elapsed();
        state.ledger.fold(now);
    }

    /// Looks at all processes: which containers are there, and which of the known processes still run. Drops the
    /// metrics of containers that were not there for the time `keep`.
    pub fn look_around(&mut self, keep: Duration) {
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = lock().ledger.rows().map(|(who, row)| (who.clone(), row.labels(who))).collect::<Vec<_>>();
        // Without the lock: there may be ten thousand processes.
        let alive: HashSet<Container> = processes::pids().into_iter().map(Container::of).collect();
        let runs = |who: &Who| match who {
            Who::Process { pid, start_time, exe } => {
                processes::identity(*pid).is_some_and(|(start, now)| start == *start_time && now == *exe)
            }
            _ => false,
        };
        let running = rows.into_iter().filter(|(who, _)| runs(who)).map(|(_, labels)| labels).collect();
        let mut state = lock();
        let now = state.started.elapsed();
        if let Some(series) = &mut state.ledger.series {
            series.update(&alive, running, now, keep);
        }
    }

    /// What gives the metrics as text, from any thread.
    pub fn metrics(&self) -> impl Fn() -> String + Send + 'static {
        let state = Arc::clone(&self.state);
        move || {
            let exposition = Exposition::of(&state.lock().unwrap_or_else(PoisonError::into_inner));
            exposition.text()
        }
    }

    /// Ends the watch. On return, everything that was opened before is counted; otherwise the error says why not.
    pub fn stop(&mut self) -> Result<(), String> {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        let begun = Instant::now();
        // A thread that waits for a file server or a process is abandoned. It ends with this process.
        while self.threads.iter().any(|thread| !thread.is_finished()) && begun.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (ended, stuck): (Vec<_>, Vec<_>) = self.threads.drain(..).partition(JoinHandle::is_finished);
        if ended.into_iter().map(JoinHandle::join).any(|ended| ended.is_err()) {
            return Err("a thread of windlass failed".to_owned());
        }
        let _ = (0..LAST).any(|_| self.learn());
        if !stuck.is_empty() {
            return Err(format!("a file or a process keeps windlass waiting for more than {} s", ENDING.as_secs()));
        }
        match self.state.lock().unwrap_or_else(PoisonError::into_inner).failed {
            None => Ok(()),
            Some(errno) => Err(format!("fanotify: {}", errno.desc())),
        }
    }
}

/// Events come with two descriptors each. No other program is started from here that a raised limit could confuse
/// (getrlimit(2)).
fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
