//! Paths in JSON: those that are not UTF-8, which serde would refuse, with replacement characters.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// A path.
pub fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A path, or null.
pub fn option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => self::path(path, serializer),
        None => serializer.serialize_none(),
    }
}
