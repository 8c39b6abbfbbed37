//! The cache's state for one source: the last store, and the load in progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::compiled::Voucher;
use crate::error::LoadError;
use crate::root_store::RootStore;
use crate::source::State;

/// A finished load.
#[derive(Clone)]
pub(super) struct Entry {
    pub store: Arc<RootStore>,
    pub state: State,
    pub believed: bool,
    /// The user who vouches for the store, if neither the source itself nor root does.
    pub voucher: Voucher,
    /// When it was indexed.
    pub since: Instant,
    /// The bytes that were read, kept while the state is not believed: the next load compares them.
    pub files: Option<Arc<Vec<Vec<u8>>>>,
}

#[derive(Default)]
pub(super) struct Slot {
    inner: Mutex<Inner>,
    /// The cache's count of loads when this was last used.
    pub last_used: AtomicU64,
}

#[derive(Default)]
struct Inner {
    entry: Option<Entry>,
    is_loading: bool,
    /// Where threads wait for the load; None if nobody waits.
    flight: Option<Arc<Flight>>,
}

/// The next step for a source.
// Most sources are loaded by one thread at a time, which makes a loader not worth an allocation.
#[allow(clippy::large_enum_variant)]
pub(super) enum Turn<'s> {
    /// The store is here.
    Hit(Arc<RootStore>),
    /// Another thread is loading it: wait.
    Wait(Arc<Flight>),
    /// Load it. Other threads wait until this is finished or dropped.
    Load(Loader<'s>),
}

impl Slot {
    pub fn with_entry(entry: Entry) -> Slot {
        Slot { inner: Mutex::new(Inner { entry: Some(entry), ..Inner::default() }), ..Slot::default() }
    }

    /// `serves` decides whether a finished load may be used.
    pub fn turn(&self, serves: impl FnOnce(&Entry) -> bool) -> Turn<'_> {
        let mut inner = self.lock();
        if let Some(entry) = inner.entry.as_ref().filter(|entry| serves(entry)) {
            return Turn::Hit(Arc::clone(&entry.store));
        }
        if inner.is_loading {
            return Turn::Wait(Arc::clone(inner.flight.get_or_insert_default()));
        }
        let previous = inner.entry.clone();
        inner.is_loading = true;
        Turn::Load(Loader { slot: self, previous, outcome: None })
    }

    /// The store of the finished load, if `serves` accepts it.
    pub fn served(&self, serves: impl FnOnce(&Entry) -> bool) -> Option<Arc<RootStore>> {
        self.lock().entry.as_ref().filter(|entry| serves(entry)).map(|entry| Arc::clone(&entry.store))
    }

    /// The finished load, unless another thread holds the lock.
    pub fn try_entry(&self) -> Option<Entry> {
        match self.inner.try_lock() {
            Ok(inner) => inner.entry.clone(),
            Err(_) => None,
        }
    }

    /// Whether there is, or may soon be, a store for a source in a state that `is_so` accepts.
    pub fn may_serve(&self, is_so: impl FnOnce(&State) -> bool) -> bool {
        match self.inner.try_lock() {
            Ok(inner) => inner.is_loading || inner.entry.as_ref().is_some_and(|entry| is_so(&entry.state)),
            Err(_) => true,
        }
    }

    /// Size of the store's source in bytes; 0 if reading it would have to wait.
    pub fn source_bytes(&self) -> u64 {
        self.try_entry().map_or(0, |entry| entry.store.source_bytes())
    }

    pub fn touch(&self, loads: u64) {
        // Writing only when the value changes keeps the cache line shared between threads.
        if self.last_used.load(Ordering::Relaxed) != loads {
            self.last_used.store(loads, Ordering::Relaxed);
        }
    }

    /// For tests: holds the lock, like a thread that a fork leaves behind.
    #[cfg(test)]
    pub fn hold(&self) -> impl Drop + '_ {
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to load, and the duty to wake the waiting threads however the load ends.
pub(super) struct Loader<'s> {
    slot: &'s Slot,
    /// The entry of the previous load.
    pub previous: Option<Entry>,
    outcome: Option<Result<Entry, LoadError>>,
}

impl Loader<'_> {
    pub fn finish(mut self, outcome: Result<Entry, LoadError>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        let mut inner = self.slot.lock();
        inner.is_loading = false;
        let flight = inner.flight.take();
        let told = match self.outcome.take() {
            Some(Ok(entry)) => {
                inner.entry = Some(entry);
                Outcome::Loaded
            }
            // Errors are not kept: the next call tries again.
            Some(Err(error)) => Outcome::Failed(error),
            None => Outcome::Interrupted,
        };
        drop(inner);
        // Waking nobody would cost a system call too.
        if let Some(flight) = flight {
            // Only this loader knows the outcome.
            let _ = flight.set(told);
        }
    }
}

/// A load in progress, as the waiting threads see it.
pub(super) type Flight = OnceLock<Outcome>;

pub(super) enum Outcome {
    /// Loaded: look at the slot again.
    Loaded,
    Failed(LoadError),
    /// The loading thread panicked.
    Interrupted,
}
