//! Memory for what is as large as its input is asked for in a way that can fail: this runs inside other people's
//! programs, and they have not asked to be aborted.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Unsupported;

/// A copy of a string of the system's.
pub(crate) fn os_string(text: &OsStr) -> Result<OsString, Unsupported> {
    let mut copy = OsString::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Unsupported::OutOfMemory)?;
    copy.push(text);
    Ok(copy)
}

/// The path that an error is about. Empty if there is no memory for it: then that is what the error comes from, or the
/// next one will.
pub(crate) fn path(path: &Path) -> PathBuf {
    os_string(path.as_os_str()).map(PathBuf::from).unwrap_or_default()
}

/// As [`path()`], of a file in a directory.
pub(crate) fn path_in(directory: &Path, name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    if path.try_reserve_exact(directory.as_os_str().len() + 1 + name.len()).is_ok() {
        path.push(directory);
        path.push(name);
    }
    path
}
