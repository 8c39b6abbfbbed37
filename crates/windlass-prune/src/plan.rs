//! The plan of a prune: the items to remove, before anything is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_journal::Seen;
use windlass_machine::anchors::name::hex;
use windlass_machine::places::certificate::Certificate;

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
    /// Those of them that have the name of an item, and another key.
    pub namesakes: BTreeSet<Namesake>,
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
    /// The identifier of the certificate's key, in hexadecimal.
    pub key: Option<String>,
    /// Its state at planning time.
    #[serde(skip)]
    pub seen: Seen,
}

/// A certificate by its name for display, and the identifier of its key, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Namesake {
    /// Its name.
    pub certificate: String,
    /// The identifier of its key.
    pub key: String,
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
    /// Those of them that have the name of an item, and another key.
    pub namesakes: BTreeSet<Namesake>,
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

impl Item {
    /// One name in a directory, and the certificate that it leads to.
    pub fn new(name: OsString, reason: String, certificate: Option<&Certificate>, seen: Seen) -> Item {
        let (key, certificate) = certificate.map(|found| (hex(&found.key), found.name.clone())).unzip();
        Item { name, reason, certificate, key, seen }
    }
}

impl Found {
    /// Remembers which of the certificates that stay could be confused with an item.
    pub fn name_alike(&mut self, staying: &[Certificate]) {
        let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for item in &self.items {
            if let (Some(name), Some(key)) = (&item.certificate, &item.key) {
                keys.entry(name).or_default().insert(key);
            }
        }
        let named = staying.iter().map(|found| Namesake { certificate: found.name.clone(), key: hex(&found.key) });
        let has_another =
            |one: &Namesake| keys.get(&*one.certificate).is_some_and(|keys| keys.iter().any(|key| *key != one.key));
        self.namesakes = named.filter(has_another).collect();
    }
}

impl Note {
    /// A note about `path`.
    pub fn new(path: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Note {
        Note { path: path.to_owned(), what: what.into(), remedy: remedy.into() }
    }
}
