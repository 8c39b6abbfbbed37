//! What is to go, before anything goes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_journal::Seen;

/// What kind of directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A store of .NET: one PKCS#12 file for each certificate.
    DotnetStore,
    /// A directory of files named by subject hash.
    HashedDirectory,
}

/// All that is to go, and what a person should know besides.
#[derive(Debug, Default, Serialize)]
pub struct Plan {
    /// Directory by directory.
    pub stores: Vec<Store>,
    /// What can't be looked at, or is not done here.
    pub notes: Vec<Note>,
}

/// A directory, and what goes from it.
#[derive(Debug, Serialize)]
pub struct Store {
    /// Its path, without links.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// In the order in which they go.
    pub items: Vec<Item>,
    /// Certificates that stay.
    pub kept: usize,
    /// Nothing goes, as no anchor would be left, or most leads nowhere.
    pub refused: bool,
    /// Which directory it was when this was planned.
    #[serde(skip)]
    pub inode: (u64, u64),
}

/// One file or link that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in the directory.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub name: OsString,
    /// Why.
    pub reason: String,
    /// The certificate in it, for people; none where it leads nowhere.
    pub certificate: Option<String>,
    /// As it was then.
    #[serde(skip)]
    pub seen: Seen,
}

/// Something that is not done, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// About what.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub path: PathBuf,
    /// What is so.
    pub what: String,
    /// What to do instead; empty if nothing.
    pub remedy: String,
}

/// What a directory gives.
#[derive(Debug, Default)]
pub struct Found {
    /// What goes.
    pub items: Vec<Item>,
    /// Certificates that stay.
    pub kept: usize,
    /// Nothing goes, as no anchor would be left, or most leads nowhere.
    pub refused: bool,
    /// What is not done.
    pub notes: Vec<Note>,
}

impl Plan {
    /// Whether nothing is taken from a directory of which something is superfluous.
    pub fn is_refused(&self) -> bool {
        self.stores.iter().any(|store| store.refused)
    }

    /// Whether nothing is to go.
    pub fn is_empty(&self) -> bool {
        self.stores.iter().all(|store| store.items.is_empty())
    }
}

impl Note {
    /// About `path`.
    pub fn new(path: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Note {
        Note { path: path.to_owned(), what: what.into(), remedy: remedy.into() }
    }
}
