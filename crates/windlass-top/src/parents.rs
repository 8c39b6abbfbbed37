//! Directories in which a change may mean another file behind a name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// So many are watched for changes. Beside the others, changes are seen at the next look.
const MOST: usize = 4096;

/// The directories of all watched paths.
#[derive(Debug, Default)]
pub struct Parents {
    known: HashSet<PathBuf>,
    new: Vec<PathBuf>,
}

impl Parents {
    /// Those that came since this was last asked.
    pub fn take_new(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.new)
    }

    /// The directory of a name, and the one where its links end.
    pub fn of_name(&mut self, path: &Path) {
        let real = path.canonicalize().ok();
        for path in [Some(path.to_path_buf()), real].into_iter().flatten() {
            self.of_target(&path);
        }
    }

    /// The directory of a path without links.
    pub fn of_target(&mut self, path: &Path) {
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
    }

    /// A directory itself.
    pub fn directory(&mut self, path: &Path) {
        if self.known.len() < MOST && !self.known.contains(path) {
            self.known.insert(path.to_path_buf());
            self.new.push(path.to_path_buf());
        }
    }
}
