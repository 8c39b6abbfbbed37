//! The sources of trust: how they are checked for changes, and how they are read.

pub(crate) mod cafile;
mod capath;
pub(crate) mod system;

pub(crate) use capath::HashName;

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{LoadError, Unsupported};
use crate::identity::Identity;
use crate::memory;
use crate::root_store::RootStore;
use system::System;

/// Bundles of distributions, in the order in which Go's crypto/x509 (root_linux.go) and others look for them: Debian,
/// Ubuntu, Alpine and Arch; Fedora; SUSE; OpenELEC; CentOS 7 and later; Alpine.
pub const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A place that trust is loaded from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A file of PEM certificates.
    Cafile(PathBuf),
    /// A directory of PEM files named by subject hash: `hhhhhhhh.0`, `hhhhhhhh.1`, … CRLs (`hhhhhhhh.r0`) are ignored.
    Capath(PathBuf),
}

impl Source {
    /// The file or the directory.
    pub fn path(&self) -> &Path {
        self.borrow().path()
    }

    pub(crate) fn borrow(&self) -> SourceRef<'_> {
        match self {
            Source::Cafile(path) => SourceRef::Cafile(path),
            Source::Capath(path) => SourceRef::Capath(path),
        }
    }
}

/// A borrowed [`Source`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceRef<'a> {
    Cafile(&'a Path),
    Capath(&'a Path),
}

/// What is read from a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// Certificates. A file with anything else is not supported.
    #[default]
    Certificates,
    /// Certificates and CRLs, for a program that has no other reader to leave such a file to.
    WithCrls,
}

/// The state that must be unchanged for the content to count as unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    File(Identity),
    /// The directory, and each file in reading order: its position in the name order, and its identity.
    Directory(Identity, Box<[(capath::HashName, Identity)]>),
}

/// Maps a path of the source to the path that this process must use.
pub(crate) type Resolve<'a> = &'a dyn Fn(PathBuf) -> Result<PathBuf, LoadError>;

impl State {
    /// Whether it stays valid if the file system is mounted again, or another one is mounted in its place.
    pub fn outlives_mounts(&self) -> bool {
        match self {
            State::File(identity) => !identity.has_whole_seconds(),
            State::Directory(directory, files) => {
                !directory.has_whole_seconds() && !files.iter().any(|(_, identity)| identity.has_whole_seconds())
            }
        }
    }

    /// Whether a change right after `now` could leave the state unchanged.
    pub fn is_racy(&self, now_ns: i128) -> bool {
        match self {
            State::File(identity) => identity.is_racy(now_ns),
            State::Directory(directory, files) => {
                directory.is_racy(now_ns) || files.iter().any(|(_, identity)| identity.is_racy(now_ns))
            }
        }
    }
}

/// The content of a source and its state.
#[derive(Debug)]
pub(crate) struct Reading {
    pub state: State,
    /// Whether equality with `state` will prove that nothing changed. If not, the bytes must be read again.
    pub believed: bool,
    /// One for a CAfile, one for each file of a CApath, in order.
    pub files: Vec<Vec<u8>>,
}

impl<'a> SourceRef<'a> {
    pub fn path(self) -> &'a Path {
        match self {
            SourceRef::Cafile(path) | SourceRef::Capath(path) => path,
        }
    }

    /// Like [`SourceRef::observe`], with only the system calls that a guest may make.
    #[inline(never)]
    pub fn observe_in(self, system: &dyn System) -> Result<State, LoadError> {
        match self {
            SourceRef::Cafile(path) if system.is_guest() => cafile::observe_as_guest(path).map(State::File),
            _ => self.observe(),
        }
    }

    /// The state of a file that everybody may read, with `stat` as the only system call.
    pub fn observe_listed(self) -> Result<Option<State>, LoadError> {
        match self {
            SourceRef::Cafile(path) => Ok(cafile::observe_listed(path)?.map(State::File)),
            SourceRef::Capath(_) => Ok(None),
        }
    }

    /// The state of the source, without opening a file. Fails if this process may not read it now.
    pub fn observe(self) -> Result<State, LoadError> {
        match self {
            SourceRef::Cafile(path) => cafile::observe(path).map(State::File),
            SourceRef::Capath(path) => capath::observe(path, &Ok),
        }
    }

    /// Whether the source is in this state. Does not check whether this process may read a file.
    pub fn is_still(self, state: &State) -> bool {
        match (self, state) {
            (SourceRef::Cafile(path), State::File(before)) => cafile::is_still(path, before),
            _ => self.observe().is_ok_and(|now| now == *state),
        }
    }

    /// Like [`SourceRef::observe`], with each path mapped by `resolve` before use.
    pub fn observe_below(self, resolve: Resolve<'_>) -> Result<State, LoadError> {
        match self {
            SourceRef::Cafile(path) => cafile::observe(&resolve(path.to_owned())?).map(State::File),
            SourceRef::Capath(path) => capath::observe(path, resolve),
        }
    }

    /// Reads the source in a stable state.
    #[inline(never)]
    pub fn read(self, system: &dyn System) -> Result<Reading, LoadError> {
        self.read_below(system, &Ok)
    }

    /// Like [`SourceRef::read`], with each path mapped by `resolve` before use.
    pub fn read_below(self, system: &dyn System, resolve: Resolve<'_>) -> Result<Reading, LoadError> {
        match self {
            SourceRef::Cafile(path) => {
                let path = memory::os_string(path.as_os_str()).map_err(|_| out_of_memory(path))?;
                let file = cafile::read(&resolve(path.into())?, system)?;
                Ok(Reading { state: State::File(file.identity), believed: file.believed, files: vec![file.bytes] })
            }
            SourceRef::Capath(path) => capath::read(path, system, resolve),
        }
    }
}

impl Reading {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len() as u64).sum()
    }

    pub fn index(&self, source: SourceRef<'_>, contents: Contents) -> Result<RootStore, LoadError> {
        RootStore::from_pem_files(self.files.iter().map(Vec::as_slice), contents).map_err(|(file, what)| {
            let path = match (&self.state, source) {
                (State::Directory(_, names), SourceRef::Capath(dir)) => match names.get(file) {
                    Some((name, _)) => dir.join(name.to_string()),
                    None => dir.to_owned(),
                },
                _ => memory::path(source.path()),
            };
            LoadError::Unsupported { path, what }
        })
    }
}

/// The error of a system call.
pub(crate) fn failed(path: &Path, action: &'static str, errno: Errno) -> LoadError {
    LoadError::from_errno(path, action, errno.raw_os_error())
}

fn out_of_memory(path: &Path) -> LoadError {
    LoadError::Unsupported { path: memory::path(path), what: Unsupported::OutOfMemory }
}
