//! The observed state of a file or a link, and reading it without opening something else that took its place.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use windlass_machine::anchors::name::hex;

/// The longest link text, in bytes (PATH_MAX).
const MAX_LINK: usize = 4096;

/// The observed state of a file or a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The target of a link; None for a regular file. [`crate::bytes`] describes names that are not UTF-8.
    #[serde(with = "super::bytes::optional")]
    pub target: Option<OsString>,
    /// Permission bits.
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Size in bytes.
    pub size: i64,
    /// Last change of the content: seconds since 1970, and nanoseconds.
    pub mtime: (i64, i64),
    /// Last access, in the same form.
    pub atime: (i64, i64),
    /// Last change of the inode, in the same form. Renaming changes it.
    #[serde(skip)]
    pub ctime: (i64, i64),
    /// Device and inode number. They are not recorded: a file system may assign others at the next mount.
    #[serde(skip)]
    pub inode: (u64, u64),
    /// SHA-256 of the content in hexadecimal; None for a link.
    pub sha256: Option<String>,
}

/// A file or a link, with its observed state.
#[derive(Debug)]
pub struct Held {
    /// The observed state.
    pub seen: Seen,
    /// The content of a file.
    pub bytes: Vec<u8>,
    /// The open file that the content was read from; None for a link.
    pub file: Option<File>,
}

impl Seen {
    /// Whether it is the same file or link with the same content, wherever it is now. Content of files is compared by
    /// `sha256`.
    pub fn is_same(&self, other: &Seen) -> bool {
        (&self.target, self.size, self.mtime, &self.sha256) == (&other.target, other.size, other.mtime, &other.sha256)
    }

    /// Whether nothing at all has changed.
    pub fn is_untouched(&self, now: &Seen) -> bool {
        self.is_same(now)
            && (self.ctime, self.inode, self.mode, self.uid, self.gid)
                == (now.ctime, now.inode, now.mode, now.uid, now.gid)
    }
}

impl Held {
    /// The state of the file behind a descriptor that was opened with O_PATH; None if it is neither a link nor a
    /// regular file of at most `limit` bytes.
    pub fn of(found: &OwnedFd, limit: u64) -> io::Result<Option<Held>> {
        let status = rustix::fs::fstat(found)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(found, "", Vec::new())?.into_bytes();
                let fits = target.len() <= MAX_LINK;
                let seen = seen(&status, Some(OsString::from_vec(target)), None);
                Ok(fits.then(|| Held { seen, bytes: Vec::new(), file: None }))
            }
            FileType::RegularFile => {
                let file = reopen(found)?;
                let Some(bytes) = bytes_of_at_most(&file, limit)? else { return Ok(None) };
                let seen = seen(&status, None, Some(hex(&Sha256::digest(&bytes))));
                Ok(Some(Held { seen, bytes, file: Some(file) }))
            }
            _ => Ok(None),
        }
    }
}

/// A path by which this process can open the file behind a descriptor.
pub fn again(found: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// Opens a regular file that was found with O_PATH.
pub fn reopen(found: &OwnedFd) -> io::Result<File> {
    // NOATIME where it is allowed: looking should leave no trace.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = again(found);
    let opened = rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty());
    match opened.or_else(|_| rustix::fs::open(&path, flags, Mode::empty())) {
        // The file exists, because it was found before.
        Err(rustix::io::Errno::NOENT) => Err(io::Error::other("/proc is not mounted")),
        other => Ok(File::from(other?)),
    }
}

/// The whole content, if it is at most `limit` bytes.
pub fn bytes_of_at_most(file: &File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() > limit {
        return Ok(None);
    }
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
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
