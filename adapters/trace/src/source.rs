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
    let mut list = String::from("[");
    for source in sources {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str("{\"kind\":\"");
        list.push_str(source.kind);
        list.push_str("\",\"path\":");
        match &source.path {
            Some(path) => json::string(&mut list, path, json::LONGEST_PATH),
            None => list.push_str("null"),
        }
        list.push('}');
    }
    list.push(']');
    list
}
