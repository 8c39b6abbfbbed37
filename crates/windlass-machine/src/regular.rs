//! Opening strangers' files: only regular files with bytes on a disk.
//!
//! A FIFO would block, opening a device can have side effects, and some files of /proc and similar file systems look
//! regular but block, or are consumed by reading (/proc/kmsg). A path can change between the check and the opening: the
//! descriptor that was checked is therefore the one that is opened.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};

/// `f_type` of file systems whose files are not bytes on a disk (statfs(2), magic.h): proc, sysfs, tracefs, debugfs,
/// securityfs, cgroup, cgroup2, bpf, efivarfs, configfs, selinuxfs.
const NO_DISK: [u32; 11] = [
    0x9fa0,
    0x6265_6572,
    0x7472_6163,
    0x6462_6720,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0xde5e_81e4,
    0x6265_6570,
    0xf97c_ff8c,
];
/// Files served by a user's program; or the whole machine, in containers on fuse-overlayfs.
const FUSE: u32 = 0x6573_5546;

/// Opens a regular file for reading, with links followed.
pub fn open(path: &Path) -> io::Result<File> {
    // O_PATH opens nothing yet.
    let found = File::from(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    let metadata = found.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "32 bits, of a type that differs")]
    let kind = fstatfs(&found)?.f_type as u32;
    let is_somebodys = || rustix::process::geteuid().is_root() && !is_on_root(&metadata);
    if NO_DISK.contains(&kind) || kind == FUSE && is_somebodys() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file of a disk"));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let again = PathBuf::from(format!("/proc/self/fd/{}", found.as_raw_fd()));
    Ok(File::from(openat(CWD, &again, flags, Mode::empty())?))
}

fn is_on_root(metadata: &Metadata) -> bool {
    std::fs::metadata("/").is_ok_and(|root| root.dev() == metadata.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_disk_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let (file, fifo, link) =
            (directory.path().join("a"), directory.path().join("fifo"), directory.path().join("link"));
        std::fs::write(&file, "a").unwrap();
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::from(0o600), 0).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(io::read_to_string(open(&link).unwrap()).unwrap(), "a");
        assert!(open(Path::new("/proc/self/exe")).is_ok(), "what it leads to is on a disk");
        for path in [
            fifo.as_path(),
            directory.path(),
            Path::new("/dev/null"),
            Path::new("/proc/self/maps"),
            Path::new("/proc/version"),
        ] {
            assert!(open(path).is_err(), "{}", path.display());
        }
    }
}
