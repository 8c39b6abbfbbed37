//! The life of one `X509_STORE`: its lock, its phase, what is registered with it, what has happened to it.
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
//! - For each subject of each registered source, either all its certificates are in memory, in the order of an eager load, or none of
//!   them, and no other certificate of that subject is there. From `Verifying` on it is the former for all subjects that several
//!   certificates of a source share.
//! - A search that comes after libcrypto has found nothing in memory is answered from what is registered, whoever put it into memory
//!   since then; from `Exposed` on by what memory holds at that moment.
//! - From `Eager` on what is loaded goes into memory at once.
//! - After `Ended` the store is not touched.
//!
//! What libcrypto itself does is behind [`Foreign`], and what threads share behind `sync`: tests/model.rs runs this code with a
//! stand-in for both, in every order of two and three threads.

mod foreign;
mod log;
mod source;

use std::collections::HashSet;

use super::sync::{self, AppendList, Arc, AtomicU8, AtomicUsize, Guard, Lock, Ordering};

pub use foreign::Foreign;
pub use log::Event;
pub use source::Registration;

use log::Log;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// What is loaded is only registered.
    Lazy,
    /// A verification has begun, or may begin where no hook sees it.
    Verifying,
    /// Something may read the store's memory where no hook sees it.
    Eager,
    /// The program has had the live stack of objects: it may take some out, and it sees what comes in.
    Exposed,
    /// The store is being freed.
    Ended,
}

const PHASES: [Phase; 5] = [Phase::Lazy, Phase::Verifying, Phase::Eager, Phase::Exposed, Phase::Ended];

/// Something may be in memory.
const TOUCHED: u8 = 1;
/// A search found nothing registered, and went on to other lookups: they may add certificates at any time from now on.
const WENT_ON: u8 = 2;
/// libcrypto has put something into memory that was not seen.
const UNSEEN: u8 = 4;

/// More events than this, and than twice as many as there are objects, are not kept: most of them were of objects that the store
/// had already.
const EVENTS: usize = 64;

/// The life of one store.
pub struct Model<F: Foreign> {
    /// Its memory.
    pub foreign: F,
    lock: Lock,
    phase: AtomicU8,
    traces: AtomicU8,
    /// In the order in which the program loaded them.
    registrations: AppendList<Arc<Registration<F>>>,
    log: Log<F>,
    /// How many objects there were when we last knew.
    count: AtomicUsize,
}

/// The model, with its lock held.
pub struct Locked<'m, F: Foreign> {
    model: &'m Model<F>,
    _guard: Guard<'m>,
}

/// What is registered of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<C> {
    /// Nothing, or nothing that could be made.
    Nothing,
    /// All of it is in the store's memory, and this is the first.
    First(C),
    /// All of it was put into memory, and the program has had the live stack since: it may have taken some out.
    InMemory,
    /// Some of it has to be made before. Nothing was done.
    NotMade,
}

/// Different certificates of one subject would come together. Nothing was registered.
#[derive(Debug, PartialEq, Eq)]
pub struct Contested;

impl<F: Foreign> Model<F> {
    /// Of a store that was just made.
    pub fn new(foreign: F, phase: Phase) -> Model<F> {
        Model {
            foreign,
            lock: Lock::new(),
            phase: AtomicU8::new(phase as u8),
            traces: AtomicU8::new(0),
            registrations: AppendList::new(),
            log: Log::new(),
            count: AtomicUsize::new(0),
        }
    }

