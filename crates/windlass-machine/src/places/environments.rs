//! Python's virtual environments in a home.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::tree::Tree;

/// How deep below a home environments are searched for: ~/work/customer/project/.venv.
const DEPTH: usize = 4;
/// The most directories of one home that are searched.
const DIRECTORIES: usize = 3000;
/// Large directories in which nobody makes an environment.
const SKIPPED: [&str; 8] =
    ["node_modules", "site-packages", "dist-packages", "target", "lost+found", "snap", "go", "__pycache__"];

/// Directories with a `pyvenv.cfg` (PEP 405). The search depth is limited, and links are not followed.
pub fn virtual_environments(tree: &Tree<'_>, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![home.to_owned()];
    let mut left = DIRECTORIES;
    for depth in 0..=DEPTH {
        let mut below = Vec::new();
        for directory in level {
            if left == 0 {
                return found;
            }
            left -= 1;
            let names = tree.names(&directory);
            if depth > 0 && names.iter().any(|name| name == "pyvenv.cfg") {
                found.push(directory);
                continue;
            }
            let candidates = names.iter().filter(|name| is_searched(name)).map(|name| directory.join(name));
            below.extend(candidates.filter(|path| is_plain_directory(tree, path)));
        }
        level = below;
    }
    found
}

/// Hidden directories belong to programs; those known to hold environments are in the table of paths. `.venv` is the
/// exception.
fn is_searched(name: &OsString) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_hidden = name.starts_with('.') && ![".venv", ".env", ".tox"].contains(&name);
    !is_hidden && !SKIPPED.contains(&name)
}

fn is_plain_directory(tree: &Tree<'_>, path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let real = tree.real(parent).map(|parent| parent.join(name));
    real.is_some_and(|real| real.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()))
}
