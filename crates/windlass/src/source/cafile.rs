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

/// No trust store is larger: 100,000 certificates take 150 MB.
const MAX_FILE: u64 = 1 << 30;
/// How often reading is tried while the file keeps changing.
const ATTEMPTS: usize = 5;
const FIRST_STEP: usize = 1 << 20;
/// Shorter paths are copied to the stack (rustix, `SMALL_PATH_BUFFER_SIZE`); for longer ones rustix would allocate, or
/// abort.
const ON_STACK: usize = 256;

/// A file, read in a stable state.
#[derive(Debug)]
pub struct File {
    /// The content.
    pub bytes: Vec<u8>,
    /// The state in which the file was read.
    pub identity: Identity,
    /// Whether equality with that state will prove that the file is unchanged.
    pub believed: bool,
}

/// Two system calls: the current state of the path, and whether this process may read it now. A process that dropped
/// its privileges must not be served files that it could read before.
pub(crate) fn observe(path: &Path) -> Result<Identity, LoadError> {
    named(path, |name| {
        let identity = stat_of(path, name)?;
        rustix::fs::accessat(CWD, name, Access::READ_OK, AtFlags::EACCESS)
            .map_err(|errno| failed(path, "read", errno))?;
        Ok(identity)
    })
}

/// Like [`observe`], with only the system calls that every load of a file makes: open, fstat, close.
pub(super) fn observe_as_guest(path: &Path) -> Result<Identity, LoadError> {
    named(path, |name| {
        let stat = look(path, name)?;
        let looked = identity(path, &stat)?;
        if may_be_read_by_all(&stat) {
            return Ok(looked);
        }
        let file = open(path, name)?;
        identity(path, &rustix::fs::fstat(&file).map_err(|errno| failed(path, "stat", errno))?)
    })
}

/// The current state of the path, if everybody may read the file. Makes the system call that the stock library makes
/// for files of hashed directories before it opens them.
pub(super) fn observe_listed(path: &Path) -> Result<Option<Identity>, LoadError> {
    named(path, |name| {
        let stat = rustix::fs::stat(name).map_err(|errno| failed(path, "stat", errno))?;
        let looked = identity(path, &stat)?;
        Ok(may_be_read_by_all(&stat).then_some(looked))
    })
}

/// If so, this process may read it too, and nothing has to be opened to find out.
fn may_be_read_by_all(stat: &Stat) -> bool {
    const ALL: u32 = 0o444;
    stat.st_mode & ALL == ALL
}

pub(crate) fn read(path: &Path, system: &dyn System) -> Result<File, LoadError> {
    named(path, |name| {
        for _ in 0..ATTEMPTS {
            // Checked before opening: opening a FIFO or a device can have side effects.
            looked(path, name, system)?;
            if let Some(file) = attempt(path, name, system)? {
                return Ok(file);
            }
        }
        Err(LoadError::ChangedWhileReading { path: memory::path(path) })
    })
}

/// Runs `work` with the path as a C string, which is made only once.
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
fn attempt(path: &Path, name: &CStr, system: &dyn System) -> Result<Option<File>, LoadError> {
    let fd = open(path, name)?;
    // Read the clock before the state: a change after this moment has a later timestamp, or the state is racy.
    let now_ns = system.real_ns();
    let fstat = || rustix::fs::fstat(&fd).map_err(|errno| failed(path, "stat", errno));
    let before = identity(path, &fstat()?)?;
    let file_system = system.file_system(fd.as_fd(), before.dev).map_err(|errno| failed(path, "stat", errno))?;
    system.opened(path);
    let bytes = contents(path, &fd, before.size)?;
    let after = identity(path, &fstat()?)?;
    if bytes.len() as u64 != before.size || before != after || before != looked(path, name, system)? {
        return Ok(None);
    }
    let believed = !before.is_racy(now_ns) && before.outlives(file_system, system);
    Ok(Some(File { bytes, identity: before, believed }))
}

/// Whether this process can open the path, and reaches this very file. Stat and access(2) don't show it: Landlock and
/// AppArmor only refuse the opening.
pub(crate) fn opens(path: &Path, wanted: &Identity) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let found = rustix::fs::open(path, flags, Mode::empty()).and_then(rustix::fs::fstat);
    found.is_ok_and(|found| identity(path, &found).is_ok_and(|found| found == *wanted))
}

/// Reads to the end. Memory follows the bytes read, not the size that the file system reports: that size is only
/// believed if it is small. One byte more than the size shows the end without growing the buffer.
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

fn open(path: &Path, name: &CStr) -> Result<OwnedFd, LoadError> {
    // Don't wait on a path that has become a FIFO.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let action = |errno| if errno == Errno::ACCESS { "read" } else { "open" };
    rustix::fs::open(name, flags, Mode::empty()).map_err(|errno| failed(path, action(errno), errno))
}

/// The state of the file at a path, by a descriptor that opens nothing (`O_PATH`, open(2)).
fn look(path: &Path, name: &CStr) -> Result<Stat, LoadError> {
    let looking = rustix::fs::open(name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    looking.and_then(rustix::fs::fstat).map_err(|errno| failed(path, "stat", errno))
}

fn looked(path: &Path, name: &CStr, system: &dyn System) -> Result<Identity, LoadError> {
    if system.is_guest() { identity(path, &look(path, name)?) } else { stat_of(path, name) }
}

/// Whether a path still leads to a file in this state.
pub(super) fn is_still(path: &Path, before: &Identity) -> bool {
    let now = named(path, |name| identity(path, &look(path, name)?));
    now.is_ok_and(|now| now == *before)
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
