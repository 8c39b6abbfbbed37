//! Counts of opens.

use std::time::Duration;

use super::recent::Recent;

/// The numbers and sizes of opened files.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of opened files.
    pub opens: u64,
    /// Number of opened directories.
    pub listings: u64,
    /// The sizes of the opened files.
    pub bytes: u64,
    recent: Recent,
}

/// An open of a file or directory.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The size of a file; `None` for a directory.
    pub size: Option<u64>,
    /// The time, measured from the start of the watch.
    pub at: Duration,
}

impl Tally {
    /// Counts an open.
    pub fn count(&mut self, open: Open) {
        match open.size {
            Some(size) => {
                self.opens += 1;
                self.bytes = self.bytes.saturating_add(size);
                self.recent.count(open.at);
            }
            None => self.listings += 1,
        }
    }

    /// Files opened in the last minute.
    pub fn per_minute(&self, now: Duration) -> f64 {
        self.recent.per_minute(now)
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        self.opens += other.opens;
        self.listings += other.listings;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
