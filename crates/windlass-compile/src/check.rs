//! Whether compiled stores match their sources as they are now. Writes nothing.

use std::path::{Path, PathBuf};

use windlass::Source;
use windlass::compiled::{self, Freshness, ReadError, Root};
use windlass_machine::places::sources::Candidate;
use windlass_machine::{Failure, FailureKind};

use super::build::{state_of, why};
use super::report::{Row, State};

/// Checks the compiled store of one source.
pub fn source(candidate: &Candidate, directory: &Path, root: Root<'_>) -> Row {
    let path = directory.join(compiled::file_name(&candidate.source));
    let found = match compiled::inspect(&path) {
        Ok(found) => found,
        Err(error) => return not_there(candidate, directory, root, &error),
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

/// Explains the state "fresh by content": its cost and its cause.
pub fn by_content(is_believed: bool) -> &'static str {
    if is_believed {
        "the identity of the files has changed since they were compiled, so programs read them to compare"
    } else {
        "the identity of the files is not reliable, so programs read them to compare"
    }
}

fn not_there(candidate: &Candidate, directory: &Path, root: Root<'_>, error: &ReadError) -> Row {
    if !matches!(error, ReadError::Missing { .. }) {
        return Row::new(candidate, State::Unusable).because(error);
    }
    if candidate.named {
        let row = Row::new(candidate, State::Missing);
        return match otherwise_named(candidate, directory) {
            Some(other) => row.because(format!(
                "there is one for {}, but programs find it only by exactly the path that they use themselves",
                other.path().display()
            )),
            None => match compiled::compile(&candidate.source, root.0, None) {
                Ok(_) => row.because(error),
                Err(error) => {
                    Row::new(candidate, state_of(root, candidate, &error)).because(why(root, candidate, &error))
                }
            },
        };
    }
    // A default source that can't be compiled has no compiled store, as expected.
    match compiled::compile(&candidate.source, root.0, None) {
        Ok(_) => Row::new(candidate, State::Missing).because(error),
        Err(error) => Row::new(candidate, state_of(root, candidate, &error)).because(why(root, candidate, &error)),
    }
}

/// The fault of a named source itself, if nothing is compiled from it.
pub fn failure(row: &Row) -> Option<Failure> {
    let kind = match row.state {
        State::Absent | State::Unreadable => FailureKind::SourceUnreadable,
        State::Unsupported => FailureKind::SourceUnsupported,
        _ => return None,
    };
    let why = row.detail.as_deref().unwrap_or("it can't be read");
    row.named.then(|| Failure::new(kind, format!("cannot compile {}", row.path), why))
}

/// The same source by its usual path, without redundant slashes and dots, if that path is compiled.
fn otherwise_named(candidate: &Candidate, directory: &Path) -> Option<Source> {
    let path = candidate.source.path();
    let plain: PathBuf = path.components().collect();
    let other = match candidate.source {
        Source::Cafile(_) => Source::Cafile(plain),
        Source::Capath(_) => Source::Capath(plain),
    };
    let is_other = other.path().as_os_str() != path.as_os_str();
    let is_compiled = || compiled::inspect(&directory.join(compiled::file_name(&other))).is_ok();
    (is_other && is_compiled()).then_some(other)
}
