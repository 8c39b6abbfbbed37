//! The existing compiled stores, independent of the output format. The field names are those of the JSON, which
//! `windlass cache status --help` documents.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use windlass::compiled::{self, Cleared, Description, Directories, Freshness, Malformed, ReadError};
use windlass::{Source, Timestamp};
use windlass_machine::places::sources::kind;

use super::check::by_content;

/// All directories that programs search.
#[derive(Debug, Serialize)]
pub struct Status {
    schema: u32,
    /// The directories, in search order.
    pub directories: Vec<Directory>,
}

/// A directory of compiled stores.
#[derive(Debug, Serialize)]
pub struct Directory {
    /// The path.
    pub directory: String,
    /// Whether it can be used.
    pub state: DirectoryState,
    /// More about the state, for display.
    pub detail: Option<String>,
    /// The compiled stores in it.
    pub stores: Vec<Store>,
}

/// The state of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectoryState {
    /// It exists, and is believed.
    Present,
    /// It does not exist.
    Absent,
    /// Somebody else could have written to it.
    Distrusted,
    /// It can't be read.
    Unreadable,
}

/// One compiled store.
#[derive(Debug, Default, Serialize)]
pub struct Store {
    /// The path.
    pub file: String,
    kind: Option<&'static str>,
    /// The path of the source.
    pub path: Option<String>,
    /// Certificates in it.
    pub anchors: Option<usize>,
    /// The size of the compiled store in bytes.
    pub bytes: Option<u64>,
    files: Option<usize>,
    source_bytes: Option<u64>,
    written: Option<String>,
    /// Seconds since it was written.
    pub age_seconds: Option<u64>,
    /// Whether it is used.
    pub state: StoreState,
    /// More about the state, for display.
    pub detail: Option<String>,
}

/// The state of a compiled store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreState {
    /// It is used.
    Fresh,
    /// It is used after the source has been read.
    FreshByContent,
    /// The source has changed.
    Stale,
    /// Somebody else could have written it.
    Distrusted,
    /// It is not a compiled store, or it is damaged.
    Malformed,
    /// It has another version of the format.
    OtherVersion,
    /// The operating system returned an error.
    #[default]
    Unreadable,
}

/// The files that `cache clear` removed; its help documents the fields.
#[derive(Debug, Serialize)]
pub struct Removed {
    schema: u32,
    /// The directory that was cleared.
    pub directory: String,
    /// Paths of removed compiled stores.
    pub removed: Vec<String>,
    /// Temporary files of killed writers.
    pub leftovers: Vec<String>,
}

impl StoreState {
    /// The words for the JSON's value.
    pub const fn words(self) -> &'static str {
        match self {
            StoreState::Fresh => "fresh",
            StoreState::FreshByContent => "fresh by content",
            StoreState::Stale => "stale",
            StoreState::Distrusted => "not trusted",
            StoreState::Malformed => "malformed",
            StoreState::OtherVersion => "other version",
            StoreState::Unreadable => "unreadable",
        }
    }
}

impl Status {
    /// Inspects all directories.
    pub fn of(directories: &Directories) -> Status {
        let now = SystemTime::now();
        Status { schema: 1, directories: directories.iter().map(|path| Directory::of(path, now)).collect() }
    }
}

impl Removed {
    /// From the core's result.
    pub fn of(directory: &Path, cleared: &Cleared) -> Removed {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Removed {
            schema: 1,
            directory: directory.to_string_lossy().into_owned(),
            removed: texts(&cleared.stores),
            leftovers: texts(&cleared.leftovers),
        }
    }
}

impl Directory {
    fn of(path: &Path, now: SystemTime) -> Directory {
        let (state, detail) = directory_state(path);
        let mut directory = Directory { directory: path.to_string_lossy().into_owned(), state, detail, stores: vec![] };
        match compiled::all(path) {
            Ok(all) => directory.stores = all.into_iter().map(|(path, found)| Store::of(&path, found, now)).collect(),
            Err(error) => {
                directory.state = DirectoryState::Unreadable;
                directory.detail.get_or_insert_with(|| error.to_string());
            }
        }
        directory
    }
}

/// The state that a program would find when it looks for a missing compiled store.
fn directory_state(path: &Path) -> (DirectoryState, Option<String>) {
    let name = compiled::file_name(&Source::Cafile(PathBuf::new()));
    match compiled::inspect(&path.join(name)) {
        Err(error @ ReadError::Distrusted { .. }) => (DirectoryState::Distrusted, Some(about(path, &error))),
        Err(error @ ReadError::Io { .. }) => (DirectoryState::Unreadable, Some(about(path, &error))),
        _ if !path.exists() => (DirectoryState::Absent, None),
        _ => (DirectoryState::Present, None),
    }
}

impl Store {
    fn of(path: &Path, found: Result<Description, ReadError>, now: SystemTime) -> Store {
        let file = path.to_string_lossy().into_owned();
        match found {
            Ok(found) => Store { file, ..Store::described(&found, now) },
            Err(error) => {
                let state = match &error {
                    ReadError::Distrusted { .. } => StoreState::Distrusted,
                    ReadError::Malformed { what: Malformed::Version(_), .. } => StoreState::OtherVersion,
                    ReadError::Malformed { .. } => StoreState::Malformed,
                    _ => StoreState::Unreadable,
                };
                Store { file, state, detail: Some(about(path, &error)), ..Store::default() }
            }
        }
    }

    fn described(found: &Description, now: SystemTime) -> Store {
        let (state, detail) = match found.freshness(None) {
            Freshness::Fresh => (StoreState::Fresh, None),
            Freshness::FreshByContent => (StoreState::FreshByContent, Some(by_content(found.is_believed).to_owned())),
            Freshness::Stale(why) => (StoreState::Stale, Some(why.to_string())),
        };
        Store {
            file: String::new(),
            kind: Some(kind(&found.source)),
            path: Some(found.source.path().to_string_lossy().into_owned()),
            anchors: Some(found.anchors),
            bytes: Some(found.bytes),
            files: Some(found.files),
            source_bytes: Some(found.source_bytes),
            written: found.written.and_then(rfc_3339),
            age_seconds: found.written.and_then(|written| Some(now.duration_since(written).ok()?.as_secs())),
            state,
            detail,
        }
    }
}

/// The error, without the path, which the output shows anyway.
fn about(path: &Path, error: &ReadError) -> String {
    let text = error.to_string();
    text.strip_prefix(&format!("{}: ", path.display())).map(str::to_owned).unwrap_or(text)
}

fn rfc_3339(time: SystemTime) -> Option<String> {
    let seconds = i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
    Some(Timestamp(seconds).to_string().replace(' ', "T"))
}
