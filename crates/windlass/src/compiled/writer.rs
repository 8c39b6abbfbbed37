//! Writes compiled stores: completely or not at all, and one writer at a time.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;
use thiserror::Error;

use super::image::Image;
use super::reader::Compiled;
use super::trusted::{self, ReadError};
use super::{SUFFIX, file_name};

const LOCK: &str = ".lock";
const TEMPORARY: &str = ".new-";
/// How long to wait for another writer. Compiling 100,000 roots holds the lock for a second.
const PATIENCE: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(20);

/// Whether a store may lose most of its anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse a source that lost more than half of its anchors: it is more likely broken than meant that way.
    Guarded,
    /// Replace any earlier store.
    Forced,
}

/// The result of a write.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether the file already had exactly these bytes, and nothing was written.
    pub unchanged: bool,
}

/// The files that [`clear`] removed.
#[derive(Debug, Default)]
pub struct Cleared {
    /// Compiled stores.
    pub stores: Vec<PathBuf>,
    /// Temporary files of killed writers.
    pub leftovers: Vec<PathBuf>,
}

/// The reason why nothing was written. Any earlier file is still there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Another writer holds the lock.
    #[error("{} is locked by another writer", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The source has lost more than half of its anchors since it was last compiled.
    #[error("{} holds {before} anchors, and only {after} would be left", path.display())]
    Shrinks {
        /// The existing compiled store.
        path: PathBuf,
        /// Anchors in it.
        before: usize,
        /// Anchors in the new one.
        after: usize,
    },
    /// No reader would believe the files in this directory.
    #[error("nobody would believe what is written there: {0}")]
    Distrusted(ReadError),
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The file or the directory.
        path: PathBuf,
        /// The failed operation: a verb.
        action: &'static str,
        /// The error.
        error: io::Error,
    },
}

/// Writes a compiled store into a directory, which is created if it is missing.
///
/// The bytes go to a temporary file, which is synchronised, given its mode (readable by everybody if the source is) and
/// renamed; then the directory is synchronised. Temporary files of killed writers are removed.
pub fn write(directory: &Path, image: &Image, how: Overwrite) -> Result<Written, WriteError> {
    create(directory)?;
    let lock = Lock::take(directory, PATIENCE)?;
    lock.remove_leftovers()?;
    let name = file_name(image.source());
    let path = directory.join(&name);
    let bytes = image.bytes().len() as u64;
    match Compiled::read(directory, || name.as_str()) {
        Ok(before) if before.bytes == image.bytes() => return Ok(Written { path, bytes, unchanged: true }),
        Ok(before) => {
            let (before, after) = (before.layout.anchors as usize, image.store().len());
            if how == Overwrite::Guarded && after < before.div_ceil(2) {
                return Err(WriteError::Shrinks { path, before, after });
            }
        }
        // A store that can't be read is replaced.
        Err(_) => {}
    }
    lock.replace(&name, image)?;
    Ok(Written { path, bytes, unchanged: false })
}

/// Removes all compiled stores of a directory, and writers' temporary files. A missing directory counts as clear.
pub fn clear(directory: &Path) -> Result<Cleared, WriteError> {
    if !directory.exists() {
        return Ok(Cleared::default());
    }
    let lock = Lock::take(directory, PATIENCE)?;
    let leftovers = lock.remove_leftovers()?;
    let stores = lock.remove(is_store)?;
    Ok(Cleared { stores, leftovers })
}

/// Independent of the umask: the machine's compiled stores are for all users. Parent directories follow the umask.
fn create(directory: &Path) -> Result<(), WriteError> {
    let make = |recursive, directory| DirBuilder::new().recursive(recursive).mode(0o755).create(directory);
    let error = |error| failed(directory, "create", error);
    make(true, directory.parent().unwrap_or(directory)).map_err(error)?;
    match make(false, directory) {
        Err(_) if directory.is_dir() => Ok(()),
        made => made.and_then(|()| std::fs::set_permissions(directory, Permissions::from_mode(0o755))).map_err(error),
    }
}

