//! Whether compiled stores are what their sources would give now. Nothing is written.

use std::path::Path;

use windlass::compiled::{self, Freshness, ReadError, Root};
use windlass_machine::places::sources::Candidate;

use super::build::{state_of, why};
use super::report::{Row, State};

/// Looks at the compiled store of one source.
pub fn source(candidate: &Candidate, directory: &Path, root: Root<'_>) -> Row {
    let path = directory.join(compiled::file_name(&candidate.source));
    let found = match compiled::inspect(&path) {
        Ok(found) => found,
        Err(error) => return not_there(candidate, root, &error),
    };
    let (state, detail) = match found.freshness(root.0) {
        Freshness::Fresh => (State::Fresh, None),
        Freshness::FreshByContent => (State::FreshByContent, Some(by_content(found.is_believed).to_owned())),
        Freshness::Stale(why) => (State::Stale, Some(why.to_string())),
    };
    Row {
        detail,
        anchors: Some(found.anchors),
        bytes: Some(found.bytes),
        store: Some(path.to_string_lossy().into_owned()),
        ..Row::new(candidate, state)
    }
}

/// What being fresh by content costs, and why it is.
pub fn by_content(is_believed: bool) -> &'static str {
    if is_believed {
        "the files have another identity than when they were compiled, so programs read them to compare"
    } else {
        "the files' identity can't be believed, so programs read them to compare"
    }
}

fn not_there(candidate: &Candidate, root: Root<'_>, error: &ReadError) -> Row {
    if !matches!(error, ReadError::Missing { .. }) {
        return Row::new(candidate, State::Unusable).because(error);
    }
    if candidate.named {
        return Row::new(candidate, State::Missing).because(error);
    }
    // A default source that can't be compiled has no compiled store, and that is as it should be.
    match compiled::compile(&candidate.source, root.0) {
        Ok(_) => Row::new(candidate, State::Missing).because(error),
        Err(error) => Row::new(candidate, state_of(root, candidate, &error)).because(why(root, candidate, &error)),
    }
}
