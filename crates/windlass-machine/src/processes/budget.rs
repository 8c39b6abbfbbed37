//! How much may be read of the files of strangers.

use std::time::{Duration, Instant};

/// Bytes and time that are left.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    bytes: u64,
    until: Option<Instant>,
}

/// More than the executables of a large machine have together, each once.
const BYTES: u64 = 8 << 30;
const TIME: Duration = Duration::from_secs(60);

impl Default for Budget {
    fn default() -> Budget {
        Budget::of(BYTES, TIME)
    }
}

impl Budget {
    /// So many bytes, and so much time from now.
    pub fn of(bytes: u64, time: Duration) -> Budget {
        // A time that the clock has no room for is as good as none.
        Budget { bytes, until: Instant::now().checked_add(time) }
    }

    /// Time alone.
    pub fn of_time(time: Duration) -> Budget {
        Budget::of(BYTES, time)
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.bytes == 0 || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Takes some bytes.
    pub fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// So many bytes, for as long as it takes.
    pub fn of_bytes(bytes: u64) -> Budget {
        Budget { bytes, until: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_the_bytes_and_with_the_time() {
        let mut budget = Budget::of_bytes(2);
        budget.take(1);
        assert!(!budget.is_spent());
        budget.take(2);
        assert!(budget.is_spent());
        assert!(Budget::of_time(Duration::ZERO).is_spent());
        assert!(!Budget::of_time(Duration::MAX).is_spent());
    }
}
