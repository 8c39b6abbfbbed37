//! What is to go, before anything goes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass::Timestamp;

use super::directory::Directory;
use super::packages::Packages;
use super::seen::Seen;
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
    #[serde(serialize_with = "super::bytes::serialize")]
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// In the order in which they go.
    pub items: Vec<Item>,
    /// Certificates that stay.
    pub kept: usize,
    /// Which directory it was when this was planned.
    #[serde(skip)]
    pub inode: (u64, u64),
}

/// One file or link that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in the directory.
    #[serde(serialize_with = "super::bytes::serialize")]
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
    #[serde(serialize_with = "super::bytes::serialize")]
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
    /// What is not done.
    pub notes: Vec<Note>,
}

impl Plan {
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
                self.stores.push(Store { path: path.to_owned(), kind, items: found.items, kept: found.kept, inode });
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

/// An error without the number that says nothing more.
pub fn without_number(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}
