//! Counts the events of a cache.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass::{CacheEvent, Observer};

/// A counter for each event.
pub struct Counts([AtomicU64; CacheEvent::ALL.len()]);

impl Counts {
    pub fn new() -> &'static Counts {
        Box::leak(Box::new(Counts(Default::default())))
    }

    pub fn value(&self, event: CacheEvent) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }
}

impl Observer for Counts {
    fn note(&self, event: CacheEvent, n: u64) {
        self.0[event as usize].fetch_add(n, Ordering::Relaxed);
    }
}
