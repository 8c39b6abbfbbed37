//! A directory that was opened once, and is used by its descriptor from then on. Others may own it and change it at any
//! moment: no link in it or on the way to it is followed, and what was moved is looked at again after the move.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};

use super::seen::{Held, Seen, again, bytes, reopen};

/// Names of one directory that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// An opened directory.
#[derive(Debug)]
pub struct Directory {
    /// Its descriptor.
    pub fd: OwnedFd,
    /// Its path, without links.
    pub path: PathBuf,
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

    /// What is there under a name, with the bytes of a file of at most `limit`; none if it is neither a regular file
    /// nor a link, or too large. An error if nothing is there.
    pub fn look(&self, name: &OsStr, limit: u64) -> io::Result<Option<(Seen, Vec<u8>)>> {
        Ok(self.hold(name, limit)?.map(|held| (held.seen, held.bytes)))
    }

    /// The same, and keeps a file open.
    pub fn hold(&self, name: &OsStr, limit: u64) -> io::Result<Option<Held>> {
        // With O_PATH nothing is opened yet, which could wait or have effects. What was looked at is what is read.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Held::of(&rustix::fs::openat(&self.fd, name, flags, Mode::empty())?, limit)
    }

    /// The bytes of the regular file of at most `limit` bytes that a name leads to, also through links.
    pub fn read_through(&self, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        let found = rustix::fs::openat(&self.fd, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        self.bytes_of(&found, limit)
    }

    /// The bytes of a regular file that a name in here led to.
    pub fn bytes_of(&self, found: &OwnedFd, limit: u64) -> Option<Vec<u8>> {
        let status = rustix::fs::fstat(found).ok()?;
        // A file of the file system that this directory is on is as good as the directory; others may be no bytes on a
        // disk.
        let is_here = self.inode().is_ok_and(|(device, _)| device == status.st_dev);
        let file = match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile if is_here => reopen(found),
            _ => windlass_machine::regular::open(&again(found)),
        };
        bytes(&file.ok()?, limit).ok()?
    }

    /// Whether a name is there, as whatever.
    pub fn has(&self, name: &OsStr) -> bool {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether a link leads to something.
    pub fn leads_somewhere(&self, name: &OsStr) -> bool {
        let status = rustix::fs::statat(&self.fd, name, AtFlags::empty());
        status.err().is_none_or(|errno| !is_nowhere(&errno.into()))
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

/// Whether an error says that a link leads nowhere. All that says nothing about its target (no permission, a network
/// that is away) counts as something.
pub fn is_nowhere(error: &io::Error) -> bool {
    let nowhere = [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP];
    rustix::io::Errno::from_io_error(error).is_some_and(|errno| nowhere.contains(&errno))
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
