//! The identity of a file: the fields that must be unchanged for its content to count as unchanged.

use rustix::fs::{FileType, Stat};

use crate::source::system::{FileSystem, System};

/// The state of a file as the operating system reports it, after following all links of the path.
///
/// User space can set every field except `ctime_ns`, which a change of content, owner, mode or link count sets to the
/// current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device number.
    pub dev: u64,
    /// Inode number on the device.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Time of the last change of content or metadata, in nanoseconds since 1970.
    pub ctime_ns: i128,
}

/// While a timestamp is younger than this, the content can change again without changing the timestamp. Coarse clocks
/// tick every 1 to 10 ms, which leaves ample margin.
const RACY_NS: i128 = 100_000_000;
/// The same limit for file systems that keep whole seconds (or two).
const RACY_SECONDS_NS: i128 = 2_000_000_000;

impl Identity {
    pub(crate) fn of(stat: &Stat) -> Identity {
        let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Identity {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether a change right after `now` could leave this identity unchanged (git's "racy" problem). A timestamp in
    /// the future proves nothing, and therefore counts as racy too.
    pub(crate) fn is_racy(&self, now_ns: i128) -> bool {
        let whole_seconds = self.has_whole_seconds() && self.mtime_ns % 1_000_000_000 == 0;
        let window = if whole_seconds { RACY_SECONDS_NS } else { RACY_NS };
        now_ns - self.mtime_ns.max(self.ctime_ns) < window
    }

    /// Whether every change on this file system changes the identity, as long as the identity is looked up by path.
    pub(crate) fn outlives(&self, file_system: FileSystem, system: &dyn System) -> bool {
        system.keeps_timestamps(file_system.kind) && !(self.has_whole_seconds() && file_system.may_be_an_image)
    }

    /// Whether the change time has no fraction: either the file system keeps none, or the builder of its image wrote it
    /// (ext4 with SOURCE_DATE_EPOCH, composefs, …). The next image may have the same times and the same inode with
    /// other content, and therefore this identity is valid only while the file system stays mounted.
    pub(crate) fn has_whole_seconds(&self) -> bool {
        self.ctime_ns % 1_000_000_000 == 0
    }
}

pub(crate) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(crate) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
