//! Descriptors that fanotify's records contain as numbers.

use std::os::fd::RawFd;
use std::path::PathBuf;

use rustix::fs::{CWD, Stat, statat};

/// A descriptor that the kernel opened for this process, closed when this is dropped.
///
/// Making an `OwnedFd` from a number takes unsafe code, which the command avoids. All accesses to the descriptor go
/// through its name below /proc instead.
#[derive(Debug)]
pub struct Descriptor(RawFd);

impl Descriptor {
    /// Takes over a number from a record; `None` for a number that means "no descriptor".
    pub fn new(number: RawFd) -> Option<Descriptor> {
        (number >= 0).then_some(Descriptor(number))
    }

    /// The status of the file it is open on.
    pub fn stat(&self) -> Option<Stat> {
        statat(CWD, PathBuf::from(format!("/proc/self/fd/{}", self.0)), rustix::fs::AtFlags::empty()).ok()
    }

    /// For a pidfd: whether its process still exists, perhaps as a zombie that its parent has not waited for. If so,
    /// the process id is still its own.
    pub fn names_a_process(&self) -> bool {
        let information = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0)).unwrap_or_default();
        // proc(5): -1 when the process has ended; 0 when it is not in this pid namespace.
        let number = information.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
        number.is_some_and(|number| number > 0)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let _ = nix::unistd::close(self.0);
    }
}
