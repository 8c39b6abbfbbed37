//! The changes of windlass-journal by path, with the error messages of an installation. The paths hold no links
//! ([`Destination::real`] has followed them).
//!
//! [`Destination::real`]: super::destination::Destination::real

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use windlass_journal::{Attributes, Directory, parent};
use windlass_machine::Failure;

use super::destination::{Destination, Last};

/// Makes a directory that everybody can read.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    let made = in_parent(path, |directory, name| directory.make(name, 0o755).map(drop));
    let made = match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    };
    made.map_err(|error| failure("make the directory", path, &error))
}

/// Writes `content` to `path` atomically.
pub fn write(path: &Path, content: &[u8], attributes: Attributes) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.write(name, content, attributes))
        .map_err(|error| failure("write", path, &error))
}

/// Makes a symbolic link.
pub fn link(to: &Path, path: &Path) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.link(to.as_os_str(), name).and_then(|()| directory.synchronise()))
        .map_err(|error| failure("make the link", path, &error))
}

/// Removes a file or a link, if it exists.
pub fn remove(path: &Path) -> Result<(), Failure> {
    in_parent(path, |directory, name| directory.remove_if_there(name).and_then(|()| directory.synchronise()))
        .map_err(|error| failure("remove", path, &error))
}

/// Removes what a killed [`write()`] left behind.
pub fn remove_temporary(path: &Path) -> Result<(), Failure> {
    match in_parent(path, Directory::remove_temporary) {
        // A missing directory has no leftovers.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        other => other.map_err(|error| failure("remove what was left beside", path, &error)),
    }
}

/// Removes a directory if it exists and is empty; returns whether it is gone.
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

/// The content of another program's file that Windlass will edit; None if it does not exist. A link is followed: its
/// target is the file that is changed.
pub fn read_to_edit(destination: &Destination, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let real = destination.real(path, Last::Followed)?;
    let is_link = destination.real(path, Last::Itself)?.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    match fs::metadata(&real) {
        Ok(metadata) if metadata.is_file() => match fs::read(&real) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Failure::other(format!("can't read {}", real.display()), error)),
        },
        Ok(_) => Err(Failure::other(real.display().to_string(), "not a regular file")
            .advise("windlass adds a line to a file of that name: move away what is there, and run this again")),
        Err(error) if error.kind() == ErrorKind::NotFound && is_link => {
            let why = format!("a symbolic link to {}, which does not exist", real.display());
            Err(Failure::other(path.display().to_string(), why)
                .advise("create the file that it points to, or remove the link"))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::other(format!("can't read {}", real.display()), error)),
    }
}

/// The error of a failed change, with advice for the usual causes.
pub fn failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = windlass_journal::failure(action, path, error);
    let failure = match error.kind() {
        ErrorKind::ReadOnlyFilesystem => failure.advise("or install into the image: windlass install --root DIR"),
        _ => failure,
    };
    failure
        .advise("no change is half done: run the same command again, or undo what was done with `windlass uninstall`")
}

/// The file no longer has the state that was planned for.
pub fn changed_meanwhile() -> Failure {
    Failure::other("the plan is out of date", "something changed after it was shown")
        .advise("run the command again, and check the new plan")
}
