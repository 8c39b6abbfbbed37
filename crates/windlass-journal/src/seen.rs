//! What is seen of a file or a link, and how it is read without anything else being opened in its place.

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

/// A link's text (PATH_MAX).
const MAX_LINK: usize = 4096;

/// What was seen of a file or a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Of a link, where it points; none is a regular file. Names that are no UTF-8 are told in [`crate::bytes`].
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

/// A file or a link that was looked at.
#[derive(Debug)]
pub struct Held {
    /// What was seen.
    pub seen: Seen,
    /// The bytes of a file.
    pub bytes: Vec<u8>,
    /// The file that they came from.
    pub file: Option<File>,
}

impl Seen {
    /// Whether it is the same thing with the same content, wherever it is by now. That of a file is compared by
    /// `sha256`.
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

impl Held {
    /// What a descriptor that was opened with O_PATH stands for; none if it is neither a link nor a regular file of at
    /// most `limit` bytes.
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

/// The path by which this process reaches what a descriptor stands for.
pub fn again(found: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// Opens a regular file that was found with O_PATH.
pub fn reopen(found: &OwnedFd) -> io::Result<File> {
    // NOATIME, where it is allowed: looking should leave no trace.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = again(found);
    let opened = rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty());
    match opened.or_else(|_| rustix::fs::open(&path, flags, Mode::empty())) {
        // The file is there: it was found.
        Err(rustix::io::Errno::NOENT) => Err(io::Error::other("/proc is not mounted")),
        other => Ok(File::from(other?)),
    }
}

/// All bytes, if they are no more than `limit`.
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
