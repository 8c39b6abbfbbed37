//! The record of changes, written before they are made: at any moment they can be completed or undone.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_journal::bytes::Bytes;
use windlass_journal::{Directory, record};
use windlass_machine::Failure;

use super::destination::{Destination, Last};
use super::disk;
use super::text::{without_block, without_name};

/// The name of the record in the state directory.
pub const FILE_NAME: &str = "install.json";

/// All recorded changes in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// A command was stopped before its end, and services may not know of its changes yet.
    pub unfinished: bool,
    /// The number of directories that were made for the record's own path.
    pub made_directories: usize,
    /// The changes, in the order in which they were made; undone in reverse order.
    pub changes: Vec<Change>,
}

/// One change of the file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The part of the installation that it was made for.
    pub target: Target,
    /// The changed path, in the root.
    pub path: PathBuf,
    /// The change itself.
    #[serde(flatten)]
    pub kind: Kind,
}

/// A part of an installation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The command, at the path that hook and units use.
    Command,
    /// The library, at the path that activations use.
    Library,
    /// Hook, units and the first compiled store.
    Upkeep,
    /// One systemd service.
    Service(String),
    /// The user's shells.
    Shell,
    /// Every program of the machine.
    Machine,
}

impl Target {
    /// Whether this part makes programs load the library.
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

/// The kinds of change, each with the data to undo it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A new directory.
    Directory,
    /// A new directory in which all files are Windlass's own: the compiled stores.
    Stores,
    /// A new symbolic link.
    Link {
        /// The link's target.
        to: PathBuf,
    },
    /// A new file.
    File {
        /// SHA-256 of each content that Windlass wrote there, in hexadecimal.
        sha256: Vec<String>,
        /// Lines that activate the file. If somebody has changed the file since, only these lines are removed from it.
        lines: Vec<String>,
    },
    /// An edit of another program's file.
    Edit {
        /// The content before the edit; None if there was no file.
        before: Option<Bytes>,
        /// SHA-256 of each content after an edit, in hexadecimal.
        sha256: Vec<String>,
        /// The part that was added.
        mark: Mark,
    },
    /// A unit that was started.
    Started {
        /// The name of the unit.
        unit: String,
    },
}

/// The part that was added to another program's file, and how to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A name in the list of /etc/ld.so.preload, and Windlass's earlier names for it.
    Names(Vec<PathBuf>),
    /// The lines between Windlass's two marker lines.
    Block,
}

impl Mark {
    /// `text` without the marked part; None if it is not in there.
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
    /// Writes the record into the state directory, which must exist.
    pub fn write(&self, destination: &Destination) -> Result<(), Failure> {
        self.write_in(&destination.real(&destination.state, Last::Followed)?)
    }

    /// The same, into a state directory that still has its temporary name.
    pub fn write_in(&self, directory: &Path) -> Result<(), Failure> {
        Directory::open(directory)
            .and_then(|directory| record::write(&directory, FILE_NAME, self, self.mode()))
            .map_err(|error| disk::failure("write the record in", directory, &error))
    }

    /// Private if it holds the content of a profile, which may contain secrets.
    fn mode(&self) -> u32 {
        if self.changes.iter().any(|change| change.target == Target::Shell) { 0o600 } else { 0o644 }
    }

    /// Adds a change, or replaces an earlier one that did the same. Earlier contents stay known: until the file is
    /// replaced, and if that never happens, one of them is the actual content.
    pub fn note(&mut self, mut change: Change) {
        let same = |other: &&mut Change| {
            other.path == change.path && std::mem::discriminant(&other.kind) == std::mem::discriminant(&change.kind)
        };
        let Some(old) = self.changes.iter_mut().find(same) else { return self.changes.push(change) };
        match (&old.kind, &mut change.kind) {
            (Kind::File { sha256: old, .. }, Kind::File { sha256: new, .. }) => add(new, old),
            (Kind::Edit { before: first, sha256: old, mark: then }, Kind::Edit { before, sha256: new, mark }) => {
                // An edit of another file's content is not undone with the content of this one.
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

    /// The recorded change of a path that is a file.
    pub fn file(&self, path: &Path) -> Option<&Change> {
        self.changes
            .iter()
            .find(|change| change.path == path && matches!(change.kind, Kind::File { .. } | Kind::Edit { .. }))
    }

    /// Whether Windlass made this link.
    pub fn has_link(&self, path: &Path) -> bool {
        self.changes.iter().any(|change| change.path == path && matches!(change.kind, Kind::Link { .. }))
    }
}

fn add<T: Clone + PartialEq>(to: &mut Vec<T>, old: &[T]) {
    let missing: Vec<_> = old.iter().filter(|item| !to.contains(item)).cloned().collect();
    to.extend(missing);
}
