//! The recent rate of an event.

use std::collections::VecDeque;
use std::time::Duration;

/// The period of a rate, in seconds.
const WINDOW: u64 = 60;

/// Counts of the last minute, by the second.
#[derive(Clone, Debug, Default)]
pub struct Recent(VecDeque<(u64, u64)>);

impl Recent {
    /// Counts an event at the time `now`, measured from the start of the watch.
    pub fn count(&mut self, now: Duration) {
        let second = now.as_secs();
        match self.0.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => self.0.push_back((second, 1)),
        }
        while self.0.front().is_some_and(|(first, _)| first + WINDOW <= second) {
            self.0.pop_front();
        }
    }

    /// Events in the last minute. During the first minute, extrapolated from the events since the start.
    pub fn per_minute(&self, now: Duration) -> f64 {
        let since = now.as_secs().saturating_sub(WINDOW - 1);
        let counted: u64 = self.0.iter().filter(|(second, _)| *second >= since).map(|(_, count)| count).sum();
        let seconds = now.as_secs_f64().clamp(1.0, WINDOW as f64);
        counted as f64 * WINDOW as f64 / seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_rate_is_of_the_last_minute() {
        let mut recent = Recent::default();
        for second in 0..30 {
            recent.count(at(second));
        }
        assert_eq!(recent.per_minute(at(30)), 60.0);
        assert_eq!(recent.per_minute(at(60)), 29.0);
        assert_eq!(recent.per_minute(at(300)), 0.0);
        recent.count(at(300));
        assert_eq!(recent.per_minute(at(300)), 1.0);
        assert_eq!(recent.0.len(), 1);
    }

    #[test]
    fn the_first_moment_has_no_rate_without_end() {
        let mut recent = Recent::default();
        recent.count(Duration::ZERO);
        assert_eq!(recent.per_minute(Duration::ZERO), 60.0);
    }
}
