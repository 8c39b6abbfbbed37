//! Paths in JSON: serde refuses paths that are not UTF-8, and these get replacement characters.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Serializes a path.
pub fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Serializes a path, or null.
pub fn option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => self::path(path, serializer),
        None => serializer.serialize_none(),
    }
}