    /// How far the store's life has gone.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Acquire))]
    }

    /// Keeps other threads from registering or adding.
    pub fn lock(&self) -> Locked<'_, F> {
        Locked { model: self, _guard: self.lock.lock() }
    }

    /// What is registered.
    pub fn registrations(&self) -> &AppendList<Arc<Registration<F>>> {
        &self.registrations
    }

    /// Whether the store is a stack by now.
    pub fn is_stack(&self) -> bool {
        self.foreign.keeps_a_stack() || self.phase() >= Phase::Exposed
    }

    /// Whether an enumeration would miss something, or see it in another order.
    pub fn is_incomplete(&self) -> bool {
        (self.foreign.keeps_a_stack() && self.has_pending()) || self.is_missing_some()
    }

    /// Whether something has happened that does not show, or not in its place, in memory.
    pub fn has_pending(&self) -> bool {
        self.log.len() > 0
    }

    /// Whether something in memory was not seen to come in.
    pub fn has_unseen(&self) -> bool {
        self.has_trace(UNSEEN)
    }

    /// A lookup found nothing, and libcrypto may now add what is not seen.
    pub fn mark_unseen(&self) {
        self.leave_trace(UNSEEN);
    }

    /// Adds all that is registered, in the order in which an eager load would have.
    pub fn complete(&self) {
        self.make_all();
        self.lock().settle();
    }

    /// As [`Model::complete`], and whatever is loaded from now on goes in at once. This can be called of any store that is still
    /// known: one that is being freed is left alone.
    pub fn make_eager(&self) {
        self.make_all();
        let locked = self.lock();
        if self.phase() < Phase::Ended {
            locked.settle();
            self.advance(Phase::Eager);
        }
    }

    /// From now on what is loaded goes in at once. The thread has locked the store itself, so nothing can be added now.
    pub fn be_eager(&self) {
        self.advance(Phase::Eager);
    }

    /// The program is about to load something that we can't look into: what was only registered so far goes in first, so that the
    /// order is that of an eager load.
    pub fn leave_to_original(&self) {
        self.complete();
        self.leave_trace(TOUCHED | UNSEEN);
    }

    /// The program has locked the store and takes the live stack.
    pub fn expose(&self) {
        self.advance(Phase::Exposed);
    }

    /// The store is being freed. Whoever still looks at it waits, or finds it ended.
    pub fn end(&self) {
        let _locked = self.lock();
        self.advance(Phase::Ended);
    }

    /// Whether [`Model::begin_verification`] has something to do.
    pub fn expects_verification(&self) -> bool {
        !self.foreign.adds_as_one() && self.phase() == Phase::Lazy
    }

    /// Whether [`Model::begin_verification`] or [`Model::check_count`] has something to do, as far as can be said without a lock.
    pub fn needs_a_look(&self) -> bool {
        self.expects_verification() || self.is_missing_some()
    }

    /// Makes the store ready for verifications, now and from now on.
    ///
    /// Other threads may verify while a lookup adds one certificate after the other, and libcrypto asks no lookup for a subject of
    /// which it has one. Where they can't go in as one, those of shared subjects go in before.
    pub fn begin_verification(&self) {
        if !self.expects_verification() {
            return;
        }
        let locked = self.lock();
        if self.phase() != Phase::Lazy {
            return;
        }
        for registration in self.registrations.iter() {
            locked.add_shared_subjects(registration);
        }
        locked.remember_sortedness();
        // Only now: a thread that sees this goes on without the lock.
        self.advance(Phase::Verifying);
    }

    /// Looks whether something has come in that no hook saw, and hides what is registered.
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
        locked.remember_count();
    }

    /// libcrypto has found nothing in memory, and asks. `of_subject` gives what a source has of the subject; `in_memory` looks at
    /// what memory holds now.
    pub fn search<'m, I: Iterator<Item = F::Index>>(
        &'m self,
        of_subject: impl Fn(&'m F::Source) -> I,
        in_memory: impl FnOnce() -> Option<F::Certificate>,
    ) -> Option<F::Certificate> {
        self.leave_trace(TOUCHED);
        let mut locked = self.lock();
        let mut found = locked.put_made(&of_subject);
        if matches!(found, Found::NotMade) {
            // Making them is slow, and can run code of the program: not under the lock.
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

    /// A search goes on, for a name of which we can't say what is registered: all goes in.
    pub fn search_goes_on(&self) {
        self.leave_trace(TOUCHED | WENT_ON);
        self.complete();
    }

    /// Registers a source in place of loading it.
    pub fn register(&self, source: F::Source) -> Result<(), Contested> {
        self.lock().register(source)
    }

    fn make<'m, I: Iterator<Item = F::Index>>(&'m self, of_source: impl Fn(&'m F::Source) -> I) {
        for registration in self.registrations.iter().filter(|registration| !registration.is_complete()) {
            for index in of_source(&registration.source) {
                self.foreign.certificate(&registration.source, index);
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
        self.foreign.count().is_none_or(|count| count != self.count.load(Ordering::Acquire))
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

impl<'m, F: Foreign> Locked<'m, F> {
    /// Adds every registered certificate of a subject.
    pub fn put_subject(&self, subject: &F::Subject) -> Found<F::Certificate> {
        let foreign = &self.model.foreign;
        self.put_together(|source| foreign.of_subject(source, subject))
    }

    /// As [`Locked::put_subject`], for whoever finds the subject in another way.
    pub fn put_together<I: Iterator<Item = F::Index>>(
        &self,
        of_subject: impl Fn(&'m F::Source) -> I,
    ) -> Found<F::Certificate> {
        self.put(of_subject, |_, _| true)
    }

    /// As [`Locked::put_together`], if no certificate has to be made for it.
    fn put_made<I: Iterator<Item = F::Index>>(&self, of_subject: impl Fn(&'m F::Source) -> I) -> Found<F::Certificate> {
        self.put(of_subject, |source, index| self.model.foreign.is_made(source, index))
    }

    fn put<I: Iterator<Item = F::Index>>(
        &self,
        of_subject: impl Fn(&'m F::Source) -> I,
        may_be_made: impl Fn(&F::Source, F::Index) -> bool,
    ) -> Found<F::Certificate> {
        let Model { foreign, registrations, .. } = self.model;
        let is_exposed = self.model.phase() >= Phase::Exposed;
        let (mut found, mut missing, mut marks, mut seen) =
            (Found::Nothing, Vec::new(), Vec::new(), Distinct::default());
        for registration in registrations.iter() {
            for index in of_subject(&registration.source) {
                let added = registration.has_added(index);
                // Another thread has just added it; or the program has taken it out of the store again.
                if added && is_exposed {
                    found = Found::InMemory;
                    continue;
                }
                if !may_be_made(&registration.source, index) {
                    return Found::NotMade;
                }
                // One that can't be made (memory is short) keeps all of its subject away: some of them alone would hide it.
                let Some(certificate) = foreign.certificate(&registration.source, index) else { return Found::Nothing };
                if matches!(found, Found::Nothing) {
                    found = Found::First(certificate);
                }
                if !added {
                    // Duplicates collapse in the store.
                    if seen.insert(foreign.encoding(&registration.source, index)) {
                        missing.push(certificate);
                    }
                    marks.push((registration, index));
                }
            }
        }
        if missing.is_empty() {
            return found;
        }
        self.model.leave_trace(TOUCHED);
        let added = foreign.add_together(&missing, is_exposed);
        self.remember_count();
        if !added {
            return Found::Nothing;
        }
        marks.into_iter().for_each(|(registration, index)| registration.mark(index));
        found
    }

    /// Adds a certificate that does not come from a registered source. One in memory would hide all registered ones of its subject,
    /// so those go first. What goes wrong with this one is the program's business.
    pub fn add(&self, certificate: F::Held) -> bool {
        let Model { foreign, registrations, .. } = self.model;
        let quiet = foreign.quietly();
        if registrations.iter().next().is_some() {
            match foreign.subject(&certificate) {
                // Among several of one subject some versions do not recognise one that is already there.
                Some(subject) if self.is_shared(&subject) => self.settle(),
                Some(subject) => drop(self.put_subject(&subject)),
                None => self.settle(),
            }
        }
        self.model.leave_trace(TOUCHED);
        self.settle_after_search();
        let given = F::held(&certificate);
        let event = Event::Added(certificate);
        // While nothing is pending, only a table needs to know: what it holds can't be listed without changing it.
        let kept = if self.model.has_pending() || !self.model.is_stack() { self.note(event) } else { Some(event) };
        drop(quiet);
        let added = foreign.add(given);
        drop(kept);
        let _quiet = foreign.quietly();
        self.remember_sortedness();
        self.remember_count();
        self.keep_few_events();
        added
    }

    /// As [`Model::register`].
    pub fn register(&self, source: F::Source) -> Result<(), Contested> {
        let Model { foreign, registrations, .. } = self.model;
        let is_first = foreign.keeps_a_stack()
            && !self.model.has_pending()
            && registrations.len() == 0
            && foreign.count() == Some(0);
        // A directory may have given libcrypto certificates since the last search: they come before the new ones.
        if !is_first {
            self.settle_after_search();
        }
        if foreign.is_contested(registrations, &source, is_first, self.model.has_trace(TOUCHED)) {
            return Err(Contested);
        }
        if let Some(known) = registrations.iter().find(|known| foreign.is_same(&known.source, &source)) {
            // The same certificates again: nothing is new, but it shows in the order of an enumeration.
            self.note(Event::Load(Arc::clone(known)));
            self.remember_sortedness();
            self.keep_few_events();
            return Ok(());
        }
        let registration = Arc::new(Registration::new(source));
        // An empty stack is not looked at again.
        if is_first {
            self.model.log.push(Event::Load(Arc::clone(&registration)));
            self.model.log.sorted_when_noted.store(false, Ordering::Relaxed);
        } else {
            self.note(Event::Load(Arc::clone(&registration)));
        }
        registrations.push(Arc::clone(&registration));
        // A search may be on its way to directories, and what libcrypto adds from there is not seen.
        let is_late = !foreign.shows_additions() && self.model.has_trace(WENT_ON);
        let phase = self.model.phase();
        if is_late || phase >= Phase::Eager {
            self.settle();
        } else if phase >= Phase::Verifying {
            self.add_shared_subjects(&registration);
        }
        if !is_first || phase > Phase::Lazy {
            self.remember_sortedness();
        }
        Ok(())
    }

    /// Adds all that is only registered and gives the objects the order of an eager load.
    pub fn settle(&self) {
        let model = self.model;
        if !model.has_pending() {
            // Something could not be made before, as memory was short.
            if model.is_missing_some() {
                self.put_all();
            }
            return;
        }
        let searched = self.was_searched();
        self.put_all();
        if model.foreign.keeps_a_stack() {
            model.foreign.arrange(model.log.iter(), searched);
        } else if !model.is_stack() {
            // A table keeps the objects of each name in the order of addition. The order of the names shows when it is turned into
            // a stack.
            return;
        }
        model.log.clear();
        self.remember_count();
    }

    /// As `settle`, before the program gets the live stack of objects. A table becomes one then, for good.
    pub fn settle_for_stack(&self) {
        self.settle();
        let model = self.model;
        let was_stack = model.is_stack();
        model.expose();
        if was_stack {
            return;
        }
        // Without a table, the order of all objects decides what a search finds (get1_certs of 4.0.3 goes on to the end of the stack).
        let registered = model.registrations.iter().next().is_some();
        if registered && model.has_pending() && !model.has_unseen() {
            model.foreign.arrange(model.log.iter(), false);
        }
        model.log.clear();
    }

    /// What happened to a table since it was made; a stack's events are dealt with when the order is.
    pub fn events(&self) -> impl Iterator<Item = &'m Event<F>> {
        self.model.log.iter()
    }

    /// Whether several certificates of this subject are registered.
    fn is_shared(&self, subject: &F::Subject) -> bool {
        let Model { foreign, registrations, .. } = self.model;
        registrations.iter().map(|known| foreign.of_subject(&known.source, subject).count()).sum::<usize>() > 1
    }

    /// Adds what is not in memory yet.
    fn put_all(&self) {
        let Model { foreign, registrations, .. } = self.model;
        for registration in registrations.iter().filter(|registration| !registration.is_complete()) {
            // As one each. A table can't do that, and keeps the order of these additions.
            if foreign.keeps_a_stack() {
                self.add_shared_subjects(registration);
            }
            let added = registration.added();
            let mut whole = true;
            for index in foreign.all(&registration.source).filter(|&index| !added.contains(&F::number(index))) {
                whole &= foreign
                    .certificate(&registration.source, index)
                    .is_some_and(|certificate| foreign.add(certificate));
            }
            self.model.leave_trace(TOUCHED);
            if whole {
                registration.mark_all();
            }
        }
        self.remember_count();
    }

    /// Adds the certificates of those subjects that several of them share.
    fn add_shared_subjects(&self, registration: &Registration<F>) {
        for subject in self.model.foreign.shared_subjects(&registration.source) {
            self.put_subject(&subject);
        }
    }

    /// Writes an event down, or gives it back.
    fn note(&self, event: Event<F>) -> Option<Event<F>> {
        let Model { foreign, log, .. } = self.model;
        let is_find = matches!(event, Event::Find);
        if is_find && (!self.model.has_pending() || log.ends_in_find()) {
            return Some(event);
        }
        if !foreign.keeps_a_stack() {
            let is_new = match &event {
                // Replays of a table do not search. What was a table has no order to keep any more.
                _ if self.model.is_stack() => false,
                Event::Find => false,
                Event::Load(registration) => log.is_new(&(Arc::as_ptr(registration) as usize).to_ne_bytes()),
                Event::Added(held) => foreign.held_encoding(held).is_none_or(|encoding| log.is_new(&encoding)),
                Event::Base(..) => true,
            };
            if !is_new {
                return Some(event);
            }
        }
        // A search that memory answered asked no lookup, and shows in the stack only until something is added.
        if !is_find && self.model.has_pending() && !log.ends_in_find() && self.was_searched() {
            log.push(Event::Find);
        }
        if matches!(event, Event::Load(_))
            && !self.model.has_pending()
            && foreign.keeps_a_stack()
            && let Some(base) = foreign.base()
        {
            log.push(Event::Base(base, foreign.is_sorted()));
        }
        log.push(event);
        if !is_find {
            self.remember_sortedness();
        }
        None
    }

    /// A search may have made libcrypto add certificates from a directory, unseen: before anything else is added, the store is
    /// brought to the order in which it really is by now.
    fn settle_after_search(&self) {
        if self.model.foreign.keeps_a_stack() && self.model.log.ends_in_find() {
            self.settle();
        }
    }

    fn keep_few_events(&self) {
        let model = self.model;
        if model.is_stack() && model.log.len() > EVENTS + 2 * model.foreign.count().unwrap_or(0) {
            self.settle();
        }
    }

    /// To be called when something was loaded or added: a search that happens from now on shows in the stack.
    fn remember_sortedness(&self) {
        let Model { foreign, log, .. } = self.model;
        if self.model.has_pending() && foreign.keeps_a_stack() {
            if foreign.is_sorted() {
                foreign.forget_sortedness();
            }
            log.sorted_when_noted.store(foreign.is_sorted(), Ordering::Relaxed);
        }
    }

    fn was_searched(&self) -> bool {
        let Model { foreign, log, .. } = self.model;
        foreign.keeps_a_stack() && foreign.is_sorted() && !log.sorted_when_noted.load(Ordering::Relaxed)
    }

    fn remember_count(&self) {
        if let Some(count) = self.model.foreign.count() {
            self.model.count.store(count, Ordering::Release);
        }
    }
}

/// Certificates of one subject, each once. There is one nearly always, and hashing it would be a quarter of what a lookup costs.
#[derive(Default)]
struct Distinct<'a> {
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a> Distinct<'a> {
    /// More are not compared one by one.
    const FEW: usize = 16;

    /// Whether it is new.
    fn insert(&mut self, der: &'a [u8]) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(der);
        }
        if self.few.contains(&der) {
            return false;
        }
        self.few.push(der);
        if self.few.len() > Self::FEW {
            self.many.extend(self.few.drain(..));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    #[test]
    fn each_is_new_once_however_many_there_are() {
        let names: Vec<[u8; 2]> = (0..100_u8).map(|number| [number, number / 7]).collect();
        let mut distinct = Distinct::default();
        for (at, name) in names.iter().enumerate() {
            assert!(distinct.insert(name), "{at} is new");
            assert!(!distinct.insert(name) && !distinct.insert(&names[at / 2]), "{at} again");
        }
    }
}
