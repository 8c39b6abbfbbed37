//! The files of a place, found and read while they stood still.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::{Standing, file, persist};
use crate::error::{LoadError, Unsupported};
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
            all.end_file();
        }
        // What is stapled to the key of one of those could take away trust that another source gives it.
        match all.has_unread && !all.extensions.is_empty() {
            true => Err(LoadError::Unsupported { path: self.path().to_owned(), what: Unsupported::Distrust }),
            false => Ok(all),
        }
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
        if look(path)? != *identity {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks at the place without opening a file.
fn observe(path: &Path) -> Result<TreeState, LoadError> {
    let mut state = list(path)?;
    for (path, _, identity) in &mut state.files {
        *identity = look(path)?;
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
            let bytes = match readable(cafile::observe(path)) {
                // p11-kit can't map what has no size. Files of the kernel (/proc) have none, and no end for us to find.
                Ok(Some(empty)) if empty.size == 0 => {
                    *identity = Some(empty);
                    believed &= !empty.is_racy(now_ns) && keeps_timestamps(path, *identity, system);
                    Vec::new()
                }
                Ok(Some(_)) => {
                    let Some(file) = readable(cafile::read(path, system))? else { continue };
                    *identity = Some(file.identity);
                    believed &= file.believed;
                    file.bytes
                }
                Ok(None) => continue,
                // Text ends at a NUL, and no certificate begins with one: nothing is there, as long as it is so.
                Err(LoadError::TooLarge { .. }) if begins_with_nul(path) => {
                    believed = false;
                    continue;
                }
                Err(error) => return Err(error),
            };
            contents.push((path.clone(), *standing, bytes));
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

/// A file as it is now. None if it is passed over; one that is too large is, if it is not an error to begin with.
fn look(path: &Path) -> Result<Option<Identity>, LoadError> {
    match readable(cafile::observe(path)) {
        Err(LoadError::TooLarge { .. }) => Ok(None),
        other => other,
    }
}

/// A file that is not there, not a file or that can't be opened is passed over, as by p11-kit; that it is so is part of the
/// state. Not one that can't be opened because this process has no descriptor or memory left, or that can't be read further.
fn readable<T>(result: Result<T, LoadError>) -> Result<Option<T>, LoadError> {
    const NOT_TO_BE_OPENED: [Errno; 6] =
        [Errno::ACCESS, Errno::PERM, Errno::LOOP, Errno::NXIO, Errno::NODEV, Errno::STALE];
    let is = |errno: i32, wanted: &Errno| errno == wanted.raw_os_error();
    match result {
        Ok(value) => Ok(Some(value)),
        Err(LoadError::Missing { .. } | LoadError::NotAFile { .. }) => Ok(None),
        Err(LoadError::Io { errno, .. }) if NOT_TO_BE_OPENED.iter().any(|passed| is(errno, passed)) => Ok(None),
        Err(LoadError::Io { action: "stat" | "open", errno, .. }) if is(errno, &Errno::IO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a file has a NUL at its very beginning.
fn begins_with_nul(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut first = [1];
    let read = rustix::fs::open(path, flags, Mode::empty()).and_then(|fd| rustix::io::read(&fd, &mut first));
    read == Ok(1) && first == [0]
}

fn keeps_timestamps(path: &Path, identity: Option<Identity>, system: &dyn System) -> bool {
    let Some(identity) = identity else { return true };
    rustix::fs::statfs(path).is_ok_and(|statfs| {
        system.keeps_timestamps(statfs.f_type as u64) && !(identity.has_whole_seconds() && may_be_an_image(&statfs))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::system::Real;

    fn contents(place: &Path) -> Vec<(String, Vec<u8>)> {
        let tree = read(place, &Real).unwrap();
        assert!(is_unchanged(&tree.state).unwrap());
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
    fn a_file_that_is_too_large_is_an_error_unless_it_begins_with_nothing() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("blocklist")).unwrap();
        let large = place.path().join("blocklist/large");
        std::fs::File::create(&large).unwrap().set_len((1 << 30) + 1).unwrap();
        assert_eq!(contents(place.path()), []);
        std::os::unix::fs::FileExt::write_at(&std::fs::File::options().write(true).open(&large).unwrap(), b"x", 0)
            .unwrap();
        let error = read(place.path(), &Real).err();
        assert_eq!(error.map(|error| error.label()), Some("too-large"));
    }
}
