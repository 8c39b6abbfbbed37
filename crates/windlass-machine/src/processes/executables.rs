//! The content of executables and libraries, each read only once.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::Seek;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::budget::Budget;
use super::tls_code::TlsCode;
use crate::loader::elf::Elf;
use crate::regular;

/// Device, inode, size, and times of modification and change in nanoseconds.
type Identity = (u64, u64, u64, i128, i128);

/// The number of files remembered. A user who runs new programs all the time causes repeated reads.
const REMEMBERED: usize = 4096;
/// If less than an eighth of a file is on the disk, the rest are holes: no compiler leaves so many, and no file system
/// compresses a program so well. Files below this size may lie in the inode itself.
const SMALL: u64 = 1 << 20;
const HOLES: u64 = 8;
/// A larger file that did not fit into the budget is not tried again.
const LARGE: u64 = 256 << 20;

/// The facts about a file.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The TLS code found in its bytes.
    pub code: TlsCode,
    /// Its headers; `None` if it is not an ELF file.
    pub elf: Option<Elf>,
    /// It was not read to its end: there may be more in it.
    pub is_cut: bool,
}

/// Remembers the facts about files, by their state.
#[derive(Debug, Default)]
pub struct Executables {
    known: HashMap<Identity, Known>,
    budget: Budget,
}

impl Executables {
    /// With a budget other than the usual one.
    pub fn with(budget: Budget) -> Executables {
        Executables { known: HashMap::new(), budget }
    }

    /// Starts a new budget.
    pub fn refill(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Whether the budget is used up: from then on, only remembered facts are returned.
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// The facts about a file. Nothing is known about a file that can't be read.
    pub fn of(&mut self, file: &File) -> Known {
        let Ok(metadata) = file.metadata() else { return Known::default() };
        let identity = identity(&metadata);
        if let Some(known) = self.known.get(&identity) {
            return known.clone();
        }
        let unread = Known { is_cut: true, ..Known::default() };
        if self.is_spent() {
            return unread;
        }
        // Through its descriptor, the file can be opened again with a position of its own.
        let Ok(again) = regular::open(&descriptor(file)) else { return Known::default() };
        let elf = Elf::of(&again);
        let has_holes = metadata.size() > SMALL && metadata.blocks().saturating_mul(512) < metadata.size() / HOLES;
        // Reading the headers has moved the position.
        let code = match has_holes || (&again).rewind().is_err() {
            true => None,
            false => TlsCode::read(&again, &mut self.budget).unwrap_or_default(),
        };
        let is_cut = code.is_none();
        let known = Known { code: code.unwrap_or_default(), elf, is_cut };
        // A file that was cut because others had used up the budget is tried again.
        if !is_cut || has_holes || metadata.size() > LARGE {
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            self.known.insert(identity, known.clone());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_budget_does_not_reach_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut executables = Executables::with(Budget::of_bytes(0));
        std::fs::write(&path, "/rustls-0.1.2/").unwrap();
        assert!(executables.of(&regular::open(&path).unwrap()).is_cut);
        executables.refill(Budget::default());
        assert!(!executables.of(&regular::open(&path).unwrap()).is_cut);
        // A terabyte of holes behind it.
        File::options().append(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(executables.of(&regular::open(&path).unwrap()).is_cut);
    }

    #[test]
    fn a_file_that_changed_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut executables = Executables::default();
        std::fs::write(&path, "/rustls-0.1.2/").unwrap();
        assert_eq!(executables.of(&regular::open(&path).unwrap()).code.linked_in().len(), 1);
        std::fs::write(&path, "nothing of that").unwrap();
        assert_eq!(executables.of(&regular::open(&path).unwrap()).code.linked_in().len(), 0);
    }
}
