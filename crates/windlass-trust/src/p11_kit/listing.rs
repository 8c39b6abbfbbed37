//! Listing the files of a place, without opening them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use windlass::{Identity, LoadError, file};

use super::Standing;
use super::tree::TreeState;

/// The locations below the place, in p11-kit's reading order.
const PLACES: [(&str, Standing); 3] =
    [("anchors", Standing::Anchor), ("blocklist", Standing::Blocked), (OLD_BLOCKLIST, Standing::Blocked)];

/// Directories of this name are not read by p11-kit since 0.23.21.
pub(super) const OLD_BLOCKLIST: &str = "blacklist";

/// The existing files, not yet checked, and the errors of those that could not be listed.
pub(super) fn list(place: &Path) -> (TreeState, Vec<LoadError>) {
    let mut state = TreeState { directories: Vec::new(), files: Vec::new() };
    let mut faults = Vec::new();
    let mut or_nothing = |found: Result<Found, LoadError>| {
        found.unwrap_or_else(|error| {
            faults.push(error);
            Found::Nothing
        })
    };
    match or_nothing(directory(place)) {
        Found::Directory(identity) => {
            state.directories.push((place.to_owned(), Some(identity)));
            let below = PLACES.map(|(name, standing)| {
                let path = place.join(name);
                let found = or_nothing(directory(&path));
                (path, standing, found)
            });
            let mut add = |directory: &Path, standing: Standing| {
                files(directory)
                    .unwrap_or_else(|error| {
                        faults.push(error);
                        Vec::new()
                    })
                    .into_iter()
                    .map(move |path| (path, standing, None))
                    .collect::<Vec<_>>()
            };
            // p11-kit reads a file with one of these names in the same position as a directory of that name.
            for (path, standing, _) in add(place, Standing::AsSaid) {
                match below.iter().find(|(other, ..)| *other == path) {
                    Some((_, standing, Found::Other)) => state.files.push((path, *standing, None)),
                    Some(_) => {}
                    None => state.files.push((path, standing, None)),
                }
            }
            for (path, standing, found) in below {
                match found {
                    Found::Directory(identity) => {
                        state.files.extend(add(&path, standing));
                        state.directories.push((path, Some(identity)));
                    }
                    Found::Other => {}
                    Found::Nothing => state.directories.push((path, None)),
                }
            }
        }
        Found::Other => state.files.push((place.to_owned(), Standing::Anchor, None)),
        Found::Nothing => state.directories.push((place.to_owned(), None)),
    }
    (state, faults)
}

/// The kind of a path.
pub(super) enum Found {
    Directory(Identity),
    Other,
    Nothing,
}

pub(super) fn directory(path: &Path) -> Result<Found, LoadError> {
    match file::status(path) {
        Ok(status) if status.is_directory => Ok(Found::Directory(status.identity)),
        Ok(_) => Ok(Found::Other),
        Err(LoadError::Missing { .. }) => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

/// All entries of a directory, sorted by the bytes of their names.
fn files(directory: &Path) -> Result<Vec<PathBuf>, LoadError> {
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
    Ok(names.into_iter().map(|name| directory.join(OsString::from_vec(name))).collect())
}

/// The current state of a file. None if the file is skipped.
pub(super) fn look(path: &Path) -> Result<Option<Identity>, LoadError> {
    match readable(file::observe(path)) {
        Err(LoadError::TooLarge { .. }) => identity_of(path).map(Some),
        other => other,
    }
}

/// Skips a file that is missing, is not a file or can't be opened, as p11-kit does; this is part of the state. An error
/// is kept if this process has no descriptor or memory left, or if reading fails midway.
pub(super) fn readable<T>(result: Result<T, LoadError>) -> Result<Option<T>, LoadError> {
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

pub(super) fn identity_of(path: &Path) -> Result<Identity, LoadError> {
    file::status(path).map(|status| status.identity)
}

fn failed(path: &Path, action: &'static str, errno: Errno) -> LoadError {
    LoadError::from_errno(path, action, errno.raw_os_error())
}
