//! The clocks and file systems that a load depends on, behind a trait that tests can replace.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Instant, SystemTime};

use rustix::fs::StatFs;
use rustix::io::Errno;

pub(crate) trait System: Send + Sync {
    /// The clock that file timestamps are taken from, nanoseconds since 1970.
    fn real_ns(&self) -> i128;

    /// The clock that ages are measured with.
    fn monotonic(&self) -> Instant;

    /// Whether a file system of this type (`f_type` of fstatfs) updates a file's ctime on each change.
    fn keeps_timestamps(&self, file_system: u64) -> bool;

    /// The file system of an open file on this device.
    fn file_system(&self, file: BorrowedFd<'_>, _device: u64) -> Result<FileSystem, Errno> {
        rustix::fs::fstatfs(file).map(|statfs| FileSystem::of(&statfs))
    }

    /// Whether this process may have put itself behind a system call filter: if so, only the system calls that every
    /// load of a file makes are allowed.
    fn is_guest(&self) -> bool {
        false
    }

    /// A file was opened and is about to be read.
    fn opened(&self, _path: &Path) {}
}

/// The real system.
pub(crate) struct Real;

impl System for Real {
    fn real_ns(&self) -> i128 {
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        }
    }

    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    fn keeps_timestamps(&self, file_system: u64) -> bool {
        LOCAL_FILE_SYSTEMS.contains(&file_system)
    }
}

/// The properties of a file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSystem {
    /// `f_type` of fstatfs.
    pub kind: u64,
    /// See [`is_image`].
    pub may_be_an_image: bool,
}

impl FileSystem {
    /// An unknown file system.
    const UNKNOWN: FileSystem = FileSystem { kind: 0, may_be_an_image: true };

    pub fn of(statfs: &StatFs) -> FileSystem {
        let (kind, flags) = (statfs.f_type as u64, statfs.f_flags as u64);
        FileSystem { kind, may_be_an_image: is_image(kind, flags) }
    }
}

/// File systems that were recorded beforehand, by device. Files on any other are read and compared on each use.
#[derive(Clone, Copy, Debug)]
pub struct FileSystems {
    known: [Option<(u64, FileSystem)>; FileSystems::MOST],
}

impl FileSystems {
    const MOST: usize = 8;

    /// An empty list.
    pub const fn none() -> FileSystems {
        FileSystems { known: [None; FileSystems::MOST] }
    }

    /// Records the file system of a device. If it is new, `statfs` returns its type and flags (`f_type` and `f_flags`
    /// of statfs).
    pub fn note(&mut self, device: u64, statfs: impl FnOnce() -> Option<(u64, u64)>) {
        if self.of(device).is_some() {
            return;
        }
        let free = self.known.iter_mut().find(|known| known.is_none());
        if let Some((free, (kind, flags))) = free.zip(statfs()) {
            *free = Some((device, FileSystem { kind, may_be_an_image: is_image(kind, flags) }));
        }
    }

    fn of(&self, device: u64) -> Option<FileSystem> {
        self.known.iter().flatten().find(|(known, _)| *known == device).map(|(_, file_system)| *file_system)
    }
}

/// The real system, with file systems that were recorded beforehand. For a process that may not be allowed to call
/// fstatfs.
pub(crate) struct Guest(pub &'static FileSystems);

impl System for Guest {
    fn real_ns(&self) -> i128 {
        Real.real_ns()
    }

    fn monotonic(&self) -> Instant {
        Real.monotonic()
    }

    fn keeps_timestamps(&self, file_system: u64) -> bool {
        Real.keeps_timestamps(file_system)
    }

    fn file_system(&self, _file: BorrowedFd<'_>, device: u64) -> Result<FileSystem, Errno> {
        Ok(self.0.of(device).unwrap_or(FileSystem::UNKNOWN))
    }

    fn is_guest(&self) -> bool {
        true
    }
}

/// Whether a file system may be, or may hide, an image that can be replaced while this process runs: an overlay, or any
/// file system that can't be written to.
fn is_image(kind: u64, flags: u64) -> bool {
    const ST_RDONLY: u64 = 1;
    kind == OVERLAY || flags & ST_RDONLY != 0
}

const OVERLAY: u64 = 0x794C_7630;

/// Local file systems of the kernel. On all others (NFS, SMB, 9p, FUSE, …) another machine or program may change a file
/// or keep its timestamps, and attributes may be cached. The times on read-only images (squashfs, erofs, …) are those
/// that their builder wrote. Numbers: linux/magic.h, and the headers of ZFS and bcachefs.
const LOCAL_FILE_SYSTEMS: [u64; 13] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683E, // btrfs
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    OVERLAY,
    0xF2F5_2010, // f2fs
    0x2FC1_2FC1, // zfs
    0xCA45_1A4E, // bcachefs
    0x5265_4973, // reiserfs
    0x3153_464A, // jfs
    0x3434,      // nilfs2
    0x2405_1905, // ubifs
];
