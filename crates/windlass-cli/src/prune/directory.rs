//! A directory that was opened once, and is used by its descriptor from then on. Others may own it and change it at any moment: no link
//! in it or on the way to it is followed, and what was moved is looked at again after the move.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::anchors::name::hex;

/// Names of one directory that are looked at.
const MAX_ENTRIES: usize = 100_000;
/// A link's text (PATH_MAX).
const MAX_LINK: usize = 4096;

/// An opened directory.
#[derive(Debug)]
pub struct Directory {
    /// Its descriptor.
    pub fd: OwnedFd,
    /// Its path, without links.
    pub path: PathBuf,
}

/// What was seen of a file or a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Of a link, where it points; none is a regular file. Names that are no UTF-8 are told in [`crate::prune::bytes`].
    #[serde(with = "super::bytes::optional")]
    pub target: Option<OsString>,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: i64,
    /// Last change of the bytes: seconds since 1970, and nanoseconds.
    pub mtime: (i64, i64),
    /// Last use.
    pub atime: (i64, i64),
    /// Last change of the inode. Renaming changes it.
    #[serde(skip)]
    pub ctime: (i64, i64),
    /// Device and inode number. They are not recorded: a file system may give others when it is mounted anew.
    #[serde(skip)]
    pub inode: (u64, u64),
    /// Of the bytes of a file.
    pub sha256: Option<String>,
}

impl Seen {
    /// Whether it is the same thing with the same content, wherever it is by now. That of a file is compared by `sha256`.
    pub fn is_same(&self, other: &Seen) -> bool {
        (&self.target, self.size, self.mtime, &self.sha256) == (&other.target, other.size, other.mtime, &other.sha256)
    }

    /// Whether nothing at all has happened to it.
    pub fn is_untouched(&self, now: &Seen) -> bool {
        self.is_same(now)
            && (self.ctime, self.inode, self.mode, self.uid, self.gid)
                == (now.ctime, now.inode, now.mode, now.uid, now.gid)
    }
}

