//! Where the directory of a run may lie: only where nobody else can create, replace or take over a name.
//!
//! A program can outlive windlass and still know the names of the files. In a place like `/tmp`, another user could
//! then create them again, and decide which certificates that program trusts.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Followed by the user's id: a directory that permanently belongs to that user.
const OF_USER: &str = "windlass-";
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Calls `make` with the best place: `TMPDIR` if it is set; otherwise `/run` for root, and `XDG_RUNTIME_DIR` for
/// others, who have no child processes of other users; otherwise `/tmp`.
pub fn with<T>(make: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable("TMPDIR") {
        return make(&in_temporary(&named)?);
    }
    let first = match geteuid().is_root() {
        true => guarded(Path::new("/run")),
        false => variable("XDG_RUNTIME_DIR").map_or(Err(io::ErrorKind::NotFound.into()), |path| own(&path)),
    };
    // The first place may be read-only, or full.
    first.and_then(|first| make(&first)).or_else(|_| make(&in_temporary(Path::new("/tmp"))?))
}

/// A directory for temporary files itself, if nobody else can write there; otherwise this user's own directory in it.
fn in_temporary(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let (path, metadata) = checked(&path).map_err(|error| named(&path, error))?;
    if metadata.mode() & OTHERS_MAY_WRITE == 0 { Ok(path) } else { of_user(&path) }
}

/// A directory owned by the user with mode 0700, as the specification of XDG base directories requires.
fn own(path: &Path) -> io::Result<PathBuf> {
    let (path, metadata) = checked(path)?;
    match metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o777 == 0o700 {
        true => Ok(path),
        false => Err(others_could_change(&path)),
    }
}

fn guarded(path: &Path) -> io::Result<PathBuf> {
    let (path, metadata) = checked(path)?;
    if metadata.mode() & OTHERS_MAY_WRITE == 0 { Ok(path) } else { Err(others_could_change(&path)) }
}

/// It is never removed: while it exists, the name belongs to this user. Others can pass through it to files whose names
/// they know, but can't list them.
fn of_user(parent: &Path) -> io::Result<PathBuf> {
    let user = geteuid().as_raw();
    let path = parent.join(format!("{OF_USER}{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        // Independent of the umask: programs may change their user.
        Ok(()) => fs::set_permissions(&path, Permissions::from_mode(0o711))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(named(&path, error)),
    }
    let metadata = path.symlink_metadata().map_err(|error| named(&path, error))?;
    if metadata.is_dir() && metadata.uid() == user && metadata.mode() & OTHERS_MAY_WRITE == 0 {
        return Ok(path);
    }
    Err(others_could_change(&path))
}

/// The real path of the directory, if in it and above it only root and this user can replace their own files.
fn checked(path: &Path) -> io::Result<(PathBuf, fs::Metadata)> {
    let path = path.canonicalize()?;
    let metadata = path.metadata()?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    for place in path.ancestors() {
        let metadata = place.metadata()?;
        let owner_is_believed = metadata.uid() == 0 || metadata.uid() == geteuid().as_raw();
        let is_guarded = metadata.mode() & OTHERS_MAY_WRITE == 0 || metadata.mode() & STICKY != 0;
        if !owner_is_believed || !is_guarded {
            return Err(others_could_change(place));
        }
    }
    Ok((path, metadata))
}

fn others_could_change(path: &Path) -> io::Error {
    let path = String::from_utf8_lossy(path.as_os_str().as_bytes());
    let why = format!(
        "others could change what is in {path} (it is another user's or no directory, or others may write to it \
         and it is not sticky)"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn named(path: &Path, error: io::Error) -> io::Error {
    if error.get_ref().is_some() {
        return error;
    }
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &Path, mode: u32) {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_everybody_can_change_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        for (mode, good) in [(0o777, false), (0o1777, true), (0o755, true), (0o775, false)] {
            directory(parent.path(), mode);
            assert_eq!(in_temporary(parent.path()).is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn so_is_one_below_such_a_directory_by_whatever_name() {
        let parent = tempfile::tempdir().unwrap();
        let (open, link) = (parent.path().join("open"), parent.path().join("link"));
        directory(&open.join("private"), 0o700);
        std::os::unix::fs::symlink(open.join("private"), &link).unwrap();
        assert!(in_temporary(&link).is_ok());
        directory(&open, 0o777);
        for path in [open.join("private"), link] {
            let error = in_temporary(&path).unwrap_err().to_string();
            assert!(error.contains("open (it is another"), "{error}");
        }
    }

    #[test]
    fn where_others_may_write_the_user_has_a_directory_that_stays() {
        let parent = tempfile::tempdir().unwrap();
        directory(parent.path(), 0o1777);
        let place = in_temporary(parent.path()).unwrap();
        assert_eq!(place.parent(), Some(parent.path().canonicalize().unwrap().as_path()));
        assert_eq!(place.metadata().unwrap().mode() & 0o7777, 0o711);
        assert_eq!(in_temporary(parent.path()).unwrap(), place);
        directory(&place, 0o733);
        assert!(in_temporary(parent.path()).is_err(), "others may make names there");
        fs::remove_dir(&place).unwrap();
        directory(&parent.path().join("elsewhere"), 0o711);
        std::os::unix::fs::symlink("elsewhere", &place).unwrap();
        assert!(in_temporary(parent.path()).is_err(), "a link");
    }

    #[test]
    fn a_runtime_directory_is_the_users_alone() {
        let parent = tempfile::tempdir().unwrap();
        for (mode, good) in [(0o700, true), (0o755, false), (0o1777, false)] {
            directory(parent.path(), mode);
            assert_eq!(own(parent.path()).is_ok(), good, "{mode:o}");
        }
    }
}
