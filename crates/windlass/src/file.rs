//! Files that may change while they are used: checking them, and reading them in a stable state.

use std::path::Path;

use crate::error::LoadError;
use crate::identity::{Identity, is_directory};
use crate::source::system::{FileSystem, Real, System};
use crate::source::{cafile, failed};

pub use crate::source::cafile::File;

/// The file that a path leads to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The state of the file.
    pub identity: Identity,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// The file that a path leads to now, of any kind. One system call.
pub fn status(path: &Path) -> Result<Status, LoadError> {
    let stat = rustix::fs::stat(path).map_err(|errno| failed(path, "stat", errno))?;
    Ok(Status { identity: Identity::of(&stat), is_directory: is_directory(&stat) })
}

/// The file that a path leads to now, if it is a regular file and this process may read it now. Two system calls.
pub fn observe(path: &Path) -> Result<Identity, LoadError> {
    cafile::observe(path)
}

/// Reads a regular file, repeating the read if the file changed meanwhile.
pub fn read(path: &Path) -> Result<File, LoadError> {
    cafile::read(path, &Real)
}

/// The clock that file timestamps are taken from, nanoseconds since 1970.
pub fn now_ns() -> i128 {
    Real.real_ns()
}

/// What the identity of a file says of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// If read from now on, the content is unchanged for as long as the path has this identity.
    Believed,
    /// The file was changed so recently that it may change again under the same identity.
    TooYoung,
    /// The file system does not give each change a new identity.
    Never,
}

/// What an identity says of the content. `now_ns` is the time before the file was read. One system call, unless the
/// file is too young.
pub fn belief(path: &Path, identity: &Identity, now_ns: i128) -> Result<Belief, LoadError> {
    if identity.is_racy(now_ns) {
        return Ok(Belief::TooYoung);
    }
    let file_system = rustix::fs::statfs(path).map_err(|errno| failed(path, "stat", errno))?;
    let is_kept = identity.outlives(FileSystem::of(&file_system), &Real);
    Ok(if is_kept { Belief::Believed } else { Belief::Never })
}

/// Whether the content of a file, if read from now on, is unchanged for as long as the path has this identity. `now_ns`
/// is the time before the file was read.
pub fn is_believed(path: &Path, identity: &Identity, now_ns: i128) -> bool {
    matches!(belief(path, identity, now_ns), Ok(Belief::Believed))
}
