//! A directory that is opened once and then used by its descriptor. Others may own it and change it at any moment: no
//! link in it or on the path to it is followed, and a moved file is checked again after the move.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use windlass_machine::Failure;

use super::failure;
use super::seen::{Held, Seen, again, bytes_of_at_most, reopen};
use super::trust;

/// The largest number of names read from one directory.
const MAX_ENTRIES: usize = 100_000;

const ON_THE_WAY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::PATH);
const READABLE: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An opened directory.
#[derive(Debug)]
pub struct Directory {
    /// The descriptor.
    pub fd: OwnedFd,
    /// The path, without links.
    pub path: PathBuf,
}

impl Directory {
    /// Opens a directory by a path without links: a link is an error.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let mut names = path.components().filter(|part| matches!(part, Component::Normal(_))).peekable();
        let flags = |is_last| if is_last { READABLE } else { ON_THE_WAY };
        let mut fd = rustix::fs::open("/", flags(names.peek().is_none()), Mode::empty())?;
        while let Some(name) = names.next() {
            fd = rustix::fs::openat(&fd, name.as_os_str(), flags(names.peek().is_none()), Mode::empty())?;
        }
        Ok(Directory { fd, path: path.to_owned() })
    }

    /// Opens a directory that this user or root owns and nobody else can write to. None if it does not exist.
    pub fn open_trusted(path: &Path) -> Result<Option<Directory>, Failure> {
        match Directory::open(path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            opened => opened.map_err(|error| failure("open the directory", path, &error))?.trusted().map(Some),
        }
    }

    /// The same for a subdirectory; anything other than a directory under that name is an error.
    pub fn enter_trusted(&self, name: &OsStr) -> Result<Option<Directory>, Failure> {
        let path = self.path.join(name);
        match self.enter(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if is_no_directory(&error) => Err(trust::refused(&path, trust::NO_FILE)),
            opened => opened.map_err(|error| failure("open the directory", &path, &error))?.trusted().map(Some),
        }
    }

    /// This directory, if this user or root owns it and nobody else can write to it.
    pub fn trusted(self) -> Result<Directory, Failure> {
        let (owner, mode) = self.owner().map_err(|error| failure("look at", &self.path, &error))?;
        trust::objection(owner, mode).map_or(Ok(()), |why| Err(trust::refused(&self.path, why)))?;
        Ok(self)
    }

    /// Opens a subdirectory.
    pub fn enter(&self, name: &OsStr) -> io::Result<Directory> {
        Ok(Directory { fd: rustix::fs::openat(&self.fd, name, READABLE, Mode::empty())?, path: self.path.join(name) })
    }

    /// The owner's user id and the permission bits.
    pub fn owner(&self) -> io::Result<(u32, u32)> {
        let status = rustix::fs::fstat(&self.fd)?;
        Ok((status.st_uid, status.st_mode & 0o7777))
    }

    /// The device and inode number.
    pub fn inode(&self) -> io::Result<(u64, u64)> {
        let status = rustix::fs::fstat(&self.fd)?;
        Ok((status.st_dev, status.st_ino))
    }

    /// Whether the other directory is on another file system.
    pub fn is_apart(&self, other: &Directory) -> bool {
        let (Ok(own), Ok(other)) = (self.inode(), other.inode()) else { return true };
        #[cfg(any(test, feature = "testing"))]
        if super::stop::APART.get() && own != other {
            return true;
        }
        own.0 != other.0
    }

    /// The names in the directory, sorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // Not `Dir::new`, which would share the descriptor's read position.
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

    /// The file or link under a name, with a file's content of at most `limit` bytes. None for anything else, and for
    /// larger files. An error if nothing is there.
    pub fn look(&self, name: &OsStr, limit: u64) -> io::Result<Option<(Seen, Vec<u8>)>> {
        Ok(self.hold(name, limit)?.map(|held| (held.seen, held.bytes)))
    }

    /// Like [`Directory::look`], and keeps the file open.
    pub fn hold(&self, name: &OsStr, limit: u64) -> io::Result<Option<Held>> {
        // O_PATH does not open the file yet, which could block or have side effects. The same descriptor is then read.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Held::of(&rustix::fs::openat(&self.fd, name, flags, Mode::empty())?, limit)
    }

    /// The content of the regular file, of at most `limit` bytes, that a name leads to, through links too.
    pub fn read_through(&self, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        let found = rustix::fs::openat(&self.fd, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        self.bytes_of(&found, limit)
    }

    /// The content of a regular file that a name in this directory led to.
    pub fn bytes_of(&self, found: &OwnedFd, limit: u64) -> Option<Vec<u8>> {
        let status = rustix::fs::fstat(found).ok()?;
        // A file on the file system of this directory is as safe to read as the directory; files on others may not be
        // plain bytes on a disk.
        let is_here = self.inode().is_ok_and(|(device, _)| device == status.st_dev);
        let file = match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile if is_here => reopen(found),
            _ => windlass_machine::regular::open(&again(found)),
        };
        bytes_of_at_most(&file.ok()?, limit).ok()?
    }

    /// The file type of a name; None if it does not exist.
    pub fn kind(&self, name: &OsStr) -> Option<FileType> {
        let status = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        status.ok().map(|status| FileType::from_raw_mode(status.st_mode))
    }

    /// Whether a name exists, with any file type.
    pub fn has(&self, name: &OsStr) -> bool {
        self.kind(name).is_some()
    }

    /// Whether a link has a target that exists.
    pub fn leads_somewhere(&self, name: &OsStr) -> bool {
        let status = rustix::fs::statat(&self.fd, name, AtFlags::empty());
        status.err().is_none_or(|errno| !is_nowhere(&errno.into()))
    }
}

/// Whether an error proves that a link's target does not exist. Errors that prove nothing about the target (no
/// permission, a network that is down) count as an existing target.
pub fn is_nowhere(error: &io::Error) -> bool {
    let nowhere = [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP];
    rustix::io::Errno::from_io_error(error).is_some_and(|errno| nowhere.contains(&errno))
}

/// Whether an error says that a directory is missing, or that a file or a link is in its place.
pub fn is_no_directory(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_others_can_change_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("state");
        assert!(Directory::open_trusted(&path).unwrap().is_none());
        fs::create_dir(&path).unwrap();
        let opened = Directory::open_trusted(&path).unwrap().unwrap();
        let lock = || opened.open_own(OsStr::new("file"));
        assert!(lock().is_ok() && lock().is_ok());
        fs::set_permissions(path.join("file"), fs::Permissions::from_mode(0o620)).unwrap();
        assert!(lock().unwrap_err().to_string().contains("not believed"));
        fs::remove_file(path.join("file")).unwrap();
        symlink("/etc/passwd", path.join("file")).unwrap();
        assert!(lock().unwrap_err().to_string().contains("not believed"));
        symlink(path.with_file_name("created"), path.join("new")).unwrap();
        assert!(opened.open_own(OsStr::new("new")).is_err() && !path.with_file_name("created").exists());
        let link = path.with_file_name("link");
        symlink(&path, &link).unwrap();
        assert!(Directory::open_trusted(&link).unwrap().is_none(), "a link is not followed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
        assert!(Directory::open_trusted(&path).is_err());
    }
}
