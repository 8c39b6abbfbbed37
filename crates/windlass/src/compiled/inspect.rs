//! The description of a compiled store, and whether it is still fresh.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;

use super::SUFFIX;
use super::format::Origin;
use super::reader::{Compiled, malformed};
use super::root::Root;
use super::trusted::ReadError;
use crate::error::LoadError;
use crate::source::system::Real;
use crate::source::{Source, State};

/// A description of a compiled store, for those who maintain it.
#[derive(Debug)]
pub struct Description {
    /// The source that it was made from.
    pub source: Source,
    /// Certificates, duplicates included.
    pub anchors: usize,
    /// Size of the compiled store in bytes.
    pub bytes: u64,
    /// The number of files of the source.
    pub files: usize,
    /// Size of those files in bytes.
    pub source_bytes: u64,
    /// When it was written, if the file system knows.
    pub written: Option<SystemTime>,
    /// Whether the source's identity proves that nothing has changed; if not, only the content does.
    pub is_believed: bool,
    origin: Origin,
}

/// Whether a compiled store matches its source as it is now.
#[derive(Debug)]
pub enum Freshness {
    /// The source has the same identity as when it was compiled.
    Fresh,
    /// The identity differs, but the content is the same. Readers must read the source to find out.
    FreshByContent,
    /// The source has changed, and the compiled store is not used.
    Stale(Stale),
}

/// Why a compiled store is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Stale {
    /// The source can't be read.
    #[error("{0}")]
    Unreadable(LoadError),
    /// The content of a file has changed.
    #[error("{} has changed", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
    /// A directory gained or lost files.
    #[error("{} has {added} files more and {removed} files less than it had", path.display())]
    Files {
        /// The directory.
        path: PathBuf,
        /// The number of files added since.
        added: usize,
        /// The number of files removed since.
        removed: usize,
    },
}

/// Reads a compiled store as a program would: an error also means that it is not used.
pub fn inspect(path: &Path) -> Result<Description, ReadError> {
    let missing = || ReadError::Missing { path: path.to_owned() };
    let directory = path.parent().ok_or_else(missing)?;
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
    let compiled = Compiled::read(directory, || name)?;
    let bytes = compiled.bytes.len() as u64;
    let (store, origin) = compiled.into_store().map_err(|what| malformed(directory, name, what))?;
    Ok(Description {
        source: origin.source.clone(),
        anchors: store.len(),
        bytes,
        files: origin.digests.len(),
        source_bytes: origin.source_bytes,
        written: std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok(),
        is_believed: origin.believed,
        origin,
    })
}

impl Description {
    /// Compares the compiled store with the source as it is now below `root`.
    pub fn freshness(&self, root: Option<&Path>) -> Freshness {
        match self.compare(Root(root)) {
            Ok(freshness) => freshness,
            Err(error) => Freshness::Stale(Stale::Unreadable(error)),
        }
    }

    fn compare(&self, root: Root<'_>) -> Result<Freshness, LoadError> {
        let source = self.source.borrow();
        let resolve = |path: PathBuf| root.resolve(&path);
        if self.is_believed && source.observe_below(&resolve)? == self.origin.state {
            return Ok(Freshness::Fresh);
        }
        let reading = source.read_below(&Real, &resolve)?;
        if self.origin.is_made_of(&reading) {
            return Ok(Freshness::FreshByContent);
        }
        let path = source.path();
        Ok(Freshness::Stale(match (&self.origin.state, &reading.state) {
            (State::Directory(_, before), State::Directory(_, now)) => {
                let missing_in =
                    |there: &[(crate::source::HashName, _)], name| !there.iter().any(|(other, _)| other == name);
                let added = now.iter().filter(|(name, _)| missing_in(before, name)).count();
                let removed = before.iter().filter(|(name, _)| missing_in(now, name)).count();
                let changed = before.iter().zip(now).find(|((_, before), (_, now))| before != now);
                match changed {
                    Some(((name, _), _)) if added + removed == 0 => {
                        Stale::Content { path: path.join(name.to_string()) }
                    }
                    _ => Stale::Files { path: path.to_owned(), added, removed },
                }
            }
            _ => Stale::Content { path: path.to_owned() },
        }))
    }
}

/// All compiled stores of a directory, by name. A directory that does not exist has none.
pub fn all(directory: &Path) -> io::Result<Vec<(PathBuf, Result<Description, ReadError>)>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SUFFIX)));
    paths.sort_unstable();
    Ok(paths.into_iter().map(|path| (path.clone(), inspect(&path))).collect())
}
