//! What a followed store was loaded from, and a look at it.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use windlass::file::{self, Belief, Status};
use windlass::{Identity, LoadError, RootStore};

use crate::process;

use super::contents::{self, Observation};

/// A place that certificates come from.
#[derive(PartialEq, Eq)]
pub enum Place {
    /// A file with certificates.
    File(CString),
    /// A hashed directory.
    Directory(CString),
    /// The default directory, as an OSSL_STORE.
    DefaultStore(CString),
}

/// A place, and what it depends on.
pub struct Source {
    pub place: Place,
    /// For a directory that one call adds together with a file, and only if the file can be loaded: one more than the
    /// number of that source.
    needs: AtomicUsize,
}

/// The content of a source.
#[derive(Clone)]
pub enum Content {
    /// A file with these certificates.
    Roots(Arc<RootStore>),
    /// A file that only libcrypto can read.
    Bytes(Arc<Bytes>),
    /// Nothing is there that a load would take anything from.
    Nothing,
    /// A hashed directory. Its names are the same as long as it has this identity, unless it is too young.
    Directory { identity: Identity, is_young: bool },
    /// A hashed directory on a device whose times prove nothing. It is not followed, only searched, as in stock.
    Unbelieved { device: u64 },
}

/// The bytes of a file, and the identity that proves that they are unchanged, if it can.
pub struct Bytes {
    pub bytes: Vec<u8>,
    identity: Option<Identity>,
}

impl Source {
    pub fn new(place: Place) -> Source {
        Source { place, needs: AtomicUsize::new(0) }
    }

    /// The number of the source without which this one is not added.
    pub fn needs(&self) -> Option<usize> {
        self.needs.load(Ordering::Acquire).checked_sub(1)
    }

    /// See [`Source::needs`].
    pub fn depend_on(&self, file: usize) {
        self.needs.store(file + 1, Ordering::Release);
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

    /// What is there now. `last` is what was there before, if known.
    pub fn look(&self, last: Option<&Content>) -> Observation<Content> {
        let seen = match (self, last) {
            (Place::File(_), Some(Content::Bytes(last))) if self.is_unchanged(last) => {
                Some(Content::Bytes(Arc::clone(last)))
            }
            (Place::File(_), _) => self.file(),
            (Place::Directory(_) | Place::DefaultStore(_), _) => self.directory(last),
        };
        seen.map_or(Observation::NotSeen, Observation::Seen)
    }

    fn is_unchanged(&self, last: &Bytes) -> bool {
        last.identity.is_some_and(|known| file::status(self.path()).is_ok_and(|now| now.identity == known))
    }

    fn file(&self) -> Option<Content> {
        match process::cache().load_cafile(self.path()) {
            Ok(roots) => Some(Content::Roots(roots)),
            Err(error) if error.is_out_of_memory() => None,
            Err(LoadError::Missing { .. } | LoadError::NotAFile { .. }) => Some(Content::Nothing),
            Err(LoadError::Unsupported { .. }) => self.bytes(),
            Err(_) => None,
        }
    }

    fn bytes(&self) -> Option<Content> {
        match file::read(self.path()) {
            Ok(file) => {
                let identity = file.believed.then_some(file.identity);
                Some(Content::Bytes(Arc::new(Bytes { bytes: file.bytes, identity })))
            }
            Err(LoadError::Missing { .. } | LoadError::NotAFile { .. }) => Some(Content::Nothing),
            Err(_) => None,
        }
    }

    fn directory(&self, last: Option<&Content>) -> Option<Content> {
        let now = file::now_ns();
        match file::status(self.path()) {
            Ok(Status { identity, is_directory: true }) => match last {
                Some(Content::Directory { identity: known, is_young: false }) if *known == identity => last.cloned(),
                Some(Content::Unbelieved { device }) if *device == identity.dev => last.cloned(),
                _ => Some(match file::belief(self.path(), &identity, now).ok()? {
                    Belief::Believed => Content::Directory { identity, is_young: false },
                    Belief::TooYoung => Content::Directory { identity, is_young: true },
                    Belief::Never => Content::Unbelieved { device: identity.dev },
                }),
            },
            Ok(_) | Err(LoadError::Missing { .. }) => Some(Content::Nothing),
            Err(_) => None,
        }
    }
}

impl contents::Content for Content {
    fn is_same(&self, later: &Content) -> bool {
        match (self, later) {
            (Content::Roots(one), Content::Roots(other)) => {
                // A source that had to be read again has another store, perhaps of the same content.
                let ders = || one.anchors().zip(other.anchors()).all(|(one, other)| one.der() == other.der());
                Arc::ptr_eq(one, other) || one.len() == other.len() && ders()
            }
            (Content::Bytes(one), Content::Bytes(other)) => Arc::ptr_eq(one, other) || one.bytes == other.bytes,
            (Content::Nothing, Content::Nothing) => true,
            (Content::Directory { identity, is_young }, Content::Directory { identity: now, .. }) => {
                !is_young && identity == now
            }
            (Content::Unbelieved { device }, Content::Unbelieved { device: now }) => device == now,
            _ => false,
        }
    }
}

impl Content {
    /// Adds to a hash what this is. Returns whether another content of the same hash is the same one.
    pub fn describe(&self, place: &Place, hash: &mut Sha256) -> bool {
        match self {
            Content::Roots(roots) => {
                hash.update([0]);
                hash.update(roots.digest());
            }
            Content::Bytes(bytes) => {
                hash.update([1]);
                hash.update((bytes.bytes.len() as u64).to_le_bytes());
                hash.update(&bytes.bytes);
            }
            Content::Nothing => hash.update([2]),
            Content::Directory { identity: Identity { dev, ino, size, mtime_ns, ctime_ns }, is_young } => {
                hash.update([3]);
                [*dev, *ino, *size].iter().for_each(|number| hash.update(number.to_le_bytes()));
                [*mtime_ns, *ctime_ns].iter().for_each(|time| hash.update(time.to_le_bytes()));
                return !is_young;
            }
            Content::Unbelieved { device } => {
                hash.update([4]);
                hash.update(device.to_le_bytes());
                hash.update(place.path().as_os_str().as_bytes());
            }
        }
        true
    }
}
