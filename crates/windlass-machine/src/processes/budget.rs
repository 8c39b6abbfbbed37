//! Limits on reading strangers' files.

use std::time::{Duration, Instant};

/// The remaining bytes and time.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    bytes: u64,
    until: Option<Instant>,
}

/// More than all executables of a large machine together.
const BYTES: u64 = 8 << 30;
const TIME: Duration = Duration::from_secs(60);

impl Default for Budget {
    fn default() -> Budget {
        Budget::of(BYTES, TIME)
    }
}

impl Budget {
    /// A limit on bytes, and on time from now.
    pub fn of(bytes: u64, time: Duration) -> Budget {
        // A time that overflows the clock is no limit.
        Budget { bytes, until: Instant::now().checked_add(time) }
    }

    /// A limit on time alone.
    pub fn of_time(time: Duration) -> Budget {
        Budget::of(BYTES, time)
    }

    /// Whether the budget is used up.
    pub fn is_spent(&self) -> bool {
        self.bytes == 0 || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Takes bytes from the budget.
    pub fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// A limit on bytes alone.
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
