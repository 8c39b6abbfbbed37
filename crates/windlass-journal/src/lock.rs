//! The lock that keeps a second command out.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::FlockOperation;
use windlass_machine::Failure;

use super::failure;

/// The lock on a file or directory, held until it is dropped.
#[derive(Debug)]
pub struct Lock(OwnedFd);

impl Lock {
    /// Takes the lock on the file opened at `path`, or says that another command holds it. Only the owner may be able
    /// to open that file, or any user could keep commands out.
    pub fn take(opened: impl AsFd, path: &Path) -> Result<Lock, Failure> {
        let failed = |error| failure("lock", path, &error);
        match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => opened.as_fd().try_clone_to_owned().map(Lock).map_err(failed),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(Failure::other(path.display().to_string(), "locked by another windlass")
                    .advise("another command of windlass is running: wait until it is done, then run this again"))
            }
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child process may hold the descriptor until it executes its program.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}
