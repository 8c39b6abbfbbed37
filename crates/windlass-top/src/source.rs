//! The description of a source of trust in reports.

use std::path::PathBuf;

use serde::Serialize;

use super::roots::Namespace;

/// A file or directory that holds trust.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Its path in its root directory, with links resolved.
    #[serde(serialize_with = "windlass_machine::processes::lossy::path")]
    pub path: PathBuf,
    /// Whether it is a file or a directory.
    pub kind: SourceKind,
    /// The programs that use it, for display.
    pub why: String,
    /// The number of the mount namespace, if it is not in this process's root directory.
    pub mount_namespace: Option<Namespace>,
    /// The number of files, for a directory.
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

/// Numbers of items beyond the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Places and homes.
    pub places: usize,
    /// Directories in which not all files are watched.
    pub directories: usize,
    /// Root directories of containers and chroots.
    pub roots: usize,
}
