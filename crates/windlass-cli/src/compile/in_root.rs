//! Paths below another root directory, as `compile --root` has them: the links of an image that is being built are meant
//! for its inside, and may lead nowhere, or worse, to the building machine's own files.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as Linux follows (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The root directory that paths are meant for; `None` is this machine's own.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a>(pub Option<&'a Path>);

impl Root<'_> {
    /// The path by which this process reaches what `path` means inside. What does not exist is no error: it can be
    /// created there.
    pub fn reach(self, path: &Path) -> io::Result<PathBuf> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        Ok(root.join(follow(root, path)?))
    }

    /// What `path` is a link to, as a path inside. `None` if it is no link.
    pub fn target(self, path: &Path) -> Option<PathBuf> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        let link = std::fs::read_link(self.reach(parent).ok()?.join(name)).ok()?;
        let plain = !link.components().any(|component| component == Component::ParentDir);
        if link.is_absolute() && plain {
            return Some(link);
        }
        // `..` is relative to where the link really lies.
        let target = self.real(parent)?.join(link);
        Some(self.real(target.parent()?)?.join(target.file_name()?))
    }

    /// `path` without links, as a path inside.
    fn real(self, path: &Path) -> Option<PathBuf> {
        match self.0 {
            Some(root) => Some(Path::new("/").join(follow(root, path).ok()?)),
            None => path.canonicalize().ok(),
        }
    }
}

/// Follows every link of `path` as a process does whose root directory is `root`: the result is relative to it.
fn follow(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut followed = PathBuf::new();
    let mut rest: Vec<Step> = steps(path);
    let mut links = 0;
    while let Some(step) = rest.pop() {
        let name = match step {
            Step::Up => {
                followed.pop();
                continue;
            }
            Step::Into(name) => name,
        };
        followed.push(&name);
        let Ok(link) = std::fs::read_link(root.join(&followed)) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        if link.is_absolute() {
            followed.clear();
        } else {
            followed.pop();
        }
        rest.extend(steps(&link));
    }
    Ok(followed)
}

enum Step {
    Up,
    Into(OsString),
}

/// The components of a path, the last one first.
fn steps(path: &Path) -> Vec<Step> {
    let step = |component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn image() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("etc/ssl/certs")).unwrap();
        std::fs::create_dir_all(root.join("usr/lib/ssl")).unwrap();
        std::fs::write(root.join("etc/ssl/certs/all.crt"), "").unwrap();
        symlink("/etc/ssl/certs/all.crt", root.join("usr/lib/ssl/cert.pem")).unwrap();
        symlink("/etc/ssl/certs", root.join("usr/lib/ssl/certs")).unwrap();
        symlink("../../../../../../etc/ssl/certs/all.crt", root.join("usr/lib/ssl/up.pem")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        directory
    }

    #[test]
    fn links_stay_inside() {
        let directory = image();
        let root = Root(Some(directory.path()));
        let inside = |path: &str| directory.path().join(path);
        for path in
            ["/usr/lib/ssl/cert.pem", "/usr/lib/ssl/certs/all.crt", "/usr/lib/ssl/up.pem", "/../etc/ssl/certs/all.crt"]
        {
            assert_eq!(root.reach(Path::new(path)).unwrap(), inside("etc/ssl/certs/all.crt"), "{path}");
        }
        // What does not exist yet, behind a link.
        assert_eq!(root.reach(Path::new("/usr/lib/ssl/certs/new/one")).unwrap(), inside("etc/ssl/certs/new/one"));
        assert!(root.reach(Path::new("/loop")).is_err());
    }

    #[test]
    fn a_target_is_told_as_programs_name_it() {
        let directory = image();
        let root = Root(Some(directory.path()));
        let target = |path: &str| root.target(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(target("/usr/lib/ssl/cert.pem").as_deref(), Some("/etc/ssl/certs/all.crt"));
        assert_eq!(target("/usr/lib/ssl/certs").as_deref(), Some("/etc/ssl/certs"));
        assert_eq!(target("/usr/lib/ssl/up.pem").as_deref(), Some("/etc/ssl/certs/all.crt"));
        assert_eq!(target("/etc/ssl/certs/all.crt"), None);
        assert_eq!(target("/no/such"), None);
    }

    #[test]
    fn without_another_root_paths_are_as_they_are() {
        let directory = image();
        let lib = directory.path().canonicalize().unwrap().join("usr/lib/ssl");
        symlink("cert.pem", lib.join("second.pem")).unwrap();
        assert_eq!(Root(None).reach(&lib.join("cert.pem")).unwrap(), lib.join("cert.pem"));
        assert_eq!(Root(None).target(&lib.join("cert.pem")).unwrap(), Path::new("/etc/ssl/certs/all.crt"));
        assert_eq!(Root(None).target(&lib.join("second.pem")).unwrap(), lib.join("cert.pem"));
    }
}
