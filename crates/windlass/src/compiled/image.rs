//! From a source to the bytes of its compiled store.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::format::{Encoder, Origin, Section};
use super::root::Root;
use crate::error::{LoadError, Unsupported};
use crate::root_store::{Finding, RootStore};
use crate::source::system::{Real, System};
use crate::source::{Contents, Reading, Source, State};

/// The coarsest file systems keep whole seconds: after two of them, a change is certain to show.
const PATIENCE: Duration = Duration::from_millis(2500);
const STEP: Duration = Duration::from_millis(20);

/// Why a source can't be compiled.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The source can't be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The path is relative: compiled stores are found by the source's path, and it must be absolute.
    #[error("{} is not an absolute path", path.display())]
    Relative {
        /// The path as it was given.
        path: PathBuf,
    },
}

/// A compiled store that is not written yet.
#[derive(Debug)]
pub struct Image {
    source: Source,
    store: RootStore,
    bytes: Vec<u8>,
    is_public: bool,
    is_believed: bool,
}

/// Reads a source and compiles it. With a `root`, paths are interpreted as by a process whose root directory that is.
/// With a `finding`, its result is written as well.
///
/// Waits for up to two and a half seconds until a file that has just changed is old enough for its identity to be
/// believed.
pub fn compile(source: &Source, root: Option<&Path>, finding: Option<&Finding>) -> Result<Image, CompileError> {
    if !source.path().is_absolute() {
        return Err(CompileError::Relative { path: source.path().to_owned() });
    }
    let root = Root(root);
    let reading = settled(source, root)?;
    let store = reading.index(source.borrow(), Contents::Certificates)?;
    let is_public = is_public(source, &reading.state, root)?;
    let origin = Origin {
        source: source.clone(),
        digests: reading.files.iter().map(|file| Sha256::digest(file).into()).collect(),
        source_bytes: reading.bytes(),
        believed: reading.believed && reading.state.outlives_mounts(),
        state: reading.state,
    };
    let bytes = encode(&origin, &store, finding)
        .ok_or_else(|| LoadError::Unsupported { path: source.path().to_owned(), what: Unsupported::OutOfMemory })?;
    Ok(Image { source: origin.source, store, bytes, is_public, is_believed: origin.believed })
}

impl Image {
    /// The content of the file: identical for the same state of the source.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The certificates in it.
    pub fn store(&self) -> &RootStore {
        &self.store
    }

    /// The source that it was made from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether everybody may read all files of the source: if so, everybody may read the compiled store.
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// Whether the source's identity will prove that nothing has changed. If not (a network file system, a timestamp in
    /// the future, or one in whole seconds as in images), readers compare the content each time.
    pub fn is_believed(&self) -> bool {
        self.is_believed
    }
}

fn settled(source: &Source, root: Root<'_>) -> Result<Reading, LoadError> {
    let start = Instant::now();
    loop {
        let last = start.elapsed() > PATIENCE;
        let now_ns = Real.real_ns();
        let reading = source.borrow().read_below(&Real, &|path| root.resolve(&path))?;
        // Waiting only helps if the age of the file is the reason.
        let young = reading.state.is_racy(now_ns) && !reading.state.is_racy(now_ns + PATIENCE.as_nanos() as i128);
        if reading.believed || !young || last {
            return Ok(reading);
        }
        std::thread::sleep(STEP);
    }
}

/// Judged for a user who has no special rights anywhere on the path.
fn is_public(source: &Source, state: &State, root: Root<'_>) -> Result<bool, LoadError> {
    let readable = |path: &Path, wanted: u32| {
        let path = root.resolve(path)?;
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let mode = |path: &Path| {
            let stat = rustix::fs::stat(path).map_err(|errno| crate::source::failed(path, "stat", errno));
            stat.map(|stat| stat.st_mode)
        };
        let mut way = true;
        for directory in path.ancestors().skip(1) {
            way &= mode(directory)? & 0o001 != 0;
        }
        Ok::<_, LoadError>(way && mode(&path)? & wanted == wanted)
    };
    match state {
        State::File(_) => readable(source.path(), 0o004),
        State::Directory(_, files) => {
            for (name, _) in files {
                if !readable(&source.path().join(name.to_string()), 0o004)? {
                    return Ok(false);
                }
            }
            readable(source.path(), 0o005)
        }
    }
}

/// None if there is no memory for an index.
pub(super) fn encode(origin: &Origin, store: &RootStore, finding: Option<&Finding>) -> Option<Vec<u8>> {
    let (raw_subjects, issuers_and_serials) = (store.raw_subject_index()?, store.issuer_and_serial_index()?);
    let key_ids = store.key_id_index()?;
    let mut encoder = Encoder::new(origin, store, finding);
    encoder.section(Section::Records, |out| store.records().iter().for_each(|record| record.write(out)));
    encoder.section(Section::Subjects, |out| store.subject_index().write(out));
    encoder.section(Section::RawSubjects, |out| raw_subjects.write(out));
    encoder.section(Section::IssuersAndSerials, |out| issuers_and_serials.write(out));
    encoder.section(Section::KeyIds, |out| key_ids.write(out));
    encoder.section(Section::Canonical, |out| out.extend_from_slice(store.canonical_buffer()));
    encoder.section(Section::Der, |out| out.extend_from_slice(store.der_buffer()));
    Some(encoder.finish())
}
