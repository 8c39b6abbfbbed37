//! The watching as a whole: started, asked, ended.

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
use windlass_machine::processes::{Budget, Executables};

use super::ledger::Ledger;
use super::marks::Marks;
use super::source::LeftOut;
use super::sources::Sources;
use super::worker::{State, Worker};
use super::{looker, pending, reader};

/// Events between the two threads. Each holds a descriptor; while there is no room they wait in the kernel.
const QUEUE: usize = 256;

/// Looking into new executables, each time: bytes, and a time that only a file server needs that does not answer.
const LEARNING: (u64, Duration) = (512 << 20, Duration::from_secs(30));
/// How often that is done at the end.
const LAST: usize = 8;
/// Counting what is left at the end.
const ENDING: Duration = Duration::from_secs(20);

/// A watching that goes on.
#[derive(Debug)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    executables: Executables,
}

/// Why watching can't begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// CAP_SYS_ADMIN is needed.
    NotPermitted,
    /// The kernel has no fanotify, or none to spare.
    Kernel(Errno),
}

impl Watch {
    /// Marks all that is known and what is `named`, and counts from now on.
    pub fn start(named: Vec<PathBuf>) -> Result<Watch, Refused> {
        let marks = Arc::new(Marks::new().map_err(|errno| match errno {
            Errno::EPERM => Refused::NotPermitted,
            errno => Refused::Kernel(errno),
        })?);
        let kernel = |errno: rustix::io::Errno| Refused::Kernel(Errno::from_raw(errno.raw_os_error()));
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok().map(Arc::new);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(kernel)?);
        raise_limit();
        let ledger = Ledger::new();
        let state = State { ledger, sources: Vec::new(), left_out: LeftOut::default(), failed: None };
        let state = Arc::new(Mutex::new(state));
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

    /// Looks into what is new, and shows the state.
    pub fn with<T>(&mut self, show: impl FnOnce(&State) -> T) -> T {
        self.learn();
        show(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks into the executables of processes that are new. Called often enough, none of them is held open for long.
    /// `false`: something is left for the next time.
    pub fn learn(&mut self) -> bool {
        let pending = self.state.lock().unwrap_or_else(PoisonError::into_inner).ledger.pending();
        self.executables.refill(Budget::of(LEARNING.0, LEARNING.1));
        // Without the lock: an executable may have a hundred megabytes.
        let (learned, rest) = pending::look_into(pending, &mut self.executables);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (who, facts) in learned {
            state.ledger.learn(&who, facts);
        }
        let is_done = rest.is_empty();
        state.ledger.put_back(rest);
        is_done
    }

    /// Ends the watching. All that was opened before this has been counted when it returns; else it says what went
    /// wrong.
    pub fn stop(&mut self) -> Result<(), String> {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        let begun = Instant::now();
        // One that waits for a file server or for a process is left behind. It ends with this process.
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

/// Events come with descriptors, two each. No other program is started from here that the limit could surprise
/// (getrlimit(2)).
fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
