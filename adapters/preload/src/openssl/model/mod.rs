//! The life of one `X509_STORE`: its lock, its phase, its registered sources, its events.
//!
//! ```text
//!          a verification begins          something reads, or fills,         the program has the
//!          (where that matters)           memory where we don't see it       live stack
//!   Lazy ------------------> Verifying ------------------> Eager ------------------> Exposed
//!     |                          |                           |                          |
//!     +--------------------------+------------+--------------+--------------------------+
//!                                             | the last X509_STORE_free
//!                                             v
//!                                           Ended
//! ```
//!
//! A phase never goes back. In all of them:
//!
//! - For each subject of each registered source, memory holds either all its certificates, in the order of an eager
//!   load, or none of them and no other certificate of that subject. From `Verifying` on, it holds all certificates of
//!   each subject that several certificates of a source share.
//! - A search that follows a miss in memory is answered from the registered sources, whoever has put their certificates
//!   into memory since; from `Exposed` on, by the contents of memory at that moment.
//! - From `Eager` on, every load goes into memory at once.
//! - After `Ended` the store is not touched.
//!
//! libcrypto's own work is behind [`Foreign`], and the state that threads share is behind `sync`: tests/model.rs runs
//! this code with a stand-in for both, in every order of two and three threads.

mod distinct;
mod foreign;
mod locked;
mod log;
mod source;

use super::sync;
use sync::{AppendList, Arc, AtomicU8, AtomicUsize, Guard, Lock, Ordering};

pub use foreign::Foreign;
pub use log::Event;
pub use source::Registration;

use log::Log;

/// The phases of a store: see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Loads are only registered.
    Lazy,
    /// A verification has begun, or may begin unseen by any hook.
    Verifying,
    /// Something may read the store's memory unseen by any hook.
    Eager,
    /// The program has had the live stack of objects: it may remove some, and it sees additions.
    Exposed,
    /// The store is being freed.
    Ended,
}

const PHASES: [Phase; 5] = [Phase::Lazy, Phase::Verifying, Phase::Eager, Phase::Exposed, Phase::Ended];

/// Something may be in memory.
const TOUCHED: u8 = 1;
/// A search found nothing registered and went on to other lookups: these may add certificates at any time from now on.
const WENT_ON: u8 = 2;
/// libcrypto has put something into memory unseen.
const UNSEEN: u8 = 4;

/// A log with more events than this plus twice the number of objects is settled: most of its events were about objects
/// that the store had already.
const EVENTS: usize = 64;

const UNKNOWN: usize = usize::MAX;

/// The life of one store.
pub struct Model<F: Foreign> {
    /// The store's memory.
    pub foreign: F,
    lock: Lock,
    phase: AtomicU8,
    traces: AtomicU8,
    /// The registered sources, in the order in which the program loaded them.
    registrations: AppendList<Arc<Registration<F>>>,
    log: Log<F>,
    /// The last known number of objects; `UNKNOWN`: nobody has looked yet.
    count: AtomicUsize,
}

/// The model, with its lock held.
pub struct Locked<'m, F: Foreign> {
    model: &'m Model<F>,
    _guard: Guard<'m>,
}

/// The registered certificates of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<C> {
    /// None, or none that could be made.
    Nothing,
    /// All are in the store's memory, and this is the first.
    First(C),
    /// All were put into memory, but the program has had the live stack since, and may have removed some.
    InMemory,
    /// Some have to be made first. Nothing was done.
    NotMade,
}

/// Different certificates of one subject would come together. Nothing was registered.
#[derive(Debug, PartialEq, Eq)]
pub struct Contested;

impl<F: Foreign> Model<F> {
    /// For a store that was just created.
    pub fn new(foreign: F, phase: Phase) -> Model<F> {
        Model {
            foreign,
            lock: Lock::new(),
            phase: AtomicU8::new(phase as u8),
            traces: AtomicU8::new(0),
            registrations: AppendList::new(),
            log: Log::new(),
            count: AtomicUsize::new(UNKNOWN),
        }
    }

