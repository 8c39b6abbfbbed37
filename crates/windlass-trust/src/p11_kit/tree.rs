//! The files of a place, listed and read in a stable state.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use windlass::file::{self as files, File};
use windlass::{Identity, LoadError, Unsupported};
use xxhash_rust::xxh3::Xxh3;

use super::listing::{Found, OLD_BLOCKLIST, directory, identity_of, list, look, readable};
use super::{Standing, file, persist};
use crate::{Sayings, certdata};

/// How often reading is tried while a place keeps changing.
const ATTEMPTS: usize = 5;

/// In bytes. Larger files are checked before they are read.
const LARGE: u64 = 1 << 20;

/// The state that must be unchanged for the content to count as unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeState {
    /// The place and the directories below it; None for one that does not exist.
    pub(super) directories: Vec<(PathBuf, Option<Identity>)>,
    /// Each file in reading order; None for one that can't be read.
    pub(super) files: Vec<(PathBuf, Standing, Option<Identity>)>,
}

/// The content of a place.
pub(crate) struct Tree {
    pub state: TreeState,
    /// Whether equality with the state will prove that nothing changed.
    pub believed: bool,
    /// The first error about a part that p11-kit may be able to read, or whose content is unknown.
    pub fault: Option<LoadError>,
    /// Whether that error, or one after it, may be temporary: this process is short of a resource, or a file was being
    /// written.
    pub is_passing: bool,
    /// The content of the files that could be read.
    contents: Vec<(PathBuf, Standing, Vec<u8>)>,
}

impl TreeState {
    /// Whether the other state has the same files in the same order.
    pub fn has_same_names(&self, other: &TreeState) -> bool {
        let names = |state: &TreeState| -> Vec<(PathBuf, Standing)> {
            state.files.iter().map(|(path, standing, _)| (path.clone(), *standing)).collect()
        };
        names(self) == names(other)
    }
}

impl Tree {
    /// Whether it is one file that may be a bundle of anchors. A PEM reader takes a .p11-kit file for a bundle with
    /// comments.
    pub fn may_be_a_bundle(&self) -> bool {
        match self.contents.as_slice() {
            [(_, _, bytes)] => self.is_one_file() && !persist::is_persist(bytes) && !certdata::is_certdata(bytes),
            _ => false,
        }
    }