impl Directory {
    /// Opens a directory by a path without links: none is followed.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let on_the_way = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
        let readable = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let mut names = path.components().filter(|part| matches!(part, Component::Normal(_))).peekable();
        let flags = |is_last| if is_last { readable } else { on_the_way };
        let mut fd = rustix::fs::open("/", flags(names.peek().is_none()), Mode::empty())?;
        while let Some(name) = names.next() {
            fd = rustix::fs::openat(&fd, name.as_os_str(), flags(names.peek().is_none()), Mode::empty())?;
        }
        Ok(Directory { fd, path: path.to_owned() })
    }

    /// Who owns it, and its permission bits.
    pub fn owner(&self) -> io::Result<(u32, u32)> {
        let status = rustix::fs::fstat(&self.fd)?;
        Ok((status.st_uid, status.st_mode & 0o7777))
    }

    /// Its device and inode number.
    pub fn inode(&self) -> io::Result<(u64, u64)> {
        let status = rustix::fs::fstat(&self.fd)?;
        Ok((status.st_dev, status.st_ino))
    }

    /// Whether the other is on another file system.
    pub fn is_apart(&self, other: &Directory) -> bool {
        let (Ok(own), Ok(other)) = (self.inode(), other.inode()) else { return true };
        #[cfg(test)]
        if APART.get() && own != other {
            return true;
        }
        own.0 != other.0
    }

    /// The names in it, sorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // Not `Dir::new`: the descriptor's place in the directory would be shared.
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                if names.len() == MAX_ENTRIES {
                    return Err(io::Error::other(format!("it has more than {MAX_ENTRIES} entries")));
                }
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        names.sort();
        Ok(names)
    }

    /// What is there under a name, with the bytes of a file of at most `limit`; none if it is neither a regular file nor a link, or
    /// too large. An error if nothing is there.
    pub fn look(&self, name: &OsStr, limit: u64) -> io::Result<Option<(Seen, Vec<u8>)>> {
        let status = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes();
                let fits = target.len() <= MAX_LINK;
                Ok(fits.then(|| (seen(&status, Some(OsString::from_vec(target)), None), Vec::new())))
            }
            FileType::RegularFile => self.look_into(name, limit),
            _ => Ok(None),
        }
    }

    fn look_into(&self, name: &OsStr, limit: u64) -> io::Result<Option<(Seen, Vec<u8>)>> {
        // NOATIME, where it is allowed: looking should leave no trace.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags | OFlags::NOATIME, Mode::empty())
            .or_else(|_| rustix::fs::openat(&self.fd, name, flags, Mode::empty()))?;
        let status = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::from(fd).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(None);
        }
        Ok(Some((seen(&status, None, Some(hex(&Sha256::digest(&bytes)))), bytes)))
    }

    /// The bytes of the regular file of at most `limit` bytes that a name leads to, also through links.
    pub fn read_through(&self, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // Before it is opened: to open a device can have effects of its own.
        let is_file = |status: Stat| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        rustix::fs::statat(&self.fd, name, AtFlags::empty()).ok().filter(|status| is_file(*status))?;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).ok()?;
        rustix::fs::fstat(&fd).ok().filter(|status| is_file(*status))?;
        let mut bytes = Vec::new();
        File::from(fd).take(limit + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// Whether a name is there, as whatever.
    pub fn has(&self, name: &OsStr) -> bool {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether a link leads to something.
    pub fn leads_somewhere(&self, name: &OsStr) -> bool {
        // All that says nothing about the target (no permission, a network that is away) counts as something.
        let nowhere = [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP];
        rustix::fs::statat(&self.fd, name, AtFlags::empty()).err().is_none_or(|errno| !nowhere.contains(&errno))
    }

    /// Moves a name into another directory of the same file system, where the new name must be free.
    pub fn rename(&self, name: &OsStr, to: &Directory, new: &OsStr) -> io::Result<()> {
        change()?;
        #[cfg(test)]
        if self.is_apart(to) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE) {
            // NFS and others know no flags.
            Err(rustix::io::Errno::INVAL) => self.link_and_remove(name, to, new),
            other => Ok(other?),
        }
    }

    /// The same in two steps: for a moment it has both names.
    fn link_and_remove(&self, name: &OsStr, to: &Directory, new: &OsStr) -> io::Result<()> {
        rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty())?;
        self.remove(name)
    }

    /// Swaps two names at once.
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)?)
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Makes a directory in it that only its owner can use, and opens it.
    pub fn make(&self, name: &OsStr) -> io::Result<Directory> {
        change()?;
        rustix::fs::mkdirat(&self.fd, name, Mode::RWXU)?;
        self.enter(name)
    }

    /// Opens a directory in it.
    pub fn enter(&self, name: &OsStr) -> io::Result<Directory> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        Ok(Directory { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())?, path: self.path.join(name) })
    }

    /// Removes an empty directory in it.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes a file that was not there, for its owner alone.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        change()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Gives a file the place of another at once.
    pub fn replace(&self, name: &OsStr, by: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::renameat(&self.fd, by, &self.fd, name)?)
    }

    /// Makes sure that changes outlive a power failure.
    pub fn synchronise(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

/// Comes before each change. In tests it can stop there, as if the process had been killed.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests stop here")]
fn change() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// Changes that are still made in this thread; none: all.
    pub static LEFT: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
    /// Any two directories are on different file systems.
    pub static APART: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
fn change() -> io::Result<()> {
    LEFT.with(|left| match left.get() {
        Some(0) => Err(io::Error::other("stopped by the test")),
        some => {
            left.set(some.map(|some| some - 1));
            Ok(())
        }
    })
}

fn seen(status: &Stat, target: Option<OsString>, sha256: Option<String>) -> Seen {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between machines")]
    Seen {
        target,
        mode: status.st_mode & 0o7777,
        uid: status.st_uid,
        gid: status.st_gid,
        size: status.st_size as i64,
        mtime: (status.st_mtime as i64, status.st_mtime_nsec as i64),
        atime: (status.st_atime as i64, status.st_atime_nsec as i64),
        ctime: (status.st_ctime as i64, status.st_ctime_nsec as i64),
        inode: (status.st_dev as u64, status.st_ino as u64),
        sha256,
    }
}

/// A name for people.
pub fn shown(name: &OsStr) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_names_can_only_be_linked_nothing_is_overwritten_either() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(&place.path().canonicalize().unwrap()).unwrap();
        let name = OsStr::new;
        for file in ["a", "taken"] {
            std::fs::write(place.path().join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
        assert!(directory.link_and_remove(name("a"), &directory, name("taken")).is_err());
        directory.link_and_remove(name("a"), &directory, name("b")).unwrap();
        directory.link_and_remove(name("link"), &directory, name("c")).unwrap();
        assert_eq!(directory.names().unwrap(), ["b", "c", "taken"]);
        assert_eq!(
            std::fs::read_link(place.path().join("c")).unwrap(),
            Path::new("a"),
            "the link, not what it leads to"
        );
    }
}