    /// The current phase of the store.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Acquire))]
    }

    /// Keeps other threads from registering or adding.
    pub fn lock(&self) -> Locked<'_, F> {
        Locked { model: self, _guard: self.lock.lock() }
    }

    /// The registered sources.
    pub fn registrations(&self) -> &AppendList<Arc<Registration<F>>> {
        &self.registrations
    }

    /// Whether the store is a stack by now.
    pub fn is_stack(&self) -> bool {
        self.foreign.keeps_a_stack() || self.phase() >= Phase::Exposed
    }

    /// Whether an enumeration would miss something, or see a different order.
    pub fn is_incomplete(&self) -> bool {
        (self.foreign.keeps_a_stack() && self.has_pending()) || self.is_missing_some()
    }

    /// Whether everything loaded is in memory as after an eager load, and will be from now on.
    pub fn is_settled(&self) -> bool {
        self.foreign.keeps_a_stack() && self.phase() >= Phase::Eager && !self.is_incomplete()
    }

    /// Whether there are events that memory does not show, or not in their place.
    pub fn has_pending(&self) -> bool {
        self.log.len() > 0
    }

    /// Whether something came into memory unseen.
    pub fn has_unseen(&self) -> bool {
        self.has_trace(UNSEEN)
    }

    /// A lookup found nothing, and libcrypto may now add something unseen.
    pub fn mark_unseen(&self) {
        self.leave_trace(UNSEEN);
    }

    /// Adds all registered certificates, in the order of an eager load.
    pub fn complete(&self) {
        self.make_all();
        self.lock().settle();
    }

    /// As [`Model::complete`]; also, from now on, every load goes into memory at once. May be called for any store that
    /// is still known: one that is being freed is left alone.
    pub fn make_eager(&self) {
        self.make_all();
        let locked = self.lock();
        if self.phase() < Phase::Ended {
            locked.settle();
            self.advance(Phase::Eager);
        }
    }

    /// From now on, every load goes into memory at once. The thread itself has locked the store, so nothing can be
    /// added now.
    pub fn be_eager(&self) {
        self.advance(Phase::Eager);
    }

    /// The program is about to load something that we can't look into: all registered certificates go in first, so that
    /// the order is that of an eager load.
    pub fn leave_to_original(&self) {
        self.complete();
        self.leave_trace(TOUCHED | UNSEEN);
    }

    /// The program locks the store: it is about to read its objects, and while it holds the lock nothing can be added.
    /// `None`: it could not be locked.
    pub fn lock_complete<L>(&self, complete: impl Fn(), lock: impl Fn() -> Option<L>, unlock: impl Fn(L)) -> Option<L> {
        /// Another thread may load a file between the two steps, but not for ever.
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            complete();
            let locked = lock()?;
            if !self.is_incomplete() {
                return Some(locked);
            }
            unlock(locked);
        }
        lock()
    }

    /// The program has locked the store and takes the live stack.
    pub fn expose(&self) {
        self.advance(Phase::Exposed);
    }

    /// The store is being freed. A thread that still looks at it waits, or finds it ended.
    pub fn end(&self) {
        let _locked = self.lock();
        self.advance(Phase::Ended);
    }

    /// Whether [`Model::begin_verification`] has something to do.
    pub fn expects_verification(&self) -> bool {
        !self.foreign.adds_as_one() && self.phase() == Phase::Lazy
    }

    /// Whether [`Model::begin_verification`] or [`Model::check_count`] has something to do, as far as this can be told
    /// without a lock.
    pub fn needs_a_look(&self) -> bool {
        self.expects_verification() || self.is_missing_some()
    }

    /// Makes the store ready for verifications, now and from now on.
    ///
    /// Other threads may verify while a lookup adds one certificate after another, and libcrypto asks no lookup for a
    /// subject that has a certificate in memory. Where certificates can't be added in one step, those of shared
    /// subjects go in first.
    pub fn begin_verification(&self) {
        if !self.expects_verification() {
            return;
        }
        let locked = self.lock();
        if self.phase() != Phase::Lazy {
            return;
        }
        let add = |whole, registration: &Arc<Registration<F>>| whole & locked.add_shared_subjects(registration);
        let whole = self.registrations.iter().fold(true, add);
        locked.remember_sortedness();
        // Only now: a thread that sees this goes on without the lock. When memory is short, the next caller tries
        // again.
        if whole {
            self.advance(Phase::Verifying);
        }
    }

    /// Checks whether something came in unseen that hides a registered certificate. A table can't be counted, and
    /// listing it costs as much as the rest of a search: it is checked once.
    pub fn check_count(&self) {
        if !self.is_missing_some() || !self.has_changed() {
            return;
        }
        let locked = self.lock();
        if !self.has_changed() {
            return;
        }
        if self.foreign.hides_something(&self.registrations) {
            locked.settle();
        }
        self.count.store(self.foreign.count().unwrap_or(0), Ordering::Release);
    }

    /// libcrypto has found nothing in memory, and asks. `of_subject` returns a source's certificates of the subject;
    /// `in_memory` looks at the current contents of memory.
    pub fn search<'m, I: Iterator<Item = F::Index>>(
        &'m self,
        of_subject: impl Fn(&'m F::Source) -> I,
        in_memory: impl FnOnce() -> Option<F::Certificate>,
    ) -> Option<F::Certificate> {
        self.leave_trace(TOUCHED);
        let mut locked = self.lock();
        let mut found = locked.put_made(&of_subject);
        if matches!(found, Found::NotMade) {
            // Making them is slow, and can run the program's code: not under the lock.
            drop(locked);
            self.make(&of_subject);
            locked = self.lock();
            found = locked.put_together(&of_subject);
        }
        locked.note(Event::Find);
        let answer = match found {
            Found::Nothing | Found::NotMade => None,
            Found::First(certificate) => Some(certificate),
            Found::InMemory => in_memory(),
        };
        if answer.is_none() {
            self.leave_trace(WENT_ON);
        }
        answer
    }

    /// A search goes on for a name whose registered certificates we can't determine: all sources go in.
    pub fn search_goes_on(&self) {
        self.leave_trace(TOUCHED | WENT_ON);
        self.complete();
    }

    fn make<'m, I: Iterator<Item = F::Index>>(&'m self, of_source: impl Fn(&'m F::Source) -> I) {
        for registration in self.registrations.iter().filter(|registration| !registration.is_complete()) {
            for index in of_source(&registration.source) {
                self.foreign.make(&registration.source, index);
            }
        }
    }

    fn make_all(&self) {
        self.make(|source| self.foreign.all(source));
    }

    fn is_missing_some(&self) -> bool {
        self.registrations.iter().any(|registration| !registration.is_complete())
    }

    fn has_changed(&self) -> bool {
        let known = self.count.load(Ordering::Acquire);
        self.foreign.count().map_or(known == UNKNOWN, |count| count != known)
    }

    fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
    }

    fn leave_trace(&self, trace: u8) {
        if !self.has_trace(trace) {
            self.traces.fetch_or(trace, Ordering::AcqRel);
        }
    }

    fn has_trace(&self, trace: u8) -> bool {
        self.traces.load(Ordering::Acquire) & trace == trace
    }
}
