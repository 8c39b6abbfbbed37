//! The identity of a file: what must be unchanged for its content to be believed unchanged.

use rustix::fs::{FileType, Stat};

use crate::source::system::{FileSystem, System};

/// The state of a file as the operating system tells it, of the file that a path resolves to in the end.
///
/// User space can set every part but `ctime_ns`, which a change of content, owner, mode or link count sets to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device.
    pub dev: u64,
    /// Number of the file on its device.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Last change of content or metadata, nanoseconds since 1970.
    pub ctime_ns: i128,
}

/// How young a timestamp may be before the content can change again without changing it: coarse clocks tick every
/// 1 to 10 ms, this is ample.
const RACY_NS: i128 = 100_000_000;
/// The same for file systems that keep whole seconds (or two).
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

    /// Whether a change right after `now` could leave this identity as it is (git's "racy" problem). A timestamp in
    /// the future says nothing, so it is racy too.
    pub(crate) fn is_racy(&self, now_ns: i128) -> bool {
        let whole_seconds = self.has_whole_seconds() && self.mtime_ns % 1_000_000_000 == 0;
        let window = if whole_seconds { RACY_SECONDS_NS } else { RACY_NS };
        now_ns - self.mtime_ns.max(self.ctime_ns) < window
    }

    /// Whether nothing on this file system changes without its identity, as long as it is asked for by path.
    pub(crate) fn outlives(&self, file_system: FileSystem, system: &dyn System) -> bool {
        system.keeps_timestamps(file_system.kind) && !(self.has_whole_seconds() && file_system.may_be_an_image)
    }

    /// Whether the change time has no fraction: either the file system keeps none, or whoever built its image wrote it
    /// (ext4 with SOURCE_DATE_EPOCH, composefs, …). The next image may have the same times, the same inode and other
    /// content, so this identity holds no longer than the file system stays mounted.
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
