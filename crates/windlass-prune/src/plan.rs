//! The plan of a prune: the items to remove, before anything is removed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_journal::Seen;

/// The kind of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A .NET store: one PKCS#12 file for each certificate.
    DotnetStore,
    /// A directory of files named by subject hash.
    HashedDirectory,
}

/// All items to remove, and notes for the user.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// The directories with their items.
    pub stores: Vec<Store>,
    /// Paths that can't be read, and removals that are not done.
    pub notes: Vec<Note>,
}

/// A directory, and the items to remove from it.
#[derive(Debug, Serialize)]
pub struct Store {
    /// Its path, without links.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub path: PathBuf,
    /// The kind of the directory.
    pub kind: Kind,
    /// The items, in the order of removal.
    pub items: Vec<Item>,
    /// The number of certificates that stay.
    pub kept: usize,
    /// Nothing is removed, because no anchor would be left, or because most links have no target.
    pub refused: bool,
    /// Device and inode number of the directory at planning time.
    #[serde(skip)]
    pub inode: (u64, u64),
}

/// One file or link to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in the directory.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub name: OsString,
    /// The reason.
    pub reason: String,
    /// The certificate in it, for display; None for a link without a target.
    pub certificate: Option<String>,
    /// Its state at planning time.
    #[serde(skip)]
    pub seen: Seen,
}

/// Something that is not done, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The path that it is about.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub path: PathBuf,
    /// The reason.
    pub what: String,
    /// The remedy; empty if there is none.
    pub remedy: String,
}

/// The result of searching a directory.
#[derive(Debug, Default)]
pub struct Found {
    /// The items to remove.
    pub items: Vec<Item>,
    /// The number of certificates that stay.
    pub kept: usize,
    /// Nothing is removed, because no anchor would be left, or because most links have no target.
    pub refused: bool,
    /// Removals that are not done.
    pub notes: Vec<Note>,
}

impl Plan {
    /// Whether the directory has superfluous files, and none of them is removed.
    pub fn is_refused(&self) -> bool {
        self.stores.iter().any(|store| store.refused)
    }

    /// Whether nothing is to be removed.
    pub fn is_empty(&self) -> bool {
        self.stores.iter().all(|store| store.items.is_empty())
    }
}

impl Note {
    /// A note about `path`.
    pub fn new(path: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Note {
        Note { path: path.to_owned(), what: what.into(), remedy: remedy.into() }
    }
}
