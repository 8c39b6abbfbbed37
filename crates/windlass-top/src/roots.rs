//! The root directories of processes: this process's own, and those of containers and chroots.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use serde::Serialize;
use windlass_machine::processes;

/// Mount namespace, and device and inode of the root directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootId {
    namespace: u64,
    directory: (u64, u64),
}

/// The name of another root directory: its mount namespace, as in `lsns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Namespace(pub u64);

/// The root directory of a process, held open while this value exists.
#[derive(Debug)]
pub struct RootDirectory {
    /// The identity of the root directory.
    pub id: RootId,
    /// The path that reaches it while that process lives.
    pub path: PathBuf,
    directory: OwnedFd,
}

/// The root directories of other processes, not yet opened.
#[derive(Debug, Default)]
pub struct Others {
    /// Each root directory, with a process that has it.
    pub roots: Vec<(RootId, u32)>,
    /// How many more there are.
    pub left_out: usize,
}

/// How often a process is asked again that was there before. A younger one is asked each time: the first process of a
/// container begins with the machine's root directory.
const AGAIN: Duration = Duration::from_secs(10);

/// The root directory of each process, as it was when the process was last asked: there may be ten thousand.
#[derive(Debug, Default)]
pub struct Asked(HashMap<u32, Answer>);

#[derive(Clone, Copy, Debug)]
struct Answer {
    root: Option<RootId>,
    first: Instant,
    last: Instant,
}

impl Asked {
    /// All processes and their root directories. An answer may be as old as [`AGAIN`]: [`RootDirectory::of`] checks it.
    fn all(&mut self, ask: impl Fn(u32) -> Option<RootId>) -> impl Iterator<Item = (RootId, u32)> {
        let now = Instant::now();
        let answer = |pid| match self.0.get(&pid) {
            Some(known) if now - known.first >= AGAIN && now - known.last < AGAIN => *known,
            known => Answer { root: ask(pid), first: known.map_or(now, |known| known.first), last: now },
        };
        self.0 = processes::pids().into_iter().map(|pid| (pid, answer(pid))).collect();
        self.0.iter().filter_map(|(pid, answer)| Some((answer.root?, *pid)))
    }
}

/// The most root directories watched besides this process's own. Where users may make namespaces, anybody can make
/// many.
pub const ROOTS: usize = 256;

/// A file found below a root directory. It is not opened, but its name can no longer be exchanged.
#[derive(Debug)]
pub struct Found {
    descriptor: OwnedFd,
    /// Its status, from stat(2).
    pub stat: rustix::fs::Stat,
}

impl RootDirectory {
    /// This process's root directory.
    pub fn own() -> rustix::io::Result<RootDirectory> {
        Self::at(Path::new("/"), Path::new("/proc/self"))
    }

    /// The root directories of all other processes, each once. Only root can see those of other users. If there are too
    /// many, known ones and those of root's processes come first.
    pub fn others(asked: &mut Asked, own: RootId, is_known: impl Fn(&RootId) -> bool) -> Others {
        let mut found = BTreeMap::new();
        let root = |pid| id(&process(pid), &process(pid).join("root"));
        for (id, pid) in asked.all(root).filter(|(id, _)| *id != own) {
            let first = found.entry(id).or_insert(pid);
            *first = pid.min(*first);
        }
        let mut roots: Vec<_> = found.into_iter().collect();
        let left_out = roots.len().saturating_sub(ROOTS);
        if left_out > 0 {
            roots.sort_by_cached_key(|(id, pid)| (!is_known(id), processes::uid(*pid) != Some(0), *id));
            roots.truncate(ROOTS);
        }
        Others { roots, left_out }
    }

    /// Opens one of [`Self::others`], if the process still has it.
    pub fn of(id: RootId, pid: u32) -> rustix::io::Result<RootDirectory> {
        let process = process(pid);
        let root = Self::at(&process.join("root"), &process)?;
        if root.id == id { Ok(root) } else { Err(Errno::SRCH) }
    }

