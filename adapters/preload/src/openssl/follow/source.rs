//! What a followed store was loaded from, and whether it has changed since.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windlass::file::{self, Status};
use windlass::{Identity, LoadError, RootStore};

use crate::process;

/// A place that certificates come from.
pub enum Place {
    /// A file with certificates.
    File(CString),
    /// A hashed directory.
    Directory(CString),
    /// The default directory, as an OSSL_STORE.
    DefaultStore(CString),
}

/// The state of a place.
pub enum Seen {
    /// A file with these certificates.
    Roots(Arc<RootStore>),
    /// Nothing is there that a load would take anything from.
    Nothing,
    /// A directory, or a file that only libcrypto can read. `believed`: the same identity proves that it is unchanged.
    Other { identity: Identity, believed: bool },
}

/// The state can't be determined: the process lacks a right, a descriptor or memory, which says nothing of the place.
pub struct Unknown;

/// A place, and what a store took from it.
pub struct Source {
    pub place: Place,
    pub seen: Seen,
    /// The root directory at that time, by device and inode.
    root: (u64, u64),
    /// Set for a directory that was added by the same call as the file before it: only if that can be loaded.
    pub needs_file: AtomicBool,
}

impl Source {
    /// `None` if the root directory is not known.
    pub fn new(place: Place, seen: Seen) -> Option<Source> {
        Some(Source { place, seen, root: root()?, needs_file: AtomicBool::new(false) })
    }

    /// What is there now. A process that has changed its root directory does not see the place any more.
    pub fn look(&self) -> Result<Seen, Unknown> {
        match self.place.look()? {
            Seen::Nothing if root() != Some(self.root) => Err(Unknown),
            seen => Ok(seen),
        }
    }
}

impl Place {
    /// Whether the path means the same from everywhere.
    pub fn is_absolute(&self) -> bool {
        self.path().is_absolute()
    }

    fn path(&self) -> &Path {
        let (Place::File(path) | Place::Directory(path) | Place::DefaultStore(path)) = self;
        Path::new(OsStr::from_bytes(path.to_bytes()))
    }

    /// What is there now.
    pub fn look(&self) -> Result<Seen, Unknown> {
        match self {
            Place::File(_) => match process::cache().load_cafile(self.path()) {
                Ok(roots) => Ok(Seen::Roots(roots)),
                Err(error) if error.is_out_of_memory() => Err(Unknown),
                Err(LoadError::Missing { .. } | LoadError::NotAFile { .. }) => Ok(Seen::Nothing),
                Err(LoadError::Unsupported { .. }) => self.status(false),
                Err(_) => Err(Unknown),
            },
            Place::Directory(_) | Place::DefaultStore(_) => self.status(true),
        }
    }

    fn status(&self, wants_directory: bool) -> Result<Seen, Unknown> {
        let now = file::now_ns();
        match file::status(self.path()) {
            Ok(Status { identity, is_directory }) if is_directory == wants_directory => {
                Ok(Seen::Other { identity, believed: file::is_believed(self.path(), &identity, now) })
            }
            Ok(_) | Err(LoadError::Missing { .. }) => Ok(Seen::Nothing),
            Err(_) => Err(Unknown),
        }
    }
}

impl Seen {
    /// Whether the state is the same later on.
    pub fn is_same(&self, later: &Seen) -> bool {
        match (self, later) {
            (Seen::Roots(one), Seen::Roots(other)) => {
                // A source that had to be read again has another store, perhaps of the same content.
                let ders = || one.anchors().zip(other.anchors()).all(|(one, other)| one.der() == other.der());
                Arc::ptr_eq(one, other) || one.len() == other.len() && ders()
            }
            (Seen::Nothing, Seen::Nothing) => true,
            (Seen::Other { identity, believed }, Seen::Other { identity: now, .. }) => *believed && identity == now,
            _ => false,
        }
    }
}

fn root() -> Option<(u64, u64)> {
    file::status(Path::new("/")).ok().map(|Status { identity, .. }| (identity.dev, identity.ino))
}
