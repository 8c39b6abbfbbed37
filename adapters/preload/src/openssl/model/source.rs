//! One source, as registered with one store.

use crate::tables::HashSet;

use super::foreign::Foreign;
use super::sync::{AppendList, AtomicBool, Ordering, Prepared};

/// A source, and what of it is in the store's memory.
pub struct Registration<F: Foreign> {
    /// Its certificates.
    pub source: F::Source,
    /// Those that were put into memory: each once, as an eager load does.
    added: AppendList<u32>,
    /// All were.
    complete: AtomicBool,
}

impl<F: Foreign> Registration<F> {
    /// Nothing was added yet.
    pub fn new(source: F::Source) -> Registration<F> {
        Registration { source, added: AppendList::new(), complete: AtomicBool::new(false) }
    }

    /// Whether all of it is in memory.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Whether one was added before.
    pub fn has_added(&self, index: F::Index) -> bool {
        self.is_complete() || self.added.iter().any(|&known| known == F::number(index))
    }

    /// Room for the mark of one.
    pub fn prepare(index: F::Index) -> Option<Prepared<u32>> {
        AppendList::prepare(F::number(index))
    }

    /// Remembers that one was added.
    pub fn mark(&self, mark: Prepared<u32>) {
        self.added.append(mark);
    }

    /// Remembers that all were.
    pub fn mark_all(&self) {
        self.complete.store(true, Ordering::Release);
    }

    /// Those that were added one by one. None if there is no memory for them.
    pub fn added(&self) -> Option<HashSet<u32>> {
        let mut all = HashSet::default();
        all.try_reserve(self.added.len()).ok()?;
        all.extend(self.added.iter().copied());
        Some(all)
    }
}
