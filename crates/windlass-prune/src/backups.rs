//! The directory of backups: one directory for each `windlass prune`, named for its time.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass::Timestamp;
use windlass_journal::{Directory, Lock, is_no_directory, temporary, trust};
use windlass_machine::{Failure, FailureKind};

use super::record::{FILE_NAME, Record};

/// The directory for root.
const OF_ROOT: &str = "/var/backups/windlass";
/// The directory for other users, in XDG_DATA_HOME or ~/.local/share.
const OF_USER: &str = "windlass/pruned";

/// The opened directory of backups, locked against other commands.
#[derive(Debug)]
pub struct Backups {
    /// The directory.
    pub directory: Directory,
    _lock: Lock,
}

/// One backup.
#[derive(Debug)]
pub struct Backup {
    /// Its name, made from the time of the prune.
    pub name: OsString,
    /// Its directory.
    pub directory: Directory,
    /// Its record.
    pub record: Record,
}

/// The directory for backups: the one named on the command line, otherwise root's or the user's.
pub fn usual(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return std::path::absolute(named).map_err(|error| Failure::new(FailureKind::Usage, "--backups", error));
    }
    if rustix::process::geteuid().is_root() {
        return Ok(OF_ROOT.into());
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    data.map(|data| data.join(OF_USER)).ok_or_else(|| {
        Failure::other("the directory of backups", "HOME is not set")
            .advise("set HOME, or name a directory: --backups DIR")
    })
}

impl Backups {
    /// Opens and locks the directory; None if it does not exist.
    pub fn open(path: &Path) -> Result<Option<Backups>, Failure> {
        let failed = |error: io::Error| failure("open the directory of backups", path, &error);
        let directory = match trust::real(path).and_then(|real| Directory::open(&real)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(failed)?,
        };
        let directory = directory.trusted().map_err(|failure| failure.advise("or name another: --backups DIR"))?;
        Ok(Some(Backups { _lock: Lock::take(&directory.fd, path)?, directory }))
    }

    /// Opens and locks the directory; creates it if it is missing.
    pub fn open_or_make(path: &Path) -> Result<Backups, Failure> {
        let failed = |error: io::Error| failure("make the directory of backups", path, &error);
        let real = trust::real(path).map_err(failed)?;
        if let Some(parent) = real.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        match DirBuilder::new().mode(0o700).create(&real) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        Backups::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Makes the directory of a new backup.
    pub fn begin(&self, now: Timestamp) -> io::Result<(Directory, String)> {
        let date = now.to_string().replace(' ', "T");
        let stem = date.replace(':', "");
        for number in 1.. {
            let name = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            match self.directory.make(OsStr::new(&name), 0o700) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|directory| (directory, date)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// All backups, oldest first, and the errors of those that can't be read. A backup without a record is from a prune
    /// that was killed before it moved anything.
    pub fn all(&self) -> Result<(Vec<Backup>, Vec<Failure>), Failure> {
        let failed = |error: io::Error| failure("read the directory of backups", &self.directory.path, &error);
        let (mut all, mut damaged) = (Vec::new(), Vec::new());
        for name in self.directory.names().map_err(failed)? {
            let directory = match self.directory.enter(&name) {
                Ok(opened) => opened,
                // A file or a link is not a backup, and one of our own that is being removed no longer is.
                Err(error) if is_no_directory(&error) => continue,
                Err(error) => {
                    damaged.push(failure("read the backup", &self.directory.path.join(&name), &error));
                    continue;
                }
            };
            let read = directory.trusted().and_then(|directory| Ok((Record::read(&directory)?, directory)));
            match read {
                Ok((Some(record), directory)) => all.push(Backup { name, directory, record }),
                Ok((None, _)) => {}
                Err(failure) => damaged.push(failure),
            }
        }
        // Backups of the same second have numbers after their names.
        all.sort_by_cached_key(|backup| (backup.record.made.clone(), backup.name.len(), backup.name.clone()));
        Ok((all, damaged))
    }

    /// Removes the directory of a backup if nothing but its record is left in it.
    pub fn forget(&self, backup: &Directory, name: &OsStr) -> io::Result<()> {
        // Without its record it is no backup; with a record and no files, it would be tried again.
        for left in [OsStr::new(FILE_NAME).to_owned(), temporary(OsStr::new(FILE_NAME))] {
            backup.remove_if_there(&left)?;
        }
        match self.directory.remove_directory(name) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => other.and_then(|()| self.directory.synchronise()),
        }
    }
}

/// The error of a failed change, with advice for the usual causes.
pub fn failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = windlass_journal::failure(action, path, error);
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => failure.advise("or name another: --backups DIR"),
        _ => failure,
    }
}
