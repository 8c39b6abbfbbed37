//! The one error type for display: what failed, why, and what to do about it. Each command chooses its own exit status.

use std::fmt;

use crate::printable::{printable, printable_lines};

/// The kind of a failure. A command can choose its exit status by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// None of the kinds below.
    Other,
    /// The request makes no sense.
    Usage,
    /// A source of trust is missing or can't be read.
    SourceUnreadable,
    /// A source of trust was read, but holds something that Windlass does not accept.
    SourceUnsupported,
    /// A source lost so many anchors that it is not believed.
    StoreShrinks,
    /// A file needed for starting a program can't be used.
    RunFailed,
    /// The program to be started was found, but can't be executed.
    NotExecutable,
    /// The program to be started was not found.
    NotFound,
}

/// Why the command can't do its work, worded for the user.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    what: String,
    why: String,
    advice: Vec<String>,
}

impl Failure {
    /// `what` failed (with the path it failed on) because of `why`.
    pub fn new(kind: FailureKind, what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { kind, what: what.into(), why: without_number(why), advice: Vec::new() }
    }

    /// The same for a failure of no particular kind, as most are.
    pub fn other(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::new(FailureKind::Other, what, why)
    }

    /// Adds a line that says what to do.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

/// The text of an error. The standard library appends the error number, which adds nothing to the words before it.
pub fn without_number(error: impl fmt::Display) -> String {
    let mut why = error.to_string();
    if let Some(start) = why.rfind(" (os error ").filter(|_| why.ends_with(')')) {
        why.truncate(start);
    }
    why
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // All of it may contain file names chosen by strangers. Only a reason has several lines.
        write!(f, "windlass: {}: {}", printable(&self.what), printable_lines(&self.why))?;
        for advice in &self.advice {
            write!(f, "\n  help: {}", printable(advice))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_strangers_are_escaped_and_lines_stay() {
        let failure = Failure::new(FailureKind::Other, "a\nb\u{1b}[31m", "none of:\n  c\u{9b}").advise("d\u{202e}");
        let text = "windlass: a\\nb\\u{1b}[31m: none of:\n  c\\u{9b}\n  help: d\\u{202e}";
        assert_eq!(failure.to_string(), text);
    }
}
