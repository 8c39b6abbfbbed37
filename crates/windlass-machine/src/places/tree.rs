//! Finding paths by patterns with stars, in `/` or in an image. The search is bounded, because homes can be arbitrarily
//! large and unusual.

use std::cell::Cell;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use windlass::compiled::{Last, Root};

/// Limit on directory entries read for the machine and for each home, or for all of it if it has a single author.
pub const ENTRIES: usize = 100_000;
/// Limit on the entries of one directory.
const ENTRIES_OF_ONE: usize = 10_000;

/// In bytes: limit for a Python module that names a bundle.
const MAX_FILE: u64 = 256 << 10;

/// A root directory.
pub struct Tree<'a> {
    root: Option<&'a Path>,
    entries: usize,
    left: Cell<usize>,
}

impl<'a> Tree<'a> {
    /// `/`, or the root directory of an image.
    pub fn new(root: &'a Path) -> Tree<'a> {
        Tree::of(root, ENTRIES)
    }

    /// The same, with another limit on entries.
    pub fn of(root: &'a Path, entries: usize) -> Tree<'a> {
        Tree { root: (root != Path::new("/")).then_some(root), entries, left: Cell::new(entries) }
    }

    /// The root directory of an image; None for the machine.
    pub fn image(&self) -> Option<&'a Path> {
        self.root
    }

    /// Resets the count of entries.
    pub fn refill(&self) {
        self.left.set(self.entries);
    }

    /// Whether the limit is used up.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// The path by which this process reaches `path`, with all links followed inside the root. None: the links form a
    /// loop, or a directory can't be searched.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        match self.root {
            None => path.canonicalize().ok(),
            Some(_) => Root(self.root).reach(path, Last::Followed).ok(),
        }
    }

    /// Whether the path exists, with links followed.
    pub fn exists(&self, path: &Path) -> bool {
        self.real(path).is_some_and(|real| real.exists())
    }

    /// The content of a small regular file; nothing else is opened.
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let file = crate::regular::open(&self.real(path)?).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_FILE).then_some(bytes)
    }

    /// All paths that match a pattern below `base`, sorted.
    pub fn expand(&self, base: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut paths = vec![base.to_owned()];
        let mut plain = PathBuf::new();
        for part in Path::new(pattern).components() {
            let Component::Normal(part) = part else { continue };
            if !part.as_bytes().contains(&b'*') {
                plain.push(part);
                continue;
            }
            let step = |path: PathBuf| {
                let path = path.join(&plain);
                let names = self.names(&path).into_iter().filter(|name| matches(part.as_bytes(), name.as_bytes()));
                names.map(|name| path.join(name)).collect::<Vec<_>>()
            };
            paths = paths.into_iter().flat_map(step).collect();
            plain = PathBuf::new();
        }
        let ends = paths.into_iter().map(|path| if plain.as_os_str().is_empty() { path } else { path.join(&plain) });
        ends.filter(|path| self.exists(path)).collect()
    }

    /// The names in a directory, sorted; empty if it can't be read.
    pub fn names(&self, directory: &Path) -> Vec<std::ffi::OsString> {
        let Some(entries) = self.real(directory).and_then(|real| std::fs::read_dir(real).ok()) else {
            return Vec::new();
        };
        let most = self.left.get().min(ENTRIES_OF_ONE);
        let mut names: Vec<_> = entries.take(most).filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        self.left.set(self.left.get().saturating_sub(names.len()));
        names.sort();
        names
    }
}

/// Whether a name matches a pattern of one name. A star at the beginning of a pattern does not match a dot there, as in
/// the shell.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if pattern.first() == Some(&b'*') && pattern.len() > 1 && name.first() == Some(&b'.') {
        return false;
    }
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle.iter().filter(|part| !part.is_empty()) {
        let Some(place) = rest.windows(part.len()).position(|window| window == *part) else { return false };
        rest = rest.get(place + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_part_of_a_name() {
        for (pattern, name) in [("*", "x"), ("*", ".x"), ("python*", "python3.11"), ("*-packages", "dist-packages")] {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("*conda*", "miniconda3"), ("a*b*c", "a-b-b-c"), ("x", "x"), ("x*", "x")] {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("x", "xx"), ("*.module", "a.modules"), ("a*a", "a"), ("*conda*", ".conda"), ("", "x")]
        {
            assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_stays_in_the_image() {
        let image = tempfile::tempdir().unwrap();
        let root = image.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("opt/a/lib")).unwrap();
        std::os::unix::fs::symlink("/opt/a", root.join("opt/b")).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("opt/c")).unwrap();
        let tree = Tree::new(&root);
        let found = tree.expand(Path::new("/"), "opt/*/lib");
        assert_eq!(found, [PathBuf::from("/opt/a/lib"), "/opt/b/lib".into()], "/usr of this machine has a lib");
    }
}
