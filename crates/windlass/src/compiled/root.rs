//! Paths below another root directory. The links of an image that is being built are meant for the inside of the image:
//! followed from outside, they lead nowhere or, worse, to the building machine's own files.
//!
//! The path is walked name by name, each opened in the directory before it and never through a link: no concurrent
//! change can lead out of the root. openat2(2) with `RESOLVE_IN_ROOT` is no substitute, only the reference in the
//! tests: it does not resolve a path that is yet to be created, kernels before 5.6 and the system call filters of older
//! container managers refuse it, and a second implementation for those would have to agree with it. Either way the
//! result is a path; the caller that opens it later must check that it still leads there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::LoadError;
use crate::source::failed;

/// The number of links that Linux follows in one path (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The root directory that paths are relative to; `None` is this process's own.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a>(pub Option<&'a Path>);

/// What to do with a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Follow it.
    Followed,
    /// Keep it: the link itself is meant.
    Itself,
}

impl<'a> Root<'a> {
    /// The path by which this process reaches the file that is `path` to a process with this root directory: without
    /// links, without `..`, and below the root. A missing file is not an error: the remaining names are taken
    /// literally, and can be created there. Without another root, the path itself.
    pub fn reach(self, path: &Path, last: Last) -> io::Result<PathBuf> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        let walked = Walk::along(root, path, last)?;
        Ok(root.join(walked.inside()))
    }

    /// Like [`Root::reach`], for an existing file, with all links followed.
    pub(super) fn resolve(self, path: &Path) -> Result<PathBuf, LoadError> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        let outside = || root.join(path.strip_prefix("/").unwrap_or(path));
        let walked = Walk::along(root, path, Last::Followed).and_then(|walked| match walked.missing {
            Some(errno) => Err(errno),
            None => Ok(walked),
        });
        walked.map(|walked| root.join(walked.inside())).map_err(|errno| failed(&outside(), "open", errno))
    }

    /// The target of the link `path`, as a path inside the root. `None` if it is not a link.
    pub fn target(self, path: &Path) -> Option<PathBuf> {
        let root = self.0.unwrap_or(Path::new("/"));
        let link = std::fs::read_link(root.join(Walk::along(root, path, Last::Itself).ok()?.inside())).ok()?;
        let plain = !link.components().any(|component| component == Component::ParentDir);
        if link.is_absolute() && plain {
            return Some(link);
        }
        // `..` is relative to the real directory of the link.
        let real = |path: &Path| Some(Path::new("/").join(Walk::along(root, path, Last::Followed).ok()?.inside()));
        let target = real(path.parent()?)?.join(link);
        Some(real(target.parent()?)?.join(target.file_name()?))
    }
}

/// A walk along a path.
struct Walk {
    /// The open directories from the root down to the current one. Missing directories are not in it.
    opened: Vec<OwnedFd>,
    /// The current position below the root.
    names: Vec<OsString>,
    /// Set if the last of the names could not be opened because nothing is there.
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

    /// Goes up one directory. The parent of the root is the root.
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

    /// Enters `name` in the current directory. A link returns its target instead, unless the link itself is wanted.
    fn enter(&mut self, name: OsString, keeps_link: bool) -> Result<Option<PathBuf>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match (self.missing, self.opened.last()) {
            (None, Some(here)) => rustix::fs::openat(here, &*name, flags, Mode::empty()),
            (errno, _) => Err(errno.unwrap_or(Errno::NOENT)),
        };
        match found {
            // The text of the link that was opened, even if another one has replaced it.
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

/// The steps along a path, last one first.
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