/// Names as [`file_name`] makes them. Whatever directory is named, no other files are removed.
fn is_store(name: &str) -> bool {
    name.strip_suffix(SUFFIX)
        .is_some_and(|stem| stem.len() == 32 && stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

fn is_leftover(name: &str) -> bool {
    name.strip_prefix(TEMPORARY).is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The right to change a directory. The kernel releases it when the process ends, however it ends.
struct Lock<'a> {
    directory: &'a Path,
    /// The directory that was found trustworthy: names are looked up in it, even if the path leads elsewhere by now.
    within: OwnedFd,
    _file: OwnedFd,
}

impl Lock<'_> {
    fn take(directory: &Path, patience: Duration) -> Result<Lock<'_>, WriteError> {
        let (within, _) = trusted::directory(directory).map_err(|error| match error {
            ReadError::Io { path, action, error } => WriteError::Io { path, action, error },
            error => WriteError::Distrusted(error),
        })?;
        let path = directory.join(LOCK);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&within, LOCK, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed(&path, "open", errno.into()))?;
        let start = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { directory, within, _file: file }),
                Err(Errno::WOULDBLOCK) if start.elapsed() < patience => std::thread::sleep(STEP),
                Err(Errno::WOULDBLOCK) => return Err(WriteError::Locked { path }),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(&path, "lock", errno.into())),
            }
        }
    }

    /// Puts the bytes in place. If anything fails, the previous file stays.
    fn replace(&self, name: &str, image: &Image) -> Result<(), WriteError> {
        let temporary = format!("{TEMPORARY}{}", std::process::id());
        let written = self.write(&temporary, image).and_then(|()| {
            renameat(&self.within, &temporary, &self.within, name)
                .map_err(|errno| failed(&self.directory.join(name), "replace", errno.into()))
        });
        if written.is_err() {
            let _ = unlinkat(&self.within, &temporary, AtFlags::empty());
        }
        written?;
        let error = |errno: Errno| failed(self.directory, "synchronise", errno.into());
        fsync(self.open_directory().map_err(error)?).map_err(error)
    }

    /// Readable by nobody else until the mode is known.
    fn write(&self, temporary: &str, image: &Image) -> Result<(), WriteError> {
        let path = self.directory.join(temporary);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&self.within, temporary, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed(&path, "create", errno.into()))?;
        let mut file = File::from(file);
        file.write_all(image.bytes()).map_err(|error| failed(&path, "write", error))?;
        let mode = Permissions::from_mode(if image.is_public() { 0o644 } else { 0o600 });
        file.set_permissions(mode).map_err(|error| failed(&path, "change the mode of", error))?;
        file.sync_all().map_err(|error| failed(&path, "synchronise", error))
    }

    fn open_directory(&self) -> Result<OwnedFd, Errno> {
        openat(&self.within, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }

    /// The lock excludes other writers, and therefore the writers of these files are gone.
    fn remove_leftovers(&self) -> Result<Vec<PathBuf>, WriteError> {
        self.remove(is_leftover)
    }

    fn remove(&self, is_wanted: fn(&str) -> bool) -> Result<Vec<PathBuf>, WriteError> {
        let list = || -> Result<Vec<String>, Errno> {
            let entries = Dir::read_from(self.open_directory()?)?.collect::<Result<Vec<_>, _>>()?;
            let names = entries.iter().filter_map(|entry| Some(entry.file_name().to_str().ok()?.to_owned()));
            let mut names: Vec<String> = names.filter(|name| is_wanted(name)).collect();
            names.sort_unstable();
            Ok(names)
        };
        let names = list().map_err(|errno| failed(self.directory, "list", errno.into()))?;
        let mut removed = Vec::new();
        for name in names {
            let path = self.directory.join(&name);
            unlinkat(&self.within, &name, AtFlags::empty()).map_err(|errno| failed(&path, "remove", errno.into()))?;
            removed.push(path);
        }
        Ok(removed)
    }
}

fn failed(path: &Path, action: &'static str, error: io::Error) -> WriteError {
    WriteError::Io { path: path.to_owned(), action, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let short = Duration::from_millis(50);
        let lock = Lock::take(dir.path(), short).unwrap();
        // As another process would take it: through its own opening of the file.
        match Lock::take(dir.path(), short).map(drop) {
            Err(WriteError::Locked { path }) => assert_eq!(path, dir.path().join(LOCK)),
            other => panic!("{other:?}"),
        }
        drop(lock);
        drop(Lock::take(dir.path(), Duration::ZERO).unwrap());
    }
}
