//! Operations with the lock of a store held.

use super::distinct::Distinct;
use super::sync::{Arc, Ordering};
use super::{Contested, EVENTS, Event, Foreign, Found, Locked, Model, Phase, Registration, TOUCHED, WENT_ON};

impl<'m, F: Foreign> Locked<'m, F> {
    /// Adds every registered certificate of a subject.
    pub fn put_subject(&self, subject: &F::Subject) -> Found<F::Certificate> {
        let foreign = &self.model.foreign;
        self.put_together(|source| foreign.of_subject(source, subject))
    }

    /// As [`Locked::put_subject`], for a caller that finds the subject's certificates in another way.
    pub fn put_together<I: Iterator<Item = F::Index>>(
        &self,
        of_subject: impl Fn(&'m F::Source) -> I,
    ) -> Found<F::Certificate> {
        self.put(of_subject, |_, _| true)
    }

    /// As [`Locked::put_together`], if no certificate has to be made for it.
    pub fn put_made<I: Iterator<Item = F::Index>>(
        &self,
        of_subject: impl Fn(&'m F::Source) -> I,
    ) -> Found<F::Certificate> {
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
                // Another thread has just added it; or the program has removed it from the store again.
                if added && is_exposed {
                    found = Found::InMemory;
                    continue;
                }
                if !may_be_made(&registration.source, index) {
                    return Found::NotMade;
                }
                // If one can't be made (memory is short), none of its subject goes in: some of them alone would hide
                // it.
                let Some(certificate) = foreign.certificate(&registration.source, index) else { return Found::Nothing };
                if matches!(found, Found::Nothing) {
                    found = Found::First(certificate);
                }
                if !added {
                    // The store keeps duplicates once.
                    let (Some(is_new), Some(mark)) =
                        (seen.insert(foreign.encoding(&registration.source, index)), Registration::<F>::prepare(index))
                    else {
                        return Found::Nothing;
                    };
                    if missing.try_reserve(1).is_err() || marks.try_reserve(1).is_err() {
                        return Found::Nothing;
                    }
                    if is_new {
                        missing.push(certificate);
                    }
                    marks.push((registration, mark));
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
        marks.into_iter().for_each(|(registration, mark)| registration.mark(mark));
        found
    }

    /// Adds a certificate that does not come from a registered source. In memory it would hide all registered ones of
    /// its subject, so those go first. A failure to add this one is the program's business.
    pub fn add(&self, certificate: F::Held) -> bool {
        let Model { foreign, registrations, .. } = self.model;
        let quiet = foreign.quietly();
        if registrations.iter().next().is_some() {
            match foreign.subject(&certificate) {
                // With several certificates of one subject, some versions do not recognise one that is already there.
                Some(subject) if self.is_shared(&subject) => self.settle(),
                Some(subject) => drop(self.put_subject(&subject)),
                None => self.settle(),
            }
            // Memory is short. The certificate alone would hide the others of its subject; the original also fails when
            // memory is short.
            if !self.has_all_of(&certificate) {
                return false;
            }
        }
        self.model.leave_trace(TOUCHED);
        self.settle_after_search();
        let given = F::held(&certificate);
        let event = Event::Added(certificate);
        // While nothing is pending, only a table needs the event: its contents can't be listed without changing it.
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

    /// Whether all registered certificates of a certificate's subject are in memory: false if one of them could not be
    /// made.
    pub fn has_all_of(&self, certificate: &F::Held) -> bool {
        let Model { foreign, registrations, .. } = self.model;
        if !self.model.is_missing_some() {
            return true;
        }
        let Some(subject) = foreign.subject(certificate) else { return false };
        registrations.iter().all(|known| {
            known.is_complete() || foreign.of_subject(&known.source, &subject).all(|index| known.has_added(index))
        })
    }

    /// Registers a source instead of loading it.
    pub fn register(&self, source: F::Source) -> Result<(), Contested> {
        let Model { foreign, registrations, .. } = self.model;
        // The program may have removed something: only libcrypto knows what a load would add.
        if self.model.phase() >= Phase::Exposed {
            return Err(Contested);
        }
        let is_first = foreign.keeps_a_stack()
            && !self.model.has_pending()
            && registrations.len() == 0
            && foreign.count() == Some(0);
        // A directory may have given libcrypto certificates since the last search: they come before the new ones.
        if !is_first {
            self.settle_after_search();
        }
        let known = registrations.iter().find(|known| foreign.is_same(&known.source, &source));
        let is_harmless = known.is_some() && foreign.recognises_all();
        if !is_harmless && foreign.is_contested(registrations, &source, is_first, self.model.has_trace(TOUCHED)) {
            return Err(Contested);
        }
        if let Some(known) = known {
            // The same certificates again: nothing is new, but the order of an enumeration shows it.
            self.note(Event::Load(Arc::clone(known)));
            self.remember_sortedness();
            self.keep_few_events();
            return Ok(());
        }
        let registration = Arc::new(Registration::new(source));
        // An empty stack is not checked again.
        if is_first {
            self.model.log.push(Event::Load(Arc::clone(&registration)));
            self.model.log.sorted_when_noted.store(false, Ordering::Relaxed);
        } else {
            self.note(Event::Load(Arc::clone(&registration)));
        }
        registrations.push(Arc::clone(&registration));
        // A search may be on its way to directories, and the certificates that libcrypto adds from there are not seen.
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

    /// Adds all certificates that are only registered, and gives the objects the order of an eager load.
    pub fn settle(&self) {
        let model = self.model;
        if !model.has_pending() {
            // Something could not be made earlier, because memory was short.
            if model.is_missing_some() {
                self.put_all();
            }
            return;
        }
        let searched = self.was_searched();
        self.put_all();
        // Memory is short: the next call tries again.
        if model.is_missing_some() {
            return;
        }
        if model.foreign.keeps_a_stack() {
            model.foreign.arrange(model.log.iter(), searched);
        } else if !model.is_stack() {
            // A table keeps the objects of each name in the order of addition. The order of the names shows when it is
            // turned into a stack.
            return;
        }
        model.log.clear();
        self.remember_count();
    }

    /// As `settle`, before the program gets the live stack of objects. A table then becomes a stack, for good.
    pub fn settle_for_stack(&self) {
        self.settle();
        let model = self.model;
        let was_stack = model.is_stack();
        model.expose();
        if was_stack {
            return;
        }
        // Without a table, the order of all objects decides the result of a search (get1_certs of 4.0.3 goes on to the
        // end of the stack).
        let registered = model.registrations.iter().next().is_some();
        if registered && model.has_pending() && !model.has_unseen() {
            model.foreign.arrange(model.log.iter(), false);
        }
        model.log.clear();
    }

    /// The events of a table since it was created; a stack's events are dropped once its order is settled.
    pub fn events(&self) -> impl Iterator<Item = &'m Event<F>> {
        self.model.log.iter()
    }

    /// Whether several certificates of this subject are registered.
    fn is_shared(&self, subject: &F::Subject) -> bool {
        let Model { foreign, registrations, .. } = self.model;
        registrations.iter().map(|known| foreign.of_subject(&known.source, subject).count()).sum::<usize>() > 1
    }

    /// Adds the certificates that are not in memory yet.
    fn put_all(&self) {
        let Model { foreign, registrations, .. } = self.model;
        for registration in registrations.iter().filter(|registration| !registration.is_complete()) {
            // In one step each. A table can't do this, and keeps the order of these additions.
            if foreign.keeps_a_stack() {
                self.add_shared_subjects(registration);
            }
            let Some(added) = registration.added() else { continue };
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

    /// Adds the certificates of all subjects that several of them share. Returns whether all could be made.
    pub fn add_shared_subjects(&self, registration: &Registration<F>) -> bool {
        let Some(subjects) = self.model.foreign.shared_subjects(&registration.source) else { return false };
        subjects.fold(true, |whole, subject| whole & !matches!(self.put_subject(&subject), Found::Nothing))
    }

    /// Notes an event, or gives it back.
    pub fn note(&self, event: Event<F>) -> Option<Event<F>> {
        let Model { foreign, log, .. } = self.model;
        let is_find = matches!(event, Event::Find);
        if is_find && (!self.model.has_pending() || log.ends_in_find()) {
            return Some(event);
        }
        if !foreign.keeps_a_stack() {
            let is_new = match &event {
                // Replays of a table do not search. A former table has no order to keep any more.
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

    /// A search may have made libcrypto add certificates from a directory, unseen: before anything else is added, the
    /// log is brought to the store's actual order.
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

    /// Call this after something was loaded or added: a search from now on shows in the stack.
    pub fn remember_sortedness(&self) {
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

    pub fn remember_count(&self) {
        if let Some(count) = self.model.foreign.count() {
            self.model.count.store(count, Ordering::Release);
        }
    }
}