    fn at(path: &Path, process: &Path) -> rustix::io::Result<RootDirectory> {
        let directory = openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let id = id(process, path).ok_or(Errno::SRCH)?;
        Ok(RootDirectory { id, path: path.to_path_buf(), directory })
    }

    /// Finds a path as a process with this root directory would, absolute links included.
    pub fn find(&self, path: &Path) -> rustix::io::Result<Found> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        // The kernel resolves absolute paths below the root directory too (openat2(2)).
        let descriptor = openat2(&self.directory, path, flags, Mode::empty(), resolve)?;
        let stat = fstat(descriptor.as_fd())?;
        Ok(Found { descriptor, stat })
    }
}

impl Found {
    /// A path that leads to exactly this file.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()))
    }
}

impl RootId {
    /// The mount namespace by which it is reported.
    pub fn namespace(self) -> Namespace {
        Namespace(self.namespace)
    }
}

/// Whether the error means a lack of resources rather than a missing file.
pub fn is_shortage(errno: i32) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC].iter().any(|shortage| shortage.raw_os_error() == errno)
}

fn process(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn id(process: &Path, root: &Path) -> Option<RootId> {
    let link = std::fs::read_link(process.join("ns/mnt")).ok()?;
    // mnt:[4026531841]
    let namespace = link.to_str()?.strip_prefix("mnt:[")?.strip_suffix(']')?.parse().ok()?;
    let stat = rustix::fs::stat(root).ok()?;
    Some(RootId { namespace, directory: (stat.st_dev, stat.st_ino) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_the_root() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("etc")).unwrap();
        std::fs::write(directory.path().join("etc/real.pem"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/real.pem", directory.path().join("etc/cert.pem")).unwrap();
        std::os::unix::fs::symlink("../../../../../etc/real.pem", directory.path().join("etc/up.pem")).unwrap();
        std::os::unix::fs::symlink("loop.pem", directory.path().join("etc/loop.pem")).unwrap();
        let root = RootDirectory::at(directory.path(), Path::new("/proc/self")).unwrap();
        let real = std::os::unix::fs::MetadataExt::ino(&directory.path().join("etc/real.pem").metadata().unwrap());
        for name in ["/etc/real.pem", "/etc/cert.pem", "/etc/up.pem"] {
            let found = root.find(Path::new(name)).unwrap();
            assert_eq!(found.stat.st_ino, real, "{name}");
            assert_eq!(std::fs::read(found.path()).unwrap(), b"x");
        }
        assert!(root.find(Path::new("/etc/loop.pem")).is_err());
        assert!(root.find(Path::new("/etc/none.pem")).is_err());
    }

    #[test]
    fn this_process_has_the_own_root() {
        let own = RootDirectory::own().unwrap();
        assert!(
            RootDirectory::others(&mut Asked::default(), own.id, |_| false).roots.iter().all(|(id, _)| *id != own.id)
        );
        assert!(RootDirectory::of(own.id, std::process::id()).is_ok());
    }

    #[test]
    fn a_process_that_stays_is_asked_every_ten_seconds() {
        let own = std::process::id();
        let mut asked = Asked::default();
        let is_asked = |asked: &mut Asked| {
            let was_asked = std::cell::Cell::new(false);
            let root = |pid| {
                was_asked.set(was_asked.get() || pid == own);
                Some(RootId { namespace: 1, directory: (1, 1) })
            };
            assert_eq!(asked.all(root).filter(|(_, pid)| *pid == own).count(), 1);
            was_asked.get()
        };
        assert!(is_asked(&mut asked) && is_asked(&mut asked), "it is young");
        let earlier = Instant::now().checked_sub(AGAIN).unwrap();
        asked.0.get_mut(&own).unwrap().first = earlier;
        assert!(!is_asked(&mut asked), "it was asked just now");
        asked.0.get_mut(&own).unwrap().last = earlier;
        assert!(is_asked(&mut asked), "its answer is old");
    }
}
