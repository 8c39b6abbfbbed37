//! The events of a store since its memory last matched an eager load.

use std::hash::BuildHasher;
use std::ptr;
use std::sync::Mutex;

use crate::tables::{HashSet, Keyed};

use super::foreign::Foreign;
use super::source::Registration;
use super::sync::{AppendList, Arc, AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// One event.
pub enum Event<F: Foreign> {
    /// The earlier contents of memory, and whether they were sorted.
    Base(F::Base, bool),
    /// A source was loaded.
    Load(Arc<Registration<F>>),
    /// One certificate was added, by the program or from a hashed directory.
    Added(F::Held),
    /// A search.
    Find,
}

/// The events since the last settling. Everything but its length is only read and written with the store's lock held. A
/// child forked in the middle of a step finds the log as before the step, or as after it.
pub struct Log<F: Foreign> {
    events: AtomicPtr<AppendList<Event<F>>>,
    length: AtomicUsize,
    ends_in_find: AtomicBool,
    /// Whether the stack was sorted when the last load or addition was noted.
    pub sorted_when_noted: AtomicBool,
    keys: (Keyed, Keyed),
    known: Mutex<HashSet<[u64; 2]>>,
}

impl<F: Foreign> Log<F> {
    /// An empty log.
    pub fn new() -> Log<F> {
        Log {
            events: AtomicPtr::new(ptr::null_mut()),
            length: AtomicUsize::new(0),
            ends_in_find: AtomicBool::new(false),
            sorted_when_noted: AtomicBool::new(false),
            keys: (Keyed::new(1), Keyed::new(2)),
            known: Mutex::default(),
        }
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Whether the last event is a search.
    pub fn ends_in_find(&self) -> bool {
        self.ends_in_find.load(Ordering::Relaxed)
    }

    /// Appends an event.
    pub fn push(&self, event: Event<F>) {
        self.ends_in_find.store(matches!(event, Event::Find), Ordering::Relaxed);
        let mut events = self.events.load(Ordering::Acquire);
        if events.is_null() {
            events = Box::into_raw(Box::new(AppendList::new()));
            self.events.store(events, Ordering::Release);
        }
        // SAFETY: made above or before, and freed only by `clear`, with the lock held as here.
        unsafe { (*events).push(event) };
        self.length.fetch_add(1, Ordering::AcqRel);
    }

    /// The events from first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Event<F>> {
        // SAFETY: as in `push`.
        unsafe { self.events.load(Ordering::Acquire).as_ref() }.into_iter().flat_map(AppendList::iter)
    }

    /// Whether a table's event was not noted before; from now on it counts as noted. For a table nothing is settled
    /// before it becomes a stack, and repeating a noted event changes nothing.
    pub fn is_new(&self, of: &[u8]) -> bool {
        let fingerprint = [self.keys.0.hash_one(of), self.keys.1.hash_one(of)];
        // The store's lock is held, so only a child forked in the middle finds this locked. When memory is short, the
        // event counts as new: it may then be noted twice.
        self.known.try_lock().map_or(true, |mut known| known.try_reserve(1).is_err() || known.insert(fingerprint))
    }

    /// Forgets all events, once they are dealt with.
    pub fn clear(&self) {
        self.length.store(0, Ordering::Release);
        self.ends_in_find.store(false, Ordering::Relaxed);
        self.free();
        if let Ok(mut known) = self.known.try_lock() {
            *known = HashSet::default();
        }
    }

    fn free(&self) {
        let events = self.events.swap(ptr::null_mut(), Ordering::AcqRel);
        if !events.is_null() {
            // SAFETY: from `push`; nobody else has it, because the lock is held or the log is being dropped.
            drop(unsafe { Box::from_raw(events) });
        }
    }
}

impl<F: Foreign> Drop for Log<F> {
    fn drop(&mut self) {
        self.free();
    }
}
