//! The state directory: created and removed atomically, together with the record in it, and locked while it is used.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_journal::{Directory, Lock, parent, temporary};
use windlass_machine::Failure;

use super::destination::{Destination, Last};
use super::disk;
use super::record::{FILE_NAME, Record};

/// Only its owner can open it, which keeps others from holding the lock.
const LOCK: &str = "lock";
const NEW: &str = ".windlass-new-";

/// Opens and locks the state directory; creates it with an empty record if it is missing.
pub fn open_or_make(destination: &Destination) -> Result<Lock, Failure> {
    loop {
        if let Some(locked) = open(destination)? {
            return Ok(locked);
        }
        make(destination)?;
    }
}

/// Opens and locks the state directory; None if it does not exist.
pub fn open(destination: &Destination) -> Result<Option<Lock>, Failure> {
    let path = destination.real(&destination.state, Last::Followed)?;
    loop {
        let Some(directory) = Directory::open_trusted(&path)? else { return Ok(None) };
        let file = directory.open_own(OsStr::new(LOCK))?;
        let lock = Lock::take(&file, &path.join(LOCK))?;
        // Another process may have removed the directory before we took the lock: the lock would then be on a deleted
        // file.
        let same = |found: fs::Metadata| file.metadata().is_ok_and(|own| own.ino() == found.ino());
        if fs::symlink_metadata(path.join(LOCK)).is_ok_and(same) {
            disk::remove_temporary(&path.join(FILE_NAME))?;
            return Ok(Some(lock));
        }
    }
}

/// Makes the directory with all missing parents under a temporary name, and renames it at the end: our directory never
/// exists without a record that mentions it.
fn make(destination: &Destination) -> Result<(), Failure> {
    remove_leftovers(destination)?;
    let (existing, missing) = split(destination)?;
    let Some(first) = missing.first() else { return Ok(()) };
    let top = existing.join(format!("{NEW}{first}"));
    let mut directory = top.clone();
    disk::make_directory(&directory)?;
    for name in &missing[1..] {
        directory.push(name);
        disk::make_directory(&directory)?;
    }
    let record = Record { made_directories: missing.len(), ..Record::default() };
    record.write_in(&directory)?;
    let final_name = existing.join(first);
    match rename_new(&top, &final_name) {
        // Another process was faster, and its directory will do.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => remove_leftovers(destination),
        other => other.map_err(|error| disk::failure("make the directory", &final_name, &error)),
    }
}

/// Removes the directory, and those of its parents that were made for it and hold nothing else. The caller holds the
/// lock.
pub fn remove(destination: &Destination, made_directories: usize) -> Result<(), Failure> {
    let directory = destination.real(&destination.state, Last::Followed)?;
    // The outermost of our directories that holds nothing except ours.
    let mut top = directory.clone();
    for _ in 1..made_directories {
        match top.parent() {
            Some(parent) if holds_one(parent) => top = parent.to_owned(),
            _ => break,
        }
    }
    let (Some(name), true) = (top.file_name(), made_directories > 0) else {
        // The directory itself was there before: remove only our files.
        disk::remove(&directory.join(FILE_NAME))?;
        return disk::remove(&directory.join(LOCK));
    };
    let gone = top.with_file_name(format!("{NEW}{}", name.to_string_lossy()));
    rename_new(&top, &gone).map_err(|error| disk::failure("remove the directory", &top, &error))?;
    remove_leftovers(destination)
}

/// A directory that a killed [`make`] or [`remove`] left behind.
#[derive(Debug)]
pub struct Leftover {
    /// The path, for display.
    pub path: PathBuf,
    parent: Directory,
    /// Its own name, then the names of the directories nested in it.
    names: Vec<OsString>,
}

/// Finds leftovers: beside the state directory and beside those of its parents that may have been made for it, never
/// above the place.
pub fn leftovers(destination: &Destination) -> Result<Vec<Leftover>, Failure> {
    let mut found = Vec::new();
    let mut below = Vec::new();
    for path in destination.state.ancestors().take_while(|path| Some(*path) != destination.home()) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { break };
        let parent = destination.real(parent, Last::Followed)?;
        let own = OsString::from(format!("{NEW}{}", name.to_string_lossy()));
        let path = parent.join(&own);
        if path.symlink_metadata().is_ok()
            && let Some(parent) = Directory::open_trusted(&parent)?
        {
            found.push(Leftover { path, parent, names: std::iter::once(own).chain(below.iter().cloned()).collect() });
        }
        below.insert(0, name.to_owned());
    }
    Ok(found)
}

/// Removes the leftovers. Unexpected files stay, and keep their directory.
pub fn remove_leftovers(destination: &Destination) -> Result<(), Failure> {
    leftovers(destination)?.iter().try_for_each(|left| remove_one(&left.parent, &left.names))
}

fn remove_one(parent: &Directory, names: &[OsString]) -> Result<(), Failure> {
    let [name, below @ ..] = names else { return Ok(()) };
    let Some(directory) = parent.enter_trusted(name)? else { return Ok(()) };
    let failed = |error| disk::failure("remove", &directory.path, &error);
    if below.is_empty() {
        for file in [OsStr::new(FILE_NAME), OsStr::new(LOCK), &temporary(OsStr::new(FILE_NAME))] {
            directory.remove_if_there(file).map_err(failed)?;
        }
    }
    remove_one(&directory, below)?;
    match parent.remove_directory(name) {
        Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => Ok(()),
        other => other.map_err(failed),
    }
}

/// Renames a directory within its parent, where the new name must be free.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (directory, name) = parent(from)?;
    directory.rename(name, &directory, to.file_name().unwrap_or_default())?;
    directory.synchronise()
}

/// The existing part of the path, and the names of the missing directories.
fn split(destination: &Destination) -> Result<(PathBuf, Vec<String>), Failure> {
    let directory = destination.real(&destination.state, Last::Followed)?;
    let mut missing = Vec::new();
    let mut existing = directory.as_path();
    while let (false, Some(parent), Some(name)) = (existing.is_dir(), existing.parent(), existing.file_name()) {
        if fs::symlink_metadata(existing).is_ok() {
            let error = io::Error::from(ErrorKind::NotADirectory);
            return Err(disk::failure("make the directory", existing, &error));
        }
        missing.insert(0, name.to_string_lossy().into_owned());
        existing = parent;
    }
    Ok((existing.to_owned(), missing))
}

fn holds_one(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| entries.count() == 1)
}