    /// Covers everything that was read: the files, the meaning of their locations, and their bytes.
    pub fn checksum(&self) -> u128 {
        let mut hasher = Xxh3::new();
        for (path, standing, bytes) in &self.contents {
            for part in [path.as_os_str().as_bytes(), &[*standing as u8], bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.digest128()
    }

    /// The statements of the files, and the first part that is not read here and may remove trust.
    pub fn sayings(&self) -> (Sayings, Option<LoadError>) {
        let mut all = Sayings::default();
        let mut fault = self.fault.clone();
        for (path, standing, bytes) in &self.contents {
            let stapled = all.extensions.len();
            if self.is_one_file() && certdata::is_certdata(bytes) {
                certdata::read(bytes, &mut all);
            } else {
                file::read(bytes, *standing, &mut all);
            }
            if path.parent().is_some_and(|directory| Some(directory) == self.old_blocklist()) {
                // Nobody else reads it, and one of its extensions could allow more than the certificate's own.
                all.extensions.truncate(stapled);
            }
            if let Some(what) = all.end_file() {
                fault.get_or_insert(LoadError::Unsupported { path: path.clone(), what });
            }
        }
        // An extension stapled to the key of an unread certificate could remove trust that another source gives to it.
        if all.has_unread && !all.extensions.is_empty() {
            fault.get_or_insert(LoadError::Unsupported { path: self.path().to_owned(), what: Unsupported::Distrust });
        }
        (all, fault)
    }

    /// The directory `blacklist` of the place, if there is one. A file or a place of that name is not special.
    fn old_blocklist(&self) -> Option<&Path> {
        let below = self.state.directories.iter().skip(1).filter(|(_, identity)| identity.is_some());
        below.map(|(path, _)| path.as_path()).find(|path| path.ends_with(OLD_BLOCKLIST))
    }

    /// The place itself.
    fn path(&self) -> &Path {
        let directory = self.state.directories.first().map(|(path, _)| path);
        let path = directory.or_else(|| self.state.files.first().map(|(path, ..)| path));
        path.map_or(Path::new(""), PathBuf::as_path)
    }

    fn is_one_file(&self) -> bool {
        matches!(self.state.files.as_slice(), [(_, Standing::Anchor, _)]) && self.state.directories.is_empty()
    }
}

/// Whether nothing has changed: one `stat` for each directory and file, one `faccessat` for each file. The names in a
/// directory are unchanged as long as its own state is.
pub(crate) fn is_unchanged(state: &TreeState) -> bool {
    let is_same = |(path, identity): &(PathBuf, Option<Identity>)| match directory(path) {
        Ok(Found::Directory(now)) => *identity == Some(now),
        Ok(Found::Nothing) => identity.is_none(),
        Ok(Found::Other) | Err(_) => false,
    };
    state.directories.iter().all(is_same)
        && state.files.iter().all(|(path, _, identity)| look(path).is_ok_and(|now| now == *identity))
}

/// Reads a place, repeating the read until it was stable; if it never is, the last read counts: p11-kit does not check
/// at all.
pub(crate) fn read(path: &Path) -> Tree {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut tree = read_once(path);
        // A file that was read early may have changed while the others were read.
        let stood_still = tree.fault.is_none() && is_unchanged(&tree.state) && lists_the_same(path, &tree.state);
        if stood_still || tree.fault.is_some() || attempt == ATTEMPTS {
            tree.believed &= stood_still;
            return tree;
        }
    }
}

fn read_once(path: &Path) -> Tree {
    let now_ns = files::now_ns();
    let (state, faults) = list(path);
    let mut tree = Tree {
        state,
        believed: true,
        is_passing: faults.iter().any(is_passing),
        fault: faults.into_iter().next(),
        contents: Vec::new(),
    };
    for (path, identity) in &tree.state.directories {
        tree.believed &= identity.is_none_or(|identity| files::is_believed(path, &identity, now_ns));
    }
    for (path, standing, identity) in &mut tree.state.files {
        match read_file(path, now_ns) {
            Ok(Some(file)) => {
                *identity = Some(file.identity);
                tree.believed &= file.believed;
                tree.contents.push((path.clone(), *standing, file.bytes));
            }
            Ok(None) => {}
            Err(error) => {
                tree.is_passing |= is_passing(&error);
                tree.fault.get_or_insert(error);
            }
        }
    }
    tree
}

/// None for a file that is skipped.
fn read_file(path: &Path, now_ns: i128) -> Result<Option<File>, LoadError> {
    let Some(identity) = readable(files::observe(path)).or_else(|error| match error {
        // Checked below, and read after all if it does not begin with a NUL.
        LoadError::TooLarge { .. } => identity_of(path).map(Some),
        error => Err(error),
    })?
    else {
        return Ok(None);
    };
    // p11-kit can't map a file of size 0: kernel files (/proc) have this size, and no end that could be found. Also,
    // text ends at a NUL, and no certificate begins with one.
    if identity.size == 0 || identity.size > LARGE && begins_with_nul(path) {
        let believed = files::is_believed(path, &identity, now_ns);
        return Ok(Some(File { identity, believed, bytes: Vec::new() }));
    }
    readable(files::read(path))
}

/// Whether the directories still hold the same files.
fn lists_the_same(place: &Path, state: &TreeState) -> bool {
    let (now, faults) = list(place);
    faults.is_empty() && now.directories == state.directories && now.has_same_names(state)
}

/// Whether the cause is not the place but this process or the moment.
fn is_passing(fault: &LoadError) -> bool {
    let is_short = |errno: i32| [Errno::MFILE, Errno::NFILE, Errno::NOMEM].iter().any(|it| it.raw_os_error() == errno);
    match fault {
        LoadError::Io { errno, .. } => is_short(*errno),
        LoadError::Unsupported { what: Unsupported::OutOfMemory, .. } | LoadError::ChangedWhileReading { .. } => true,
        _ => false,
    }
}

/// Whether a file begins with a NUL.
fn begins_with_nul(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut first = [1];
    let read = rustix::fs::open(path, flags, Mode::empty()).and_then(|fd| rustix::io::read(&fd, &mut first));
    read == Ok(1) && first == [0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(place: &Path) -> Vec<(String, Vec<u8>)> {
        let tree = read(place);
        assert!(tree.fault.is_none() && is_unchanged(&tree.state));
        let name = |path: &PathBuf| path.strip_prefix(place).unwrap().to_str().unwrap().to_owned();
        tree.contents.iter().map(|(path, _, bytes)| (name(path), bytes.clone())).collect()
    }

    #[test]
    fn what_p11_kit_can_t_map_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("a"), "text").unwrap();
        std::fs::write(path("b"), "").unwrap();
        // Neither has a size; one can be read, the other can't.
        std::os::unix::fs::symlink("/proc/version", path("c")).unwrap();
        std::os::unix::fs::symlink("/proc/self/mem", path("d")).unwrap();
        let expected = [("a", "text"), ("b", ""), ("c", ""), ("d", "")];
        assert_eq!(contents(place.path()), expected.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
    }

    #[test]
    fn a_file_that_is_too_large_is_a_fault_unless_it_begins_with_nothing() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("blocklist")).unwrap();
        let large = place.path().join("blocklist/large");
        std::fs::File::create(&large).unwrap().set_len((1 << 30) + 1).unwrap();
        assert_eq!(contents(place.path()), [("blocklist/large".to_owned(), Vec::new())]);
        std::os::unix::fs::FileExt::write_at(&std::fs::File::options().write(true).open(&large).unwrap(), b"x", 0)
            .unwrap();
        std::fs::write(place.path().join("small"), "text").unwrap();
        let tree = read(place.path());
        assert_eq!(tree.fault.map(|error| error.label()), Some("too-large"));
        assert_eq!(tree.contents.len(), 1, "all else is read");
    }
}
