//! Fallible allocation for data as large as its input: this runs inside other people's programs, which must not be
//! aborted.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Unsupported;

/// A copy of a string from the operating system.
pub(crate) fn os_string(text: &OsStr) -> Result<OsString, Unsupported> {
    let mut copy = OsString::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Unsupported::OutOfMemory)?;
    copy.push(text);
    Ok(copy)
}

/// A copy of the path that an error is about. Empty if there is no memory for it: in that case memory is the cause of
/// this error, or will be of the next one.
pub(crate) fn path(path: &Path) -> PathBuf {
    os_string(path.as_os_str()).map(PathBuf::from).unwrap_or_default()
}

/// Like [`path()`], for a file in a directory.
pub(crate) fn path_in(directory: &Path, name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    if path.try_reserve_exact(directory.as_os_str().len() + 1 + name.len()).is_ok() {
        path.push(directory);
        path.push(name);
    }
    path
}
