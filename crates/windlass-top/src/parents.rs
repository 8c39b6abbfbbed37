//! Directories in which a change may give a watched name another file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The most directories watched for changes. Changes in others are seen at the next refresh.
const MOST: usize = 4096;

/// The directories of all watched paths.
#[derive(Debug, Default)]
pub struct Parents {
    known: HashSet<PathBuf>,
    new: Vec<PathBuf>,
}

impl Parents {
    /// The directories that were added since the last call.
    pub fn take_new(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.new)
    }

    /// Adds the directory of a name, and the directory of its final target.
    pub fn of_name(&mut self, path: &Path) {
        let real = path.canonicalize().ok();
        for path in [Some(path.to_path_buf()), real].into_iter().flatten() {
            self.of_target(&path);
        }
    }

    /// Adds the directory of a path without links.
    pub fn of_target(&mut self, path: &Path) {
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
    }

    /// Adds a directory itself.
    pub fn directory(&mut self, path: &Path) {
        if self.known.len() < MOST && !self.known.contains(path) {
            self.known.insert(path.to_path_buf());
            self.new.push(path.to_path_buf());
        }
    }
}
