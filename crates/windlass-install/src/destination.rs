//! The place of an installation: this machine, a directory that becomes an image, or one user's home.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use windlass_machine::Failure;

pub use windlass::compiled::Last;
use windlass::compiled::Root;

/// A root directory with the paths of an installation below it. Paths are recorded, shown and written into files as
/// they are *in* the root; only [`Destination::real`] turns one into a path that this process can open.
#[derive(Clone, Debug)]
pub struct Destination {
    /// `/`, or the directory of an image.
    root: PathBuf,
    /// The user's home directory; None for the machine and for images.
    home: Option<PathBuf>,
    /// The directory of the record, in the root.
    pub state: PathBuf,
}

impl Destination {
    /// The machine (`None`) or an image.
    pub fn system(root: Option<&Path>) -> Result<Destination, Failure> {
        let root = match root {
            None => PathBuf::from("/"),
            Some(root) => root
                .canonicalize()
                .and_then(|real| if real.is_dir() { Ok(real) } else { Err(rustix::io::Errno::NOTDIR.into()) })
                .map_err(|error| {
                    Failure::other(format!("root directory {}", root.display()), error)
                        .advise("--root names the directory that becomes the root of an image")
                })?,
        };
        Ok(Destination { root, home: None, state: PathBuf::from("/var/lib/windlass") })
    }

    /// One user's home, on this machine.
    pub fn user(home: &Home) -> Destination {
        Destination { root: PathBuf::from("/"), home: Some(home.path.clone()), state: home.state.join("windlass") }
    }

    /// The home directory; None for the machine and for images.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether this is the running machine, with its processes and services.
    pub fn is_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path at which this process reaches `path` in the root. Links on the path are followed as they will be once
    /// the root is a root directory, never out of it; `last` says whether a link at the very end is followed too.
    /// Missing parts are taken literally.
    pub fn real(&self, path: &Path, last: Last) -> Result<PathBuf, Failure> {
        Root(Some(&self.root)).reach(path, last).map_err(|error| Failure::other(path.display().to_string(), error))
    }

    /// A path in the root, for display. For an image, the path outside the image is shown too, lest it be mistaken for
    /// one of the machine.
    pub fn shown(&self, path: &Path) -> String {
        if self.is_machine() || !path.is_absolute() {
            return path.display().to_string();
        }
        let here =
            self.real(path, Last::Itself).unwrap_or_else(|_| self.root.join(path.strip_prefix("/").unwrap_or(path)));
        format!("{} (here: {})", path.display(), here.display())
    }

    /// Adds to an error of an installation in an image how its paths are to be read.
    pub fn told(&self, failure: Failure) -> Failure {
        if self.is_machine() {
            return failure;
        }
        let root = self.root.display();
        failure.advise(format!(
            "this is about the image {root}: paths that begin with this directory are as seen from this machine, all \
             others as seen inside the image"
        ))
    }

    /// The path in the root of a file that this process opens at `real`.
    pub fn inside(&self, real: &Path) -> PathBuf {
        real.strip_prefix(&self.root).map_or_else(|_| real.to_owned(), |path| Path::new("/").join(path))
    }

    /// Whether `path` exists, with links followed.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.real(path.as_ref(), Last::Followed).is_ok_and(|real| real.exists())
    }

    /// Whether `path` is a directory, with links followed.
    pub fn is_directory(&self, path: impl AsRef<Path>) -> bool {
        self.real(path.as_ref(), Last::Followed).is_ok_and(|real| real.is_dir())
    }
}

/// A user's directories.
#[derive(Clone, Debug)]
pub struct Home {
    /// The home directory.
    pub path: PathBuf,
    /// For configuration: `$XDG_CONFIG_HOME`.
    pub config: PathBuf,
    /// For data that must last: `$XDG_STATE_HOME`, if that is below the home directory.
    pub state: PathBuf,
}

impl Home {
    /// The directories of the current user; None if HOME is not this user's own: sudo(8) and su(1) may leave another
    /// user's directory in HOME.
    pub fn of_this_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<Home> {
        let is_own = |home: &Home| {
            let owner = std::fs::metadata(&home.path).map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
            owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
        };
        Home::from_environment(variable).filter(is_own)
    }

    /// From HOME and the variables of the XDG Base Directory Specification, which requires relative paths to be
    /// ignored. The record stays below HOME, which is known to be this user's.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Home> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let path = absolute("HOME")?;
        let is_below =
            |state: &PathBuf| state.starts_with(&path) && !state.components().any(|part| part == Component::ParentDir);
        Some(Home {
            state: absolute("XDG_STATE_HOME").filter(is_below).unwrap_or_else(|| path.join(".local/state")),
            config: absolute("XDG_CONFIG_HOME").unwrap_or_else(|| path.join(".config")),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_inside_the_root() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("/real", root.join("absolute")).unwrap();
        symlink("../../../../real/deep", root.join("real/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let destination = Destination::system(Some(&root)).unwrap();
        let real = |path: &str, last| destination.real(Path::new(path), last);
        assert_eq!(real("/absolute/x", Last::Followed).unwrap(), root.join("real/x"));
        assert_eq!(real("/real/up/x", Last::Followed).unwrap(), root.join("real/deep/x"));
        assert_eq!(real("/../../etc/x", Last::Followed).unwrap(), root.join("etc/x"));
        assert_eq!(real("/absolute", Last::Itself).unwrap(), root.join("absolute"));
        assert_eq!(real("/absolute", Last::Followed).unwrap(), root.join("real"));
        assert!(real("/loop/x", Last::Followed).unwrap_err().to_string().contains("symbolic links"));
    }

    #[test]
    fn relative_variables_are_ignored() {
        let home = Home::from_environment(|name| match name {
            "HOME" => Some("/home/a".into()),
            "XDG_STATE_HOME" => Some("state".into()),
            "XDG_CONFIG_HOME" => Some("/elsewhere".into()),
            _ => None,
        });
        let home = home.unwrap();
        assert_eq!(home.state, Path::new("/home/a/.local/state"));
        assert_eq!(home.config, Path::new("/elsewhere"));
        assert!(Home::from_environment(|_| None).is_none());
        for (state, kept) in [
            ("/home/a/.state", "/home/a/.state"),
            ("/var/x", "/home/a/.local/state"),
            ("/home/a/../b", "/home/a/.local/state"),
        ] {
            let home = Home::from_environment(|name| match name {
                "HOME" => Some("/home/a".into()),
                "XDG_STATE_HOME" => Some(state.into()),
                _ => None,
            });
            assert_eq!(home.unwrap().state, Path::new(kept));
        }
    }
}
