//! One source, as registered with one store.

use crate::tables::HashSet;

use super::foreign::Foreign;
use super::sync::{AppendList, AtomicBool, Ordering, Prepared};

/// A source, and which of its certificates are in the store's memory.
pub struct Registration<F: Foreign> {
    /// Its certificates.
    pub source: F::Source,
    /// The certificates that were put into memory, each once, as in an eager load.
    added: AppendList<u32>,
    /// Whether all were put into memory.
    complete: AtomicBool,
}

impl<F: Foreign> Registration<F> {
    /// A source of which nothing was added yet.
    pub fn new(source: F::Source) -> Registration<F> {
        Registration { source, added: AppendList::new(), complete: AtomicBool::new(false) }
    }

    /// Whether all its certificates are in memory.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Whether a certificate was already added.
    pub fn has_added(&self, index: F::Index) -> bool {
        self.is_complete() || self.added.iter().any(|&known| known == F::number(index))
    }

    /// Allocates the room for a certificate's mark.
    pub fn prepare(index: F::Index) -> Option<Prepared<u32>> {
        AppendList::prepare(F::number(index))
    }

    /// Records that a certificate was added.
    pub fn mark(&self, mark: Prepared<u32>) {
        self.added.append(mark);
    }

    /// Records that all were added.
    pub fn mark_all(&self) {
        self.complete.store(true, Ordering::Release);
    }

    /// The certificates that were added one by one. None if there is no memory for the result.
    pub fn added(&self) -> Option<HashSet<u32>> {
        let mut all = HashSet::default();
        all.try_reserve(self.added.len()).ok()?;
        all.extend(self.added.iter().copied());
        Some(all)
    }
}
