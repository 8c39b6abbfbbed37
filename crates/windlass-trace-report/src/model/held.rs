//! Memory that stores hold.

/// A number of bytes that goes up and down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub now: i64,
    peak: i64,
    /// Loads of which that is known.
    pub known: u64,
    /// Loads of which nobody knows what they hold.
    pub unknown: u64,
}

impl Held {
    /// The most at any time.
    pub fn peak(&self) -> Option<i64> {
        (self.known > 0).then_some(self.peak)
    }

    /// Bytes that were never freed.
    pub fn end(&self) -> Option<i64> {
        (self.known > 0).then_some(self.now)
    }

    /// Some were allocated, or freed.
    pub fn change(&mut self, by: i64) {
        self.now = self.now.saturating_add(by);
        self.peak = self.peak.max(self.now);
    }
}
