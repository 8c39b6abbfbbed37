//! The results of `compile`, independent of the output format. The field names are those of the JSON, which
//! `windlass compile --help` documents.

use std::path::Path;

use serde::Serialize;
use windlass_libcrypto::Libcrypto;
use windlass_machine::places::sources::{Candidate, kind};

/// The results for all sources, and the directory of their compiled stores.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    /// The directory of the compiled stores, by the path that this process uses.
    pub directory: String,
    /// The root directory of the image; None for this machine.
    pub root: Option<String>,
    /// The libcryptos that checked the certificates.
    pub libcrypto: Vec<Judge>,
    /// The sources, in order.
    pub sources: Vec<Row>,
}

/// A libcrypto that checked the certificates.
#[derive(Debug, Serialize)]
pub struct Judge {
    library: String,
    /// The version that the library reports.
    pub version: String,
}

/// The result for one source.
#[derive(Debug, Serialize)]
pub struct Row {
    /// `cafile` or `capath`.
    pub kind: &'static str,
    /// The path that programs use, without the root directory of an image.
    pub path: String,
    /// Why it is a source.
    pub reason: String,
    /// Whether the user named it.
    #[serde(skip)]
    pub named: bool,
    /// The outcome.
    pub state: State,
    /// More about the state, for display.
    pub detail: Option<String>,
    /// Certificates in the compiled store.
    pub anchors: Option<usize>,
    /// Size of the compiled store in bytes.
    pub bytes: Option<u64>,
    /// The path of the compiled store.
    pub store: Option<String>,
    /// Certificates whose public key libcrypto can't decode.
    pub keys_not_decoded: Option<usize>,
}

/// The state of a source, or of its compiled store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A compiled store was written.
    Written,
    /// A compiled store with the same bytes was already there.
    Unchanged,
    /// Not compiled: most of its anchors would be lost.
    Shrinks,
    /// Not compiled: it can't be read, or a link of a directory leads nowhere.
    Unreadable,
    /// The source does not exist, or a directory has no certificates by hash.
    Absent,
    /// Something in it can't be compiled.
    Unsupported,
    /// The compiled store is used.
    Fresh,
    /// The compiled store is used after the source has been read and found unchanged.
    FreshByContent,
    /// The compiled store is not used, because the source has changed.
    Stale,
    /// There is no compiled store.
    Missing,
    /// There is a compiled store that can't be used.
    Unusable,
}

impl State {
    /// The words for the JSON's value.
    pub const fn words(self) -> &'static str {
        match self {
            State::Written => "written",
            State::Unchanged => "unchanged",
            State::Shrinks => "refused",
            State::Unreadable => "unreadable",
            State::Absent => "absent",
            State::Unsupported => "unsupported",
            State::Fresh => "fresh",
            State::FreshByContent => "fresh by content",
            State::Stale => "stale",
            State::Missing => "missing",
            State::Unusable => "unusable",
        }
    }

    /// Whether `compile --check` accepts it.
    pub const fn is_fresh(self) -> bool {
        matches!(self, State::Fresh | State::FreshByContent)
    }

    /// Whether `compile --check` reports it by its exit status.
    pub const fn is_stale(self) -> bool {
        matches!(self, State::Stale | State::Missing | State::Unusable)
    }
}

impl Report {
    /// A report without sources.
    pub fn new(directory: &Path, root: Option<&Path>, libcryptos: &[Libcrypto]) -> Report {
        let judge = |library: &Libcrypto| Judge { library: library.name().into(), version: library.version().into() };
        Report {
            schema: 1,
            directory: directory.to_string_lossy().into_owned(),
            root: root.map(|root| root.to_string_lossy().into_owned()),
            libcrypto: libcryptos.iter().map(judge).collect(),
            sources: Vec::new(),
        }
    }
}

impl Row {
    /// A row with nothing but the state.
    pub fn new(candidate: &Candidate, state: State) -> Row {
        Row {
            kind: kind(&candidate.source),
            path: candidate.source.path().to_string_lossy().into_owned(),
            reason: candidate.reason.clone(),
            named: candidate.named,
            state,
            detail: None,
            anchors: None,
            bytes: None,
            store: None,
            keys_not_decoded: None,
        }
    }

    /// Adds a detail for display.
    pub fn because(mut self, detail: impl std::fmt::Display) -> Row {
        self.detail = Some(detail.to_string());
        self
    }
}
