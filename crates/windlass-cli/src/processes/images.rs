//! What is known of executables and libraries, each read once.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::image::Image;
use crate::regular;
use crate::run::elf::Elf;

/// Device, inode, size, and times of modification and change in nanoseconds.
type Identity = (u64, u64, u64, i128, i128);

/// A file that was looked into.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What its bytes say.
    pub image: Image,
    /// What its headers say; `None` where it is no ELF file.
    pub elf: Option<Elf>,
}

/// Memory of files, by their state.
#[derive(Debug, Default)]
pub struct Images {
    known: HashMap<Identity, Known>,
}

impl Images {
    /// What a file holds. A file that can't be read holds nothing that is known.
    pub fn of(&mut self, file: &File) -> Known {
        let Some(identity) = file.metadata().ok().as_ref().map(identity) else { return Known::default() };
        if let Some(known) = self.known.get(&identity) {
            return known.clone();
        }
        // Through its descriptor the file can be opened again, with a position of its own.
        let again = descriptor(file);
        let image = File::open(&again).and_then(Image::read).unwrap_or_default();
        let known = Known { image, elf: Elf::read(&again).ok().flatten() };
        self.known.insert(identity, known.clone());
        known
    }
}

fn identity(metadata: &Metadata) -> Identity {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
    (metadata.dev(), metadata.ino(), metadata.size(), modified, changed)
}

fn descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Opens a regular file for reading, and nothing else ([`regular`]).
pub fn open_regular(path: &Path) -> Option<File> {
    regular::open(path).ok()
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode};

    use super::*;

    #[test]
    fn a_file_that_changed_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut images = Images::default();
        std::fs::write(&path, "/rustls-0.1.2/").unwrap();
        assert_eq!(images.of(&open_regular(&path).unwrap()).image.linked_in().len(), 1);
        std::fs::write(&path, "nothing of that").unwrap();
        assert_eq!(images.of(&open_regular(&path).unwrap()).image.linked_in().len(), 0);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::from(0o600), 0).unwrap();
        assert!(open_regular(&fifo).is_none());
        assert!(open_regular(Path::new("/dev/null")).is_none());
        assert!(open_regular(directory.path()).is_none());
        assert!(open_regular(Path::new("/proc/self/exe")).is_some());
    }
}
