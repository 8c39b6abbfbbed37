//! What is to go, before anything goes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass::Timestamp;
use windlass_journal::{Directory, Seen, without_number};

use super::image::Image;
use super::packages::Packages;
use super::{dotnet, hashed};

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

/// What planning knows.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time by which certificates are judged.
    pub now: Timestamp,
    /// Valid test certificates go too.
    pub tests: bool,
    /// The last anchors of a hashed directory go too, and most of it.
    pub force: bool,
    /// Where the directories are, if not on this machine.
    pub image: Option<&'a Image>,
    /// Who owns what.
    pub packages: &'a Packages,
    /// What update-ca-certificates makes its links to: the distribution's certificates, and the administrator's.
    pub sources: [&'a Path; 2],
    /// What stores of .NET have taken.
    pub spent: dotnet::Spent,
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

impl Context<'_> {
    /// A path, which holds no links, as programs know it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        self.image.map_or_else(|| path.to_owned(), |image| image.inside(path))
    }

    /// Whether a link in a directory leads to something.
    pub fn leads_somewhere(&self, directory: &Directory, name: &OsStr) -> bool {
        self.image.map_or_else(|| directory.leads_somewhere(name), |image| image.leads_somewhere(directory, name))
    }

    /// The bytes of the regular file that a name in a directory leads to.
    pub fn read_through(&self, directory: &Directory, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        match self.image {
            None => directory.read_through(name, limit),
            Some(image) => image.read_through(directory, name, limit),
        }
    }
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

    /// Adds what is to go from a directory. `path` holds no links.
    pub fn add(&mut self, path: &Path, kind: Kind, context: &Context<'_>) {
        let looked = Directory::open(path).and_then(|directory| {
            let found = match kind {
                Kind::DotnetStore if !context.spent.admits(&directory, &mut self.notes)? => return Ok(None),
                Kind::DotnetStore => dotnet::look(&directory, context)?,
                Kind::HashedDirectory => hashed::look(&directory, context)?,
            };
            Ok(Some((directory.inode()?, found)))
        });
        match looked {
            Ok(None) => {}
            Ok(Some((inode, found))) => {
                self.notes.extend(found.notes);
                let Found { items, kept, refused, .. } = found;
                self.stores.push(Store { path: path.to_owned(), kind, items, kept, refused, inode });
            }
            Err(error) => {
                self.notes.push(Note::new(path, format!("can't be looked at: {}", without_number(&error)), ""))
            }
        }
    }
}

impl Note {
    /// About `path`.
    pub fn new(path: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Note {
        Note { path: path.to_owned(), what: what.into(), remedy: remedy.into() }
    }
}
