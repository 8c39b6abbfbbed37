//! The error of a failed change, with advice for the usual causes.

use std::io::{self, ErrorKind};
use std::path::Path;

use windlass_machine::Failure;

/// `action` failed at `path`.
pub fn failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::other(format!("can't {action} {}", path.display()), error);
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem => {
            failure.advise("this file system is mounted read-only: remount it (mount -o remount,rw)")
        }
        ErrorKind::PermissionDenied => failure.advise("run it as root, or as the owner of that path"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.advise("make room on that file system"),
        ErrorKind::NotADirectory => failure.advise("a part of that path is a file, not a directory"),
        _ => failure,
    }
}
