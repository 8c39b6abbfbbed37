//! Keeping a second command out.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::FlockOperation;
use windlass_machine::{Failure, FailureKind};

use super::failure;

/// The lock on a file or directory, until it is dropped.
#[derive(Debug)]
pub struct Lock(OwnedFd);

impl Lock {
    /// Takes the lock on what was opened at `path`, or says that another command has it. Only its owner may be able to
    /// open that, or anybody could keep commands out.
    pub fn take(opened: impl AsFd, path: &Path) -> Result<Lock, Failure> {
        let failed = |error| failure("lock", path, &error);
        match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => opened.as_fd().try_clone_to_owned().map(Lock).map_err(failed),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(Failure::new(FailureKind::Other, path.display().to_string(), "locked by another windlass")
                    .advise("another command of windlass is running: wait until it is done, then run this again"))
            }
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not do: a child process may have the descriptor until it executes its program.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}
