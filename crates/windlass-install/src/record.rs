//! What was done, written down before it is done, so that it can be completed or undone from any moment on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_journal::bytes::Bytes;
use windlass_journal::{Directory, record};
use windlass_machine::Failure;

use super::destination::{Destination, Last};
use super::disk;
use super::text::{without_block, without_name};

/// The file, in the state directory.
pub const FILE_NAME: &str = "install.json";

/// All that is recorded of one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Some command was stopped before its end, and services have perhaps not been told of what it did.
    pub unfinished: bool,
    /// How many directories of the record's own path were made for it.
    pub made_directories: usize,
    /// In the order in which they were made; undone from the last to the first.
    pub changes: Vec<Change>,
}

/// One change of the file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What it was made for.
    pub target: Target,
    /// Where, in the root.
    pub path: PathBuf,
    /// What was done there.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a change was made for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The command, where hook and units find it.
    Command,
    /// The library, where activations find it.
    Library,
    /// Hook, units, first compiled store.
    Upkeep,
    /// One systemd service.
    Service(String),
    /// The user's shells.
    Shell,
    /// Every program of the machine.
    Machine,
}

impl Target {
    /// Whether it makes programs load the library.
    pub fn is_activation(&self) -> bool {
        matches!(self, Target::Service(_) | Target::Shell | Target::Machine)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Command => f.write_str("command"),
            Target::Library => f.write_str("library"),
            Target::Upkeep => f.write_str("upkeep"),
            Target::Service(name) => write!(f, "service {name}"),
            Target::Shell => f.write_str("shell"),
            Target::Machine => f.write_str("machine"),
        }
    }
}

/// The kinds of change, each with what it takes to undo it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A directory that was not there.
    Directory,
    /// A directory that was not there, and whose files are all made by Windlass: the compiled stores.
    Stores,
    /// A symbolic link that was not there.
    Link {
        /// Where it points.
        to: PathBuf,
    },
    /// A file that was not there.
    File {
        /// Of what we wrote there, each time that it was something else. In hexadecimal.
        sha256: Vec<String>,
        /// Lines that put it into effect. They are taken out of a file that somebody has changed since.
        lines: Vec<String>,
    },
    /// A file of others, in which something of ours was put.
    Edit {
        /// The file before that; none if it was not there.
        before: Option<Bytes>,
        /// Of the file after that, each time that it was something else. In hexadecimal.
        sha256: Vec<String>,
        /// What was put in.
        mark: Mark,
    },
    /// A unit that was started.
    Started {
        /// Its name.
        unit: String,
    },
}

/// What was put into a file of others, and how it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A name in the list of /etc/ld.so.preload, and those that were there before it.
    Names(Vec<PathBuf>),
    /// The lines between our two marker lines.
    Block,
}

impl Mark {
    /// `text` without what this mark stands for; none if it is not in there.
    pub fn taken_out_of(&self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Mark::Names(libraries) => {
                let mut rest = None;
                for library in libraries {
                    rest = without_name(rest.as_deref().unwrap_or(text), library).or(rest);
                }
                rest
            }
            Mark::Block => without_block(text),
        }
    }
}

impl Record {
    /// A record of nothing.
    pub fn empty() -> Record {
        Record { unfinished: false, made_directories: 0, changes: Vec::new() }
    }

    /// Writes it into the state directory, which exists.
    pub fn write(&self, destination: &Destination) -> Result<(), Failure> {
        self.write_in(&destination.real(&destination.state, Last::Followed)?)
    }

    /// The same, where that directory has another name yet.
    pub fn write_in(&self, directory: &Path) -> Result<(), Failure> {
        Directory::open(directory)
            .and_then(|directory| record::write(&directory, FILE_NAME, self, self.mode()))
            .map_err(|error| disk::failure("write the record in", directory, &error))
    }

    /// A profile may hold secrets, and its bytes are in the record.
    fn mode(&self) -> u32 {
        if self.changes.iter().any(|change| change.target == Target::Shell) { 0o600 } else { 0o644 }
    }

    /// Adds a change, or takes the place of the one that did the same thing before. What was written earlier stays
    /// known: until the file is replaced, and if that never comes, it is what is there.
    pub fn note(&mut self, mut change: Change) {
        let same = |other: &&mut Change| {
            other.path == change.path && std::mem::discriminant(&other.kind) == std::mem::discriminant(&change.kind)
        };
        let Some(old) = self.changes.iter_mut().find(same) else { return self.changes.push(change) };
        match (&old.kind, &mut change.kind) {
            (Kind::File { sha256: old, .. }, Kind::File { sha256: new, .. }) => add(new, old),
            (Kind::Edit { before: first, sha256: old, mark: then }, Kind::Edit { before, sha256: new, mark }) => {
                // What was made of another file is not undone by the bytes of this one.
                if first == before {
                    add(new, old);
                }
                if let (Mark::Names(old), Mark::Names(new)) = (then, mark) {
                    add(new, old);
                }
            }
            _ => {}
        }
        *old = change;
    }

    /// The change recorded of a path that is a file.
    pub fn file(&self, path: &Path) -> Option<&Change> {
        self.changes
            .iter()
            .find(|change| change.path == path && matches!(change.kind, Kind::File { .. } | Kind::Edit { .. }))
    }

    /// Whether this link was made by us.
    pub fn has_link(&self, path: &Path) -> bool {
        self.changes.iter().any(|change| change.path == path && matches!(change.kind, Kind::Link { .. }))
    }
}

fn add<T: Clone + PartialEq>(to: &mut Vec<T>, old: &[T]) {
    let missing: Vec<_> = old.iter().filter(|item| !to.contains(item)).cloned().collect();
    to.extend(missing);
}
