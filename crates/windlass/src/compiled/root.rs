//! Paths below another root directory. An image that is being built has links that are meant for its inside: taken as
//! they stand they lead nowhere, or, worse, to the building machine's own files.
//!
//! The path is walked name by name, each opened in the directory before it and never through a link, so no change
//! meanwhile leads out of the root. openat2(2) with `RESOLVE_IN_ROOT` is no substitute, but the judge in the tests: it
//! says nothing of a path that is to be created, kernels before 5.6 and the system call filters of older container
//! managers refuse it, and a second way for these would have to agree with it anyway. What either gives is a path; who
//! opens it later has to see to it that it still leads there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::LoadError;
use crate::source::failed;

/// As many links as Linux follows in one path (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The root directory that paths are meant for; `None` is this process's own.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a>(pub Option<&'a Path>);

/// What to do with a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Go where it points.
    Followed,
    /// It is the link that is meant.
    Itself,
}

impl<'a> Root<'a> {
    /// The path by which this process reaches what `path` is to one whose root directory this is: without links and
    /// without `..`, and below the root. What does not exist is no error but taken as named: it can be created there.
    /// Without another root, the path itself.
    pub fn reach(self, path: &Path, last: Last) -> io::Result<PathBuf> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        let walked = Walk::along(root, path, last)?;
        Ok(root.join(walked.inside()))
    }

    /// The same of something that exists, all links followed.
    pub(super) fn resolve(self, path: &Path) -> Result<PathBuf, LoadError> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        let outside = || root.join(path.strip_prefix("/").unwrap_or(path));
        let walked = Walk::along(root, path, Last::Followed).and_then(|walked| match walked.missing {
            Some(errno) => Err(errno),
            None => Ok(walked),
        });
        walked.map(|walked| root.join(walked.inside())).map_err(|errno| failed(&outside(), "open", errno))
    }

    /// What `path` is a link to, as a path inside. `None` if it is no link.
    pub fn target(self, path: &Path) -> Option<PathBuf> {
        let root = self.0.unwrap_or(Path::new("/"));
        let link = std::fs::read_link(root.join(Walk::along(root, path, Last::Itself).ok()?.inside())).ok()?;
        let plain = !link.components().any(|component| component == Component::ParentDir);
        if link.is_absolute() && plain {
            return Some(link);
        }
        // `..` is relative to where the link really lies.
        let real = |path: &Path| Some(Path::new("/").join(Walk::along(root, path, Last::Followed).ok()?.inside()));
        let target = real(path.parent()?)?.join(link);
        Some(real(target.parent()?)?.join(target.file_name()?))
    }
}

/// A path that is being followed.
struct Walk {
    /// The directories above where we are, the root first. What does not exist is not in it.
    opened: Vec<OwnedFd>,
    /// Where we are, below the root.
    names: Vec<OsString>,
    /// Why the last of the names could not be opened: nothing is there.
    missing: Option<Errno>,
}

enum Step {
    Up,
    Into(OsString),
}

impl Walk {
    fn along(root: &Path, path: &Path, last: Last) -> Result<Walk, Errno> {
        let root = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut walk = Walk { opened: vec![root], names: Vec::new(), missing: None };
        let mut rest = steps(path);
        let mut links = 0;
        while let Some(step) = rest.pop() {
            let name = match step {
                Step::Up => {
                    walk.up()?;
                    continue;
                }
                Step::Into(name) => name,
            };
            let keeps_link = rest.is_empty() && last == Last::Itself;
            let Some(link) = walk.enter(name, keeps_link)? else { continue };
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            if link.is_absolute() {
                walk.opened.truncate(1);
                walk.names.clear();
            }
            rest.extend(steps(&link));
        }
        Ok(walk)
    }

    fn inside(&self) -> PathBuf {
        self.names.iter().collect()
    }

    /// To the directory above. The one above the root is the root.
    fn up(&mut self) -> Result<(), Errno> {
        if let Some(errno) = self.missing {
            return Err(errno);
        }
        if self.names.is_empty() {
            return Ok(());
        }
        if !self.opened.last().is_some_and(|here| is(here, FileType::Directory)) {
            return Err(Errno::NOTDIR);
        }
        self.names.pop();
        self.opened.pop();
        Ok(())
    }

    /// Into what is called `name` here. If that is a link, where it points instead, unless it is the link that is
    /// wanted.
    fn enter(&mut self, name: OsString, keeps_link: bool) -> Result<Option<PathBuf>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match (self.missing, self.opened.last()) {
            (None, Some(here)) => rustix::fs::openat(here, &*name, flags, Mode::empty()),
            (errno, _) => Err(errno.unwrap_or(Errno::NOENT)),
        };
        match found {
            // The text of the link that was opened, also if there is another one by now.
            Ok(found) if !keeps_link && is(&found, FileType::Symlink) => {
                let link = rustix::fs::readlinkat(&found, OsStr::new(""), Vec::new())?;
                return Ok(Some(OsString::from_vec(link.into_bytes()).into()));
            }
            Ok(found) => self.opened.push(found),
            Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => self.missing = Some(errno),
            Err(errno) => return Err(errno),
        }
        self.names.push(name);
        Ok(None)
    }
}

fn is(file: &OwnedFd, kind: FileType) -> bool {
    rustix::fs::fstat(file).is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == kind)
}

/// The steps along a path, the last one first.
fn steps(path: &Path) -> Vec<Step> {
    let step = |component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests;
