//! The files of directories, by inode. Replaced files are remembered for a while, and then forgotten.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Device and inode.
pub type Inode = (u64, u64);

/// The files of all watched directories.
#[derive(Debug, Default)]
pub struct Entries {
    files: HashMap<Inode, Entry>,
    /// The last pass over each directory.
    passes: HashMap<Inode, Pass>,
    has_passed: bool,
}

/// The number of passes over a directory, and the source that it is.
#[derive(Clone, Copy, Debug)]
struct Pass {
    number: u64,
    source: usize,
}

#[derive(Debug)]
struct Entry {
    directory: Inode,
    /// The pass that saw the file last, and its time.
    pass: u64,
    at: Instant,
}

impl Entries {
    /// The source that this file belongs to.
    pub fn source(&self, file: Inode) -> Option<usize> {
        let entry = self.files.get(&file)?;
        self.passes.get(&entry.directory).map(|pass| pass.source)
    }

    /// Starts a pass over a directory.
    pub fn begin(&mut self, directory: Inode, source: usize) {
        let pass = self.passes.entry(directory).or_insert(Pass { number: 0, source });
        *pass = Pass { number: pass.number + 1, source };
        self.has_passed = true;
    }

    /// Records a file found in a directory. The first directory keeps the file while it exists: containers may share
    /// files with this process's root directory, and have directories of their own.
    pub fn add(&mut self, directory: Inode, file: Inode) {
        let pass = |directory: &Inode| self.passes.get(directory).map_or(0, |pass| pass.number);
        let new = Entry { directory, pass: pass(&directory), at: Instant::now() };
        let entry = self.files.entry(file).or_insert(new);
        let is_left = entry.directory != directory && entry.pass < pass(&entry.directory);
        if entry.directory == directory || is_left {
            *entry = Entry { directory, pass: pass(&directory), at: Instant::now() };
        }
    }

    /// Drops the files that the last two passes of their directory did not see, once that is long enough ago; and the
    /// files of directories that no longer exist.
    pub fn forget(&mut self, is_there: impl Fn(Inode) -> bool, kept: Duration) {
        let before = self.passes.len();
        self.passes.retain(|directory, _| is_there(*directory));
        if self.passes.len() == before && !std::mem::take(&mut self.has_passed) {
            return;
        }
        let passes = &self.passes;
        self.files.retain(|_, entry| {
            passes.get(&entry.directory).is_some_and(|pass| entry.pass + 1 >= pass.number || entry.at.elapsed() < kept)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Inode = (1, 1);
    const B: Inode = (1, 2);
    const FILE: Inode = (1, 3);

    #[test]
    fn what_is_gone_is_forgotten_after_two_passes() {
        let mut entries = Entries::default();
        entries.begin(A, 7);
        entries.add(A, FILE);
        for known in [true, true, false] {
            entries.forget(|_| true, Duration::ZERO);
            assert_eq!(entries.source(FILE).is_some(), known);
            entries.begin(A, 7);
        }
        assert!(entries.files.is_empty());
        entries.add(A, FILE);
        entries.forget(|_| false, Duration::MAX);
        assert!(entries.files.is_empty() && entries.passes.is_empty());
    }

    #[test]
    fn the_first_directory_keeps_it_while_it_is_there() {
        let mut entries = Entries::default();
        for (directory, source) in [(A, 7), (B, 8)] {
            entries.begin(directory, source);
            entries.add(directory, FILE);
        }
        assert_eq!(entries.source(FILE), Some(7));
        entries.begin(A, 7);
        entries.add(B, FILE);
        assert_eq!(entries.source(FILE), Some(8));
    }
}
