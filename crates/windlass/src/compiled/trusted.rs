//! Which files may be believed: files that root wrote and nobody else can have changed; in a directory that was named,
//! also the effective user's files. A user who can name the directory could name another bundle just as well.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use thiserror::Error;

use super::directories::SYSTEM_DIRECTORY;
use super::format::Malformed;
use crate::identity::{is_directory, is_regular};
use crate::memory;

/// 100,000 roots take 160 MB.
const MAX_STORE: u64 = 2 << 30;

/// Why a compiled store can't be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no compiled store.
    #[error("{}: no such compiled store", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// Another user could have written it.
    #[error("{}: {why}", path.display())]
    Distrusted {
        /// The file, or its directory.
        path: PathBuf,
        /// The reason.
        why: Distrust,
    },
    /// It is not a compiled store, or it is damaged.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: Malformed,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {error}", path.display())]
    Io {
        /// The file, or its directory.
        path: PathBuf,
        /// The failed operation: a verb.
        action: &'static str,
        /// The error.
        error: io::Error,
    },
}

/// The reason not to believe a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distrust {
    /// It belongs to neither root nor the effective user, but to the user with this number.
    Owner(u32),
    /// It is, or leads to, the machine's directory, where only root's files count, and belongs to the user with this
    /// number.
    NotRoots(u32),
    /// Its group or others may write to it; this is its mode.
    Mode(u32),
    /// It is not a regular file (for the directory: not a directory), or it is a symbolic link.
    Kind,
    /// It is larger than any compiled store; this is its size in bytes.
    Size(u64),
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::Owner(uid) => write!(f, "belongs to user {uid}, not to root or to the user of this process"),
            Distrust::NotRoots(uid) => write!(f, "belongs to user {uid}, not to root"),
            Distrust::Mode(mode) => write!(f, "others may write to it (mode {:04o})", mode & 0o7777),
            Distrust::Kind => f.write_str("not a regular file"),
            Distrust::Size(size) => write!(f, "{size} bytes: too large"),
        }
    }
}

/// The user other than root who vouches for a file: other users must not believe it. None: root vouches for it.
pub(crate) type Voucher = Option<u32>;

/// The kernel shows this number for users without a number in a user namespace or on a network file system: it stands
/// for nobody in particular.
const OVERFLOW_USER: u32 = 65534;

/// Opens a directory that may be believed. The descriptor can only be used to reach files in it.
pub(super) fn directory(path: &Path) -> Result<(OwnedFd, Voucher), ReadError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, path, flags, Mode::empty()).map_err(|errno| failed(path, "open", errno))?;
    // A user who can write to a directory on the path can replace the next one. The components are checked after the
    // last one was opened: if all are root's, nobody else can have changed the path meanwhile.
    for part in path.ancestors().filter(|_| is_machines(path)) {
        // By descriptor: a filter that lets a program load a file need not allow lstat.
        let link = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let part_itself = openat(CWD, part, link, Mode::empty()).map_err(|errno| failed(part, "open", errno))?;
        let stat = fstat(&part_itself).map_err(|errno| failed(part, "stat", errno))?;
        let why = if is_directory(&stat) { distrust(&stat, true) } else { Some(Distrust::Kind) };
        if let Some(why) = why {
            return Err(ReadError::Distrusted { path: part.to_owned(), why });
        }
    }
    let stat = fstat(&directory).map_err(|errno| failed(path, "stat", errno))?;
    let why = if is_directory(&stat) { distrust(&stat, is_machines(path)) } else { Some(Distrust::Kind) };
    match why {
        Some(why) => Err(ReadError::Distrusted { path: memory::path(path), why }),
        None => Ok((directory, voucher(&stat))),
    }
}

/// Every program of every user searches the machine's own directory, unasked. Any other directory was named, in
/// WINDLASS_STORE or on the command line.
fn is_machines(directory: &Path) -> bool {
    directory == Path::new(SYSTEM_DIRECTORY)
}

/// The content of a file in a directory that may be believed, if the file may be believed too; and who vouches for it.
/// The name is computed only when needed: computing it takes longer than finding that there is no directory.
pub(super) fn read<'n>(directory: &Path, name: impl FnOnce() -> &'n str) -> Result<(Vec<u8>, Voucher), ReadError> {
    let (within, of_directory) = self::directory(directory)?;
    let name = name();
    let path = || memory::path_in(directory, name);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(&within, name, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP => ReadError::Distrusted { path: path(), why: Distrust::Kind },
        errno => failed(&path(), "open", errno),
    })?;
    let stat = fstat(&file).map_err(|errno| failed(&path(), "stat", errno))?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let why = match distrust(&stat, is_machines(directory)) {
        _ if !is_regular(&stat) => Some(Distrust::Kind),
        None if size > MAX_STORE => Some(Distrust::Size(size)),
        why => why,
    };
    if let Some(why) = why {
        return Err(ReadError::Distrusted { path: path(), why });
    }
    let bytes = contents(&file, size as usize).map_err(|errno| failed(&path(), "read", errno))?;
    Ok((bytes, of_directory.or(voucher(&stat))))
}

/// Whether this user's files may be used by the process now: its effective user may have changed.
pub(crate) fn is_vouched_for(voucher: Voucher) -> bool {
    voucher.is_none_or(|user| user == geteuid().as_raw())
}

fn voucher(stat: &Stat) -> Voucher {
    (stat.st_uid != 0).then_some(stat.st_uid)
}

/// Asks for one byte more than the expected size: this shows the end of the file without another call, and a file that
/// grew is then longer than it says.
fn contents(file: impl AsFd, size: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size + 1).map_err(|_| Errno::NOMEM)?;
    while bytes.len() <= size {
        match rustix::io::read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(bytes)
}

fn distrust(stat: &Stat, only_roots: bool) -> Option<Distrust> {
    let user = stat.st_uid;
    match user {
        0 => {}
        _ if only_roots => return Some(Distrust::NotRoots(user)),
        _ if user != geteuid().as_raw() || user == OVERFLOW_USER => return Some(Distrust::Owner(user)),
        _ => {}
    }
    (stat.st_mode & 0o022 != 0).then_some(Distrust::Mode(stat.st_mode))
}

fn failed(path: &Path, action: &'static str, errno: Errno) -> ReadError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => ReadError::Missing { path: memory::path(path) },
        errno => ReadError::Io { path: memory::path(path), action, error: errno.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The current user owns these files: creating another user's files takes privileges.
    #[test]
    fn who_and_what_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let mut stat = rustix::fs::stat(dir.path()).unwrap();
        let own = geteuid().as_raw();
        let mut check = |uid, mode| {
            (stat.st_uid, stat.st_mode) = (uid, 0o100_000 | mode);
            (distrust(&stat, false), distrust(&stat, true))
        };
        for uid in [0, own].into_iter().filter(|&uid| uid != OVERFLOW_USER) {
            let not_roots = (uid != 0).then_some(Distrust::NotRoots(uid));
            assert_eq!(check(uid, 0o755), (None, not_roots));
            assert_eq!(check(uid, 0o600), (None, not_roots));
            for mode in [0o664, 0o646, 0o777, 0o1002] {
                let others = Some(Distrust::Mode(0o100_000 | mode));
                assert_eq!(check(uid, mode), (others, not_roots.or(others)));
            }
        }
        for uid in [own + 1, own + 1000, OVERFLOW_USER, u32::MAX] {
            for mode in [0o000, 0o400, 0o755, 0o777] {
                assert_eq!(check(uid, mode), (Some(Distrust::Owner(uid)), Some(Distrust::NotRoots(uid))));
            }
        }
    }
}
