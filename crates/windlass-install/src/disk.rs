//! The changes of windlass-journal by path, with what an installation says where one fails. A path holds no link
//! ([`Place::real`] has followed them).
//!
//! [`Place::real`]: super::place::Place::real

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use windlass_journal::{Attributes, Directory, parent};
use windlass_machine::Failure;

/// Makes a directory that everybody can read.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = in_parent(path, |directory, name| directory.make(name, 0o755).map(drop));
    let made = match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    };
    made.map_err(|error| failure("make the directory", path, &error))
}

/// Puts `content` at `path` at once.
pub fn write(path: &Path, content: &[u8], attributes: Attributes) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.write(name, content, attributes))
        .map_err(|error| failure("write", path, &error))
}

/// Makes a symbolic link.
pub fn link(to: &Path, path: &Path) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.link(to.as_os_str(), name).and_then(|()| directory.synchronise()))
        .map_err(|error| failure("make the link", path, &error))
}

/// Removes a file or a link, if it is there.
pub fn remove(path: &Path) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.remove_if_there(name).and_then(|()| directory.synchronise()))
        .map_err(|error| failure("remove", path, &error))
}

/// Removes what a killed [`write()`] left behind.
pub fn remove_temporary(path: &Path) -> Result<(), Failure> {
    match in_parent(path, Directory::remove_temporary) {
        // Where there is no directory, nothing was left in it.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        other => other.map_err(|error| failure("remove what was left beside", path, &error)),
    }
}

/// Removes a directory if it is there and empty; says whether it is gone.
pub fn remove_directory(path: &Path) -> Result<bool, Failure> {
    match in_parent(path, |directory, name| {
        directory.remove_directory(name)?;
        directory.synchronise()
    }) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(failure("remove the directory", path, &error)),
    }
}

fn in_parent(path: &Path, change: impl FnOnce(&Directory, &OsStr) -> io::Result<()>) -> io::Result<()> {
    let (directory, name) = parent(path)?;
    change(&directory, name)
}

/// The error of a change, with what to do about the usual ones.
pub fn failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = windlass_journal::failure(action, path, error);
    let failure = match error.kind() {
        ErrorKind::ReadOnlyFilesystem => failure.advise("or install into the image: windlass install --root DIR"),
        _ => failure,
    };
    failure.advise("nothing is half done: run the same command again, or `windlass uninstall` to undo what was done")
}
