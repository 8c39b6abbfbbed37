//! What came of `compile`, however it is rendered. The field names are those of the JSON, which `windlass compile
//! --help` documents.

use std::path::Path;

use serde::Serialize;
use windlass::Source;
use windlass_libcrypto::Libcrypto;
use windlass_machine::places::sources::Candidate;

/// All sources, and where their compiled stores are.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    /// Of the compiled stores, as this process reaches it.
    pub directory: String,
    /// The root directory of the image.
    pub root: Option<String>,
    /// The libcryptos that checked the certificates.
    pub libcrypto: Vec<Judge>,
    /// The sources, in order.
    pub sources: Vec<Row>,
}

/// A libcrypto.
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
    /// As programs name it, without the root directory of an image.
    pub path: String,
    /// Why it is a source.
    pub reason: String,
    /// Whether the user named it.
    #[serde(skip)]
    pub named: bool,
    /// The outcome.
    pub state: State,
    /// More about the state, for people.
    pub detail: Option<String>,
    /// In the compiled store.
    pub anchors: Option<usize>,
    /// In the compiled store.
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
    /// Compiled now, to the same bytes as were there.
    Unchanged,
    /// Not compiled: most of its anchors would be lost.
    Shrinks,
    /// Not compiled: it can't be read, or a link of a directory leads nowhere.
    Unreadable,
    /// The source does not exist, or a directory has no certificates by hash.
    Absent,
    /// Holds something that can't be compiled.
    Unsupported,
    /// The compiled store is used.
    Fresh,
    /// The compiled store is used, once the source was read and found to be the same.
    FreshByContent,
    /// The compiled store is not used, as the source has changed.
    Stale,
    /// There is no compiled store.
    Missing,
    /// There is one that can't be used.
    Unusable,
}

impl State {
    /// As in the JSON, but words.
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

    /// Whether `compile --check` is content with it.
    pub const fn is_fresh(self) -> bool {
        matches!(self, State::Fresh | State::FreshByContent)
    }

    /// Whether `compile --check` says with its exit status that there is something to do.
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
    /// A source of which nothing is known but its state.
    pub fn new(candidate: &Candidate, state: State) -> Row {
        Row {
            kind: match candidate.source {
                Source::Cafile(_) => "cafile",
                Source::Capath(_) => "capath",
            },
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

    /// With a reason for people.
    pub fn because(mut self, detail: impl std::fmt::Display) -> Row {
        self.detail = Some(detail.to_string());
        self
    }
}
