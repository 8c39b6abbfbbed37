//! The files of a place, found and read while they stood still.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::{Standing, file, persist};
use crate::error::LoadError;
use crate::identity::{Identity, is_directory};
use crate::source::system::{System, may_be_an_image};
use crate::source::{cafile, certdata, failed};
use crate::trust::Sayings;

/// How often a place may change under the reader.
const ATTEMPTS: usize = 5;

/// Below the place itself, in the order in which p11-kit reads them.
const PLACES: [(&str, Standing); 3] =
    [("anchors", Standing::Anchor), ("blocklist", Standing::Blocked), ("blacklist", Standing::Blocked)];

/// What must be unchanged for what was read to be believed unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeState {
    /// The place and the directories below it; None if there is none.
    directories: Vec<(PathBuf, Option<Identity>)>,
    /// Each file in reading order; None if it can't be read.
    files: Vec<(PathBuf, Standing, Option<Identity>)>,
}

/// What was read.
pub(crate) struct Tree {
    pub state: TreeState,
    /// Whether equality with the state will mean that nothing changed.
    pub believed: bool,
    /// The bytes of the files that could be read.
    contents: Vec<(PathBuf, Standing, Vec<u8>)>,
}

impl TreeState {
    /// Whether these are the same files in the same order.
    pub fn has_same_names(&self, other: &TreeState) -> bool {
        let names = |state: &TreeState| -> Vec<(PathBuf, Standing)> {
            state.files.iter().map(|(path, standing, _)| (path.clone(), *standing)).collect()
        };
        names(self) == names(other)
    }
}

impl Tree {
    /// Whether it is one file that may be a bundle of anchors. To a PEM reader a .p11-kit file is one with comments.
    pub fn may_be_a_bundle(&self) -> bool {
        match self.contents.as_slice() {
            [(_, _, bytes)] => self.is_one_file() && !persist::is_persist(bytes) && !certdata::is_certdata(bytes),
            _ => false,
        }
    }

