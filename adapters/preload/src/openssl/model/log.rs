//! What has happened to a store since its memory was last what an eager load would have made of it.

use std::hash::BuildHasher;
use std::ptr;
use std::sync::Mutex;

use crate::tables::{HashSet, Keyed};

use super::foreign::Foreign;
use super::source::Registration;
use super::sync::{AppendList, Arc, AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// One thing that has happened.
pub enum Event<F: Foreign> {
    /// What was in memory before, and whether it was sorted.
    Base(F::Base, bool),
    /// A source was loaded.
    Load(Arc<Registration<F>>),
    /// One certificate was added, by the program or from a hashed directory.
    Added(F::Held),
    /// A search.
    Find,
}

/// The events since the last settling. It is only read and written with the store's lock held, but for its length. A
/// child that was forked in the middle of a step finds it as before the step, or as after it.
pub struct Log<F: Foreign> {
    events: AtomicPtr<AppendList<Event<F>>>,
    length: AtomicUsize,
    ends_in_find: AtomicBool,
    /// The stack was sorted when the last load or addition was noted.
    pub sorted_when_noted: AtomicBool,
    keys: (Keyed, Keyed),
    known: Mutex<HashSet<[u64; 2]>>,
}

impl<F: Foreign> Log<F> {
    /// Nothing has happened.
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

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Whether the last event is a search.
    pub fn ends_in_find(&self) -> bool {
        self.ends_in_find.load(Ordering::Relaxed)
    }

    /// Writes one down.
    pub fn push(&self, event: Event<F>) {
        self.ends_in_find.store(matches!(event, Event::Find), Ordering::Relaxed);
        let mut events = self.events.load(Ordering::Acquire);
        if events.is_null() {
            events = Box::into_raw(Box::new(AppendList::new()));
            self.events.store(events, Ordering::Release);
        }
        // SAFETY: made above or before, and freed by `clear` alone, with the lock held as here.
        unsafe { (*events).push(event) };
        self.length.fetch_add(1, Ordering::AcqRel);
    }

    /// From first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Event<F>> {
        // SAFETY: as in `push`.
        unsafe { self.events.load(Ordering::Acquire).as_ref() }.into_iter().flat_map(AppendList::iter)
    }

    /// Whether an event of a table was not noted before; it counts as noted from now on. There nothing is settled
    /// before the table becomes a stack, and what was noted once changes nothing when it comes again.
    pub fn is_new(&self, of: &[u8]) -> bool {
        let fingerprint = [self.keys.0.hash_one(of), self.keys.1.hash_one(of)];
        // Only a child that was forked in the middle finds it locked: the store's lock is held.
        // For want of memory it is taken for new: it may then be noted twice.
        self.known.try_lock().map_or(true, |mut known| known.try_reserve(1).is_err() || known.insert(fingerprint))
    }

    /// All of it is dealt with.
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
            // SAFETY: from `push`; nobody else has it, as the lock is held, or as the log goes.
            drop(unsafe { Box::from_raw(events) });
        }
    }
}

impl<F: Foreign> Drop for Log<F> {
    fn drop(&mut self) {
        self.free();
    }
}
