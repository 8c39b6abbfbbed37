//! Paths below another root directory: an image that is being built has links that are meant for its inside.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::error::LoadError;
use crate::source::failed;

/// Where a path leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root<'a>(pub Option<&'a Path>);

impl Root<'_> {
    /// The path as this process has to name it, all links on the way followed as a process does whose root this is
    /// (`RESOLVE_IN_ROOT`, openat2(2), Linux 5.6). Without another root, the path itself.
    pub fn resolve(self, path: &Path) -> Result<PathBuf, LoadError> {
        let Some(root) = self.0 else { return Ok(path.to_owned()) };
        let outside = root.join(path.strip_prefix("/").unwrap_or(path));
        let error = |action| move |errno: Errno| failed(&outside, action, errno);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags | OFlags::DIRECTORY, Mode::empty())
            .map_err(|errno| failed(root, "open", errno))?;
        let file = openat2(&directory, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).map_err(error("open"))?;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::read_link(&link).map_err(|error| LoadError::Io {
            path: link.into(),
            action: "read the link",
            errno: error.raw_os_error().unwrap_or(0),
        })
    }
}
