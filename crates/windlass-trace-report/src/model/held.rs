//! The memory that stores hold.

/// A number of bytes that goes up and down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub now: i64,
    peak: i64,
    /// Loads whose held memory is known.
    pub known: u64,
    /// Loads whose held memory is unknown.
    pub unknown: u64,
}

impl Held {
    /// The peak, in bytes.
    pub fn peak(&self) -> Option<i64> {
        (self.known > 0).then_some(self.peak)
    }

    /// The bytes never freed.
    pub fn end(&self) -> Option<i64> {
        (self.known > 0).then_some(self.now)
    }

    /// Adds allocated bytes, or subtracts freed ones.
    pub fn change(&mut self, by: i64) {
        self.now = self.now.saturating_add(by);
        self.peak = self.peak.max(self.now);
    }
}
