//! What may be believed: what belongs to root or to this user, and what others can't write to. A record says where
//! files are put, and by whom they are owned there: whose record it is decides whose word that is. What somebody else
//! can change is never named where root's programs look.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use windlass_machine::{Failure, FailureKind};

/// Links on one way, as in the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// What is said of a link and the like, where a file or directory of ours is expected.
pub const NO_FILE: &str = "it is a link, or no file or directory of ours: what is in it is not believed";

/// Why it is not, if so, from the owner and the permission bits.
pub fn objection(owner: u32, mode: u32) -> Option<&'static str> {
    let is_foreign = !is_ours(owner);
    (is_foreign || mode & 0o022 != 0)
        .then_some("it belongs to another user, or others can write to it: what is in it is not believed")
}

/// The error that says so.
pub fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(FailureKind::Other, path.display().to_string(), why)
        .advise("nothing was changed; look at who made it, and run this as that user, or remove it")
}

fn is_ours(owner: u32) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&owner)
}

/// A path without links and `..`. A link that belongs to somebody else than root or this user is not followed: in /tmp,
/// anybody could lead us to anything. What is not there yet stays as it is.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    let mut left = names(path);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = left.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        // Looked at and read by one descriptor: nobody can put another link there in between.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match rustix::fs::open(&next, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) if !left.iter().any(|name| name == "..") => {
                real = next;
                real.extend(left);
                return Ok(real);
            }
            other => other?,
        };
        let status = rustix::fs::fstat(&found)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::Symlink {
            real = next;
            continue;
        }
        if !is_ours(status.st_uid) {
            return Err(io::Error::other(format!("{} is a link that belongs to another user", next.display())));
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let target = PathBuf::from(OsString::from_vec(rustix::fs::readlinkat(&found, "", Vec::new())?.into_bytes()));
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        names(&target).into_iter().rev().for_each(|name| left.push_front(name));
    }
    Ok(real)
}

fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).collect()
}

/// The first part of a path that somebody besides these users can change; what is not there (yet) is left out. A sticky
/// bit is no excuse: in such a directory anybody can put the first file of a name.
pub fn changeable_by_others(path: &Path, owners: &[u32]) -> Option<PathBuf> {
    let mut parts: Vec<_> = path.ancestors().collect();
    parts.reverse();
    let is_safe = |metadata: fs::Metadata| {
        owners.contains(&metadata.uid()) && (metadata.is_symlink() || metadata.mode() & 0o022 == 0)
    };
    let changeable = parts.into_iter().find(|part| match fs::symlink_metadata(part) {
        Ok(metadata) => !is_safe(metadata),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    });
    changeable.map(Path::to_owned)
}

/// Whether it is the name of something in a directory, and leads to no other.
pub fn is_name(name: &OsStr) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}

/// Whether it is a path from the root, with no way back in it.
pub fn is_plain(directory: &Path) -> bool {
    directory.is_absolute()
        && directory.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_safe_if_each_part_of_it_is() {
        assert_eq!(changeable_by_others(Path::new("/usr/bin"), &[0]), None);
        assert_eq!(changeable_by_others(Path::new("/usr/bin/nothing-of-this-name"), &[0]), None);
        assert_eq!(changeable_by_others(Path::new("/usr/bin"), &[4321]), Some("/".into()));
        assert_eq!(changeable_by_others(Path::new("/tmp/x"), &[0]), Some("/tmp".into()));
    }

    #[test]
    fn links_of_ours_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        symlink("a", place.join("relative")).unwrap();
        symlink(place.join("relative/b"), place.join("absolute")).unwrap();
        symlink("loop", place.join("loop")).unwrap();
        for path in ["relative/b", "absolute", "absolute/../b", "./a//b/"] {
            assert_eq!(real(&place.join(path)).unwrap(), place.join("a/b"), "{path}");
        }
        assert_eq!(real(&place.join("relative/new/one")).unwrap(), place.join("a/new/one"));
        assert!(real(&place.join("loop")).is_err() && real(&place.join("gone/../a")).is_err());
        assert_eq!(real(Path::new("/")).unwrap(), Path::new("/"));
    }

    #[test]
    fn a_link_of_somebody_else_is_not() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        fs::create_dir(place.join("a")).unwrap();
        symlink("a", place.join("link")).unwrap();
        std::os::unix::fs::lchown(place.join("link"), Some(65534), None).unwrap();
        let error = real(&place.join("link")).unwrap_err().to_string();
        assert!(error.ends_with("/link is a link that belongs to another user"), "{error}");
    }

    #[test]
    fn names_and_paths_that_lead_elsewhere() {
        for name in ["", ".", "..", "/", "a/b", "/a", "a/", "a/.", "./a", "../a"] {
            assert!(!is_name(OsStr::new(name)), "{name}");
        }
        assert!(is_name(OsStr::new("a")) && is_name(OsStr::new("..a")));
        for path in ["", "a", "/a/../b", "/.."] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
        assert!(is_plain(Path::new("/a/b")));
    }
}
