//! What a source of trust is, to whoever is told of it.

use std::path::PathBuf;

use serde::Serialize;

use super::roots::Namespace;

/// A file or directory that holds trust.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Its path in its root directory, links resolved.
    #[serde(serialize_with = "windlass_machine::processes::lossy::path")]
    pub path: PathBuf,
    /// Whether it is a file or a directory.
    pub kind: SourceKind,
    /// The programs that use it, for people.
    pub why: String,
    /// Where it is not in the root directory of this process: the number of the mount namespace.
    pub mount_namespace: Option<Namespace>,
    /// The files of a directory.
    pub files: usize,
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A bundle, keystore or database.
    File,
    /// A directory with a file for each certificate.
    Directory,
}

/// What there was no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Places and homes.
    pub places: usize,
    /// Directories of which not all files are watched.
    pub directories: usize,
    /// Root directories of containers and chroots.
    pub roots: usize,
}
