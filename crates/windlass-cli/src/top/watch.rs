//! The watching as a whole: started, asked, ended.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::errno::Errno;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify::{self, CreateFlags};

use super::ledger::{self, Ledger};
use super::marks::Marks;
use super::reader;
use super::sources::Sources;
use super::worker::{State, Worker};
use crate::processes::Images;

/// Events between the two threads. Each holds a descriptor; while there is no room they wait in the kernel.
const QUEUE: usize = 256;

/// A watching that goes on.
#[derive(Debug)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    images: Images,
}

/// Why it can't begin.
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
        let state = Arc::new(Mutex::new(State { ledger: Ledger::new(), sources: Sources::new(named) }));
        let worker = Worker::new(Arc::clone(&state), Arc::clone(&marks), changes.clone());

        let (to, from) = sync_channel(QUEUE);
        let told = Arc::clone(&stop);
        let threads = vec![
            std::thread::spawn(move || reader::run(&marks, changes.as_deref(), &told, &to)),
            std::thread::spawn(move || worker.run(&from)),
        ];
        Ok(Watch { state, stop, threads, images: Images::default() })
    }

    /// Looks into what is new, and shows the state.
    pub fn with<T>(&mut self, show: impl FnOnce(&State) -> T) -> T {
        self.learn();
        show(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks into the executables of processes that are new. Called often enough, none of them is held open for long.
    pub fn learn(&mut self) {
        let pending = self.state.lock().unwrap_or_else(PoisonError::into_inner).ledger.pending();
        // Without the lock: an executable may have a hundred megabytes.
        let learned = ledger::look_into(pending, &mut self.images);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (who, facts) in learned {
            state.ledger.learn(&who, facts);
        }
    }

    /// Ends the watching. All that was opened before this has been counted when it returns; `false`: a thread has failed.
    pub fn stop(&mut self) -> bool {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        let failed = self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count();
        failed == 0
    }
}
