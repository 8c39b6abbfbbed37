//! The sources of a load, and the interface of its target.

use crate::json;

/// A source that a load was told to read.
pub struct Source {
    /// Its kind, as in docs/trace-events.md.
    pub kind: &'static str,
    /// Its path or URI.
    pub path: Option<Vec<u8>>,
}

impl Source {
    /// Whether it is a file named relative to the working directory.
    pub fn is_relative(&self) -> bool {
        let is_file = !matches!(self.kind, "uri" | "memory" | "system" | "default-store");
        is_file && self.path.as_ref().is_some_and(|path| path.first() != Some(&b'/'))
    }
}

/// The target of a load.
pub trait Subject {
    /// The library: name, version and path.
    fn library(&self) -> &str;
    /// Its address, if it is a store.
    fn store(&self) -> Option<usize>;
    /// The number of certificates in it now, if it can be asked.
    fn held(&self) -> Option<i64>;
    /// The number of certificates that came in: from the numbers before and now, or from the result.
    fn certificates(&self, before: Option<i64>, result: i64) -> Option<i64>;
    /// Whether it stands for a token from now on, as far as these sources tell.
    fn may_be_on_token(&self, _sources: &[Source]) -> bool {
        false
    }
    /// The number of certificates that were parsed, given the number of additions seen.
    fn parsed(&self, seen: i64, result: i64) -> Option<i64>;
}

/// Sources as JSON.
pub fn listed(sources: &[Source]) -> String {
    json::list(sources, |out, source| {
        out.push_str("{\"kind\":\"");
        out.push_str(source.kind);
        out.push_str("\",\"path\":");
        match &source.path {
            Some(path) => json::string(out, path, json::LONGEST_PATH),
            None => out.push_str("null"),
        }
        out.push('}');
    })
}
