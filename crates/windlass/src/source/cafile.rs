//! One PEM file.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::system::System;
use super::{failed, out_of_memory};
use crate::error::LoadError;
use crate::identity::{Identity, is_regular};
use crate::memory;

/// No trust store is larger: 100,000 certificates have 150 MB.
const MAX_FILE: u64 = 1 << 30;
/// How often a file may change under the reader.
const ATTEMPTS: usize = 5;
const FIRST_STEP: usize = 1 << 20;
/// Shorter paths are copied to the stack (rustix, `SMALL_PATH_BUFFER_SIZE`); for others rustix would take memory, or abort.
const ON_STACK: usize = 256;

/// A file, read while it stood still.
#[derive(Debug)]
pub(super) struct File {
    pub bytes: Vec<u8>,
    pub identity: Identity,
    pub believed: bool,
}

/// A file that this process can read, and what it was when it was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub identity: Identity,
    file: OwnedFd,
}

/// What the path leads to now, opened. This is how the stock libraries begin, too, so it makes no system call that they don't make, and
/// says better than access(2) whether this process may read the file.
///
/// To open and close a FIFO can be seen by who writes to it. So a path that has not led to a file before is looked at first, by a
/// descriptor that opens nothing (`O_PATH`, open(2)).
pub(super) fn open(path: &Path, was_a_file: bool) -> Result<Opened, LoadError> {
    named(path, |name| {
        if !was_a_file {
            let looking = rustix::fs::open(name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            let stat = looking.and_then(rustix::fs::fstat).map_err(|errno| failed(path, "stat", errno))?;
            identity(path, &stat)?;
        }
        open_again(path, name)
    })
}

fn open_again(path: &Path, name: &CStr) -> Result<Opened, LoadError> {
    // What is a FIFO by now is not waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let action = |errno| if errno == Errno::ACCESS { "read" } else { "open" };
    let file = rustix::fs::open(name, flags, Mode::empty()).map_err(|errno| failed(path, action(errno), errno))?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| failed(path, "stat", errno))?;
    Ok(Opened { identity: identity(path, &stat)?, file })
}

/// What the path leads to now, if everybody may read that: then nothing has to be opened to know that this process may. `None`: not so.
/// For paths that the stock library looks at in the same way.
pub(super) fn look(path: &Path) -> Result<Option<Identity>, LoadError> {
    const EVERYBODY: u32 = 0o444;
    let stat = path.into_with_c_str(|name| rustix::fs::stat(name)).map_err(|errno| failed(path, "stat", errno))?;
    let identity = identity(path, &stat)?;
    Ok((stat.st_mode & EVERYBODY == EVERYBODY).then_some(identity))
}

/// Two system calls: what the path leads to now, and whether this process may read it now. A process that dropped
/// its privileges must not be served what it could read before.
pub(super) fn observe(path: &Path) -> Result<Identity, LoadError> {
    named(path, |name| {
        let identity = stat_of(path, name)?;
        rustix::fs::accessat(CWD, name, Access::READ_OK, AtFlags::EACCESS)
            .map_err(|errno| failed(path, "read", errno))?;
        Ok(identity)
    })
}

pub(super) fn read(path: &Path, system: &dyn System) -> Result<File, LoadError> {
    read_opened(path, open(path, false)?, system)
}

/// Reads what was opened, or what the path leads to by now.
pub(super) fn read_opened(path: &Path, mut opened: Opened, system: &dyn System) -> Result<File, LoadError> {
    named(path, |name| {
        for _ in 0..ATTEMPTS {
            let file = attempt(path, &opened.file, system)?;
            // Also a file that stood still may not be what the path leads to any more.
            opened = open_again(path, name)?;
            if let Some(file) = file.filter(|file| file.identity == opened.identity) {
                return Ok(file);
            }
        }
        Err(LoadError::ChangedWhileReading { path: memory::path(path) })
    })
}

/// Does all that takes the path with one C string of it.
fn named<T>(path: &Path, work: impl FnOnce(&CStr) -> Result<T, LoadError>) -> Result<T, LoadError> {
    let name = path.as_os_str().as_bytes();
    if name.len() >= ON_STACK {
        let mut copy = Vec::new();
        copy.try_reserve_exact(name.len() + 1).map_err(|_| out_of_memory(path))?;
        copy.extend_from_slice(name);
        copy.push(0);
        let name = CStr::from_bytes_with_nul(&copy).map_err(|_| failed(path, "stat", Errno::INVAL))?;
        return work(name);
    }
    path.into_with_c_str(|name| Ok(work(name))).map_err(|errno| failed(path, "stat", errno))?
}

/// None if the file changed meanwhile.
fn attempt(path: &Path, fd: &OwnedFd, system: &dyn System) -> Result<Option<File>, LoadError> {
    // The clock before the state: a change after this moment has a later timestamp, or the state is racy.
    let now_ns = system.real_ns();
    let fstat = || rustix::fs::fstat(fd).map_err(|errno| failed(path, "stat", errno));
    let before = identity(path, &fstat()?)?;
    let file_system = system.file_system(fd.as_fd(), before.dev).map_err(|errno| failed(path, "stat", errno))?;
    system.opened(path);
    let bytes = contents(path, fd, before.size)?;
    let after = identity(path, &fstat()?)?;
    if bytes.len() as u64 != before.size || before != after {
        return Ok(None);
    }
    let believed = system.keeps_timestamps(file_system.kind)
        && !before.is_racy(now_ns)
        && !(before.has_whole_seconds() && file_system.may_be_an_image);
    Ok(Some(File { bytes, identity: before, believed }))
}

/// Reads to the end. Memory follows what was read, not what the file system says the size is: that is only believed if it
/// is small. With one byte more than that the end is seen without growing.
fn contents(path: &Path, fd: impl AsFd, size: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let mut step = usize::try_from(size).map_or(FIRST_STEP, |size| FIRST_STEP.min(size + 1));
    loop {
        if bytes.len() == bytes.capacity() {
            bytes.try_reserve_exact(step).map_err(|_| out_of_memory(path))?;
            step = bytes.capacity().max(FIRST_STEP);
        }
        match rustix::io::read(&fd, spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) if bytes.len() as u64 > MAX_FILE => {
                return Err(too_large(path, bytes.len() as u64));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(path, "read", errno)),
        }
    }
}

fn stat_of(path: &Path, name: &CStr) -> Result<Identity, LoadError> {
    let stat = rustix::fs::stat(name).map_err(|errno| failed(path, "stat", errno))?;
    identity(path, &stat)
}

fn identity(path: &Path, stat: &Stat) -> Result<Identity, LoadError> {
    if !is_regular(stat) {
        return Err(LoadError::NotAFile { path: memory::path(path), wanted: "regular file" });
    }
    let identity = Identity::of(stat);
    if identity.size > MAX_FILE {
        return Err(too_large(path, identity.size));
    }
    Ok(identity)
}

fn too_large(path: &Path, size: u64) -> LoadError {
    LoadError::TooLarge { path: memory::path(path), size, limit: MAX_FILE }
}
