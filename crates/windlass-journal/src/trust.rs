//! The files that may be believed: root's and this user's, if others can't write to them. A record says where files are
//! put and who owns them there: the owner of the record decides how far to believe it. A file that somebody else can
//! change is never named in places that root's programs read.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use windlass_machine::Failure;

/// Links followed in one path, as in the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The objection to a link or similar where one of Windlass's files or directories is expected.
pub const NO_FILE: &str = "it is a link, or no file or directory of ours: what is in it is not believed";

/// The reason not to believe a file, from its owner and permission bits. None if there is none.
pub fn objection(owner: u32, mode: u32) -> Option<&'static str> {
    let is_foreign = !is_ours(owner);
    (is_foreign || mode & 0o022 != 0)
        .then_some("it belongs to another user, or others can write to it: what is in it is not believed")
}

/// The error for a path that is not believed.
pub fn refused(path: &Path, why: &str) -> Failure {
    Failure::other(path.display().to_string(), why)
        .advise("nothing was changed; look at who made it, and run this as that user, or remove it")
}

fn is_ours(owner: u32) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&owner)
}

/// The path without links and `..`. A link that belongs to anybody other than root or this user is not followed: in
/// /tmp, anybody could redirect us. Missing parts are kept as they are.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    let mut left = names(path);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = left.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        // Stat and read through one descriptor: nobody can replace the link in between.
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

/// The first part of a path that somebody other than these users can change; missing parts are skipped. A sticky bit
/// does not help: in a sticky directory anybody can create a new file.
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

/// Whether this is a plain file name, with no path in it.
pub fn is_name(name: &OsStr) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}

/// Whether this is an absolute path without `..`.
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