    /// Of all bytes that were read.
    pub fn checksum(&self) -> u128 {
        let mut hasher = Xxh3::new();
        for (_, _, bytes) in &self.contents {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        hasher.digest128()
    }

    /// What the files say.
    pub fn sayings(&self) -> Result<Sayings, LoadError> {
        let mut all = Sayings::default();
        for (path, standing, bytes) in &self.contents {
            let unsupported = |what| LoadError::Unsupported { path: path.clone(), what };
            if self.is_one_file() && certdata::is_certdata(bytes) {
                certdata::read(bytes, &mut all).map_err(unsupported)?;
            } else {
                file::read(bytes, *standing, &mut all).map_err(unsupported)?;
            }
        }
        Ok(all)
    }

    fn is_one_file(&self) -> bool {
        matches!(self.state.files.as_slice(), [(_, Standing::Anchor, _)]) && self.state.directories.is_empty()
    }
}

/// Whether everything is as it was: one `stat` for each directory and file, one `faccessat` for each file. The names in a
/// directory are the same as long as its own state is.
pub(crate) fn is_unchanged(state: &TreeState) -> Result<bool, LoadError> {
    for (path, identity) in &state.directories {
        let now = match directory(path)? {
            Found::Directory(now) => Some(now),
            Found::Nothing => None,
            Found::Other => return Ok(false),
        };
        if now != *identity {
            return Ok(false);
        }
    }
    for (path, _, identity) in &state.files {
        if readable(cafile::observe(path))? != *identity {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks at the place without opening a file.
fn observe(path: &Path) -> Result<TreeState, LoadError> {
    let mut state = list(path)?;
    for (path, _, identity) in &mut state.files {
        *identity = readable(cafile::observe(path))?;
    }
    Ok(state)
}

pub(crate) fn read(path: &Path, system: &dyn System) -> Result<Tree, LoadError> {
    for _ in 0..ATTEMPTS {
        let now_ns = system.real_ns();
        let mut state = list(path)?;
        let mut believed = true;
        for (path, identity) in &state.directories {
            believed &= identity.is_none_or(|identity| !identity.is_racy(now_ns));
            believed &= keeps_timestamps(path, *identity, system);
        }
        let mut contents = Vec::new();
        for (path, standing, identity) in &mut state.files {
            let Some(file) = readable(cafile::read(path, system))? else { continue };
            *identity = Some(file.identity);
            believed &= file.believed;
            contents.push((path.clone(), *standing, file.bytes));
        }
        // A file that was read early may have changed while the others were read.
        if observe(path)? == state {
            return Ok(Tree { state, believed, contents });
        }
    }
    Err(LoadError::ChangedWhileReading { path: path.to_owned() })
}

/// The files that there are, with no look at them yet.
fn list(place: &Path) -> Result<TreeState, LoadError> {
    let mut state = TreeState { directories: Vec::new(), files: Vec::new() };
    match directory(place)? {
        Found::Directory(identity) => {
            state.directories.push((place.to_owned(), Some(identity)));
            let is_place = |path: &Path| PLACES.iter().any(|(name, _)| path.ends_with(name));
            let own = files(place, Standing::AsSaid)?.into_iter();
            state.files.extend(own.filter(|(path, ..)| !is_place(path)));
            for (name, standing) in PLACES {
                let path = place.join(name);
                match directory(&path)? {
                    Found::Directory(identity) => {
                        state.files.extend(files(&path, standing)?);
                        state.directories.push((path, Some(identity)));
                    }
                    // p11-kit reads a file of this name as it reads a directory of one.
                    Found::Other => state.files.push((path, standing, None)),
                    Found::Nothing => state.directories.push((path, None)),
                }
            }
        }
        Found::Other => state.files.push((place.to_owned(), Standing::Anchor, None)),
        Found::Nothing => state.directories.push((place.to_owned(), None)),
    }
    Ok(state)
}

enum Found {
    Directory(Identity),
    Other,
    Nothing,
}

fn directory(path: &Path) -> Result<Found, LoadError> {
    match rustix::fs::stat(path) {
        Ok(stat) if is_directory(&stat) => Ok(Found::Directory(Identity::of(&stat))),
        Ok(_) => Ok(Found::Other),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(Found::Nothing),
        Err(errno) => Err(failed(path, "stat", errno)),
    }
}

/// All entries of a directory that are no directories themselves, in the order of their names' bytes.
fn files(directory: &Path, standing: Standing) -> Result<Vec<(PathBuf, Standing, Option<Identity>)>, LoadError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let fd = match rustix::fs::open(directory, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::ACCESS) => return Ok(Vec::new()),
        Err(errno) => return Err(failed(directory, "open", errno)),
    };
    let mut names = Vec::new();
    for entry in Dir::new(fd).map_err(|errno| failed(directory, "read", errno))? {
        let entry = entry.map_err(|errno| failed(directory, "read", errno))?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    let paths = names.into_iter().map(|name| directory.join(OsString::from_vec(name)));
    Ok(paths.map(|path| (path, standing, None)).collect())
}

/// A file that is not there, not a file or not for us to read is passed over; that it is so is part of the state.
fn readable<T>(result: Result<T, LoadError>) -> Result<Option<T>, LoadError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(LoadError::Missing { .. } | LoadError::NotAFile { .. }) => Ok(None),
        Err(LoadError::Io { errno, .. })
            if errno == Errno::ACCESS.raw_os_error() || errno == Errno::LOOP.raw_os_error() =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn keeps_timestamps(path: &Path, identity: Option<Identity>, system: &dyn System) -> bool {
    let Some(identity) = identity else { return true };
    rustix::fs::statfs(path).is_ok_and(|statfs| {
        system.keeps_timestamps(statfs.f_type as u64) && !(identity.has_whole_seconds() && may_be_an_image(&statfs))
    })
}

/// Whether `text` occurs in `bytes`.
pub(super) fn contains(bytes: &[u8], text: &[u8]) -> bool {
    memmem::find(bytes, text).is_some()
}
