//! A store of a libcrypto that keeps its objects in the order in which they were added, and the hooks before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use loom::sync::{Mutex, MutexGuard};

use crate::model::{Event, Foreign, Model, Phase, Registration};
use crate::reference::{Operation, Seen};
use crate::sync::AppendList;

/// Subject and number.
pub type Certificate = (u8, u8);

/// The differences between libcryptos.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub keeps_a_stack: bool,
    pub shows_additions: bool,
}

impl Kind {
    /// The order in which memory is listed. A table has its own order of names.
    pub fn listed(self, objects: &[Certificate]) -> Vec<Certificate> {
        let mut objects = objects.to_vec();
        if !self.keeps_a_stack {
            objects.sort_by_key(|one| one.0);
        }
        objects
    }

    pub fn adds_as_one(self) -> bool {
        self.keeps_a_stack && self.shows_additions
    }
}

/// The contents of libcrypto's memory.
pub struct Memory {
    kind: Kind,
    objects: Mutex<Vec<Certificate>>,
    /// Set when the store is freed.
    freed: AtomicBool,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Vec<Certificate>> {
        let objects = self.objects.lock().unwrap();
        assert!(!self.freed.load(Ordering::SeqCst), "the store was freed");
        objects
    }

    fn of_subject(&self, subject: u8) -> Vec<Certificate> {
        self.lock().iter().copied().filter(|&(of, _)| of == subject).collect()
    }
}

impl Foreign for Memory {
    type Source = &'static [Certificate];
    type Index = usize;
    type Subject = u8;
    type Certificate = Certificate;
    type Held = Certificate;
    type Base = Vec<Certificate>;
    type Quiet<'q> = ();

    fn quietly(&self) {}

    fn keeps_a_stack(&self) -> bool {
        self.kind.keeps_a_stack
    }

    fn adds_as_one(&self) -> bool {
        self.kind.adds_as_one()
    }

    fn shows_additions(&self) -> bool {
        self.kind.shows_additions
    }

    fn is_same(&self, a: &Self::Source, b: &Self::Source) -> bool {
        a == b
    }

    fn all<'s>(&self, source: &'s Self::Source) -> impl Iterator<Item = usize> + use<'s> {
        0..source.len()
    }

    fn of_subject<'s>(&self, source: &'s Self::Source, subject: &u8) -> impl Iterator<Item = usize> + use<'s> {
        let subject = *subject;
        (0..source.len()).filter(move |&at| source[at].0 == subject)
    }

    fn shared_subjects<'s>(&self, source: &'s Self::Source) -> Option<impl Iterator<Item = u8> + use<'s>> {
        let mut shared: Vec<u8> = source.windows(2).filter(|two| two[0].0 == two[1].0).map(|two| two[0].0).collect();
        shared.dedup();
        Some(shared.into_iter())
    }

    fn number(index: usize) -> u32 {
        index as u32
    }

    fn encoding<'s>(&self, source: &'s Self::Source, index: usize) -> &'s [u8] {
        std::slice::from_ref(&source[index].1)
    }

    fn is_made(&self, _source: &Self::Source, _index: usize) -> bool {
        true
    }

    fn make(&self, _source: &Self::Source, _index: usize) {}

    fn certificate(&self, source: &Self::Source, index: usize) -> Option<Certificate> {
        Some(source[index])
    }

    fn held(certificate: &Certificate) -> Certificate {
        *certificate
    }

    fn held_encoding(&self, certificate: &Certificate) -> Option<Vec<u8>> {
        Some(vec![certificate.1])
    }

    fn subject(&self, certificate: &Certificate) -> Option<u8> {
        Some(certificate.0)
    }

    fn add(&self, certificate: Certificate) -> bool {
        let mut objects = self.lock();
        if !objects.contains(&certificate) {
            objects.push(certificate);
        }
        true
    }

    fn add_together(&self, certificates: &[Certificate], is_exposed: bool) -> bool {
        if !self.keeps_a_stack() || is_exposed {
            return certificates.iter().all(|&certificate| self.add(certificate));
        }
        self.lock().extend(certificates);
        true
    }

    fn recognises_all(&self) -> bool {
        false
    }

    fn is_contested(
        &self,
        registered: &AppendList<Arc<Registration<Memory>>>,
        source: &Self::Source,
        _is_first: bool,
        _in_memory: bool,
    ) -> bool {
        let contests =
            |&(subject, number): &Certificate| source.iter().any(|&(of, other)| of == subject && other != number);
        let objects = self.lock();
        registered
            .iter()
            .any(|known| known.source.iter().any(|one| source.iter().all(|own| own != one) && contests(one)))
            || objects.iter().any(|one| source.iter().all(|own| own != one) && contests(one))
    }

    fn hides_something(&self, registered: &AppendList<Arc<Registration<Memory>>>) -> bool {
        let objects = self.lock();
        registered.iter().any(|known| {
            let is_missing = |at: &usize| !known.has_added(*at);
            (0..known.source.len()).filter(is_missing).any(|at| objects.iter().any(|one| one.0 == known.source[at].0))
        })
    }

    fn count(&self) -> Option<usize> {
        self.keeps_a_stack().then(|| self.lock().len())
    }

    fn is_sorted(&self) -> bool {
        false
    }

    fn forget_sortedness(&self) {}

    fn base(&self) -> Option<Vec<Certificate>> {
        Some(self.lock().clone()).filter(|base| !base.is_empty())
    }

    fn arrange<'e>(&self, events: impl Iterator<Item = &'e Event<Memory>>, _searched: bool) {
        let mut order: Vec<Certificate> = Vec::new();
        for event in events {
            let more: &[Certificate] = match event {
                Event::Base(base, _) => base,
                Event::Load(known) => known.source,
                Event::Added(one) => std::slice::from_ref(one),
                Event::Find => &[],
            };
            more.iter().for_each(|one| {
                if !order.contains(one) {
                    order.push(*one)
                }
            });
        }
        let mut objects = self.lock();
        order.retain(|one| objects.contains(one));
        let rest: Vec<Certificate> = objects.iter().copied().filter(|one| !order.contains(one)).collect();
        order.extend(rest);
        *objects = order;
    }
}

/// A store, as the hooks see it.
#[derive(Clone)]
pub struct Store {
    model: Arc<Model<Memory>>,
    references: Arc<AtomicUsize>,
}

impl Store {
    pub fn new(kind: Kind, references: usize) -> Store {
        let memory = Memory { kind, objects: Mutex::new(Vec::new()), freed: AtomicBool::new(false) };
        Store { model: Arc::new(Model::new(memory, Phase::Lazy)), references: Arc::new(AtomicUsize::new(references)) }
    }

    /// `X509_STORE_free`.
    pub fn free(&self) {
        if self.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.model.end();
            self.model.foreign.freed.store(true, Ordering::SeqCst);
        }
    }

    /// Runs `all_stores::complete` in a thread that has no reference.
    pub fn walk(&self) {
        self.model.make_eager();
    }

    /// One call of a program.
    pub fn run(&self, operation: &Operation) -> Seen {
        let (model, memory) = (&*self.model, &self.model.foreign);
        let complete = || {
            if model.is_incomplete() {
                model.complete();
            }
        };
        let lock = || model.lock_complete(complete, || Some(memory.lock()), drop).unwrap();
        match *operation {
            Operation::Load(source) => {
                let registered = model.lock().register(source);
                if registered.is_err() {
                    model.leave_to_original();
                    for &one in source {
                        memory.add(one);
                    }
                }
                Vec::new()
            }
            Operation::Add(one) => {
                model.lock().add(one);
                Vec::new()
            }
            Operation::Enumerate => {
                complete();
                memory.kind.listed(&memory.lock())
            }
            // A table becomes a stack without a lock; no program can do this while others use it.
            Operation::Expose | Operation::LockAndList if !memory.kind.keeps_a_stack => memory.kind.listed(&lock()),
            Operation::Expose => {
                complete();
                model.lock().settle_for_stack();
                memory.lock().clone()
            }
            Operation::LockAndList => {
                let objects = lock();
                model.expose();
                objects.clone()
            }
            Operation::Remove(gone) => {
                let mut objects = lock();
                model.expose();
                objects.retain(|one| *one != gone);
                Vec::new()
            }
            Operation::First(subject) => self.verify(subject).into_iter().take(1).collect(),
            Operation::All(subject) => self.verify(subject),
            Operation::Hold => {
                self.references.fetch_add(1, Ordering::AcqRel);
                self.free();
                Vec::new()
            }
            Operation::CompleteAll => {
                self.walk();
                Vec::new()
            }
        }
    }

    /// `X509_STORE_CTX_init`, and then a search as in `X509_STORE_CTX_get1_certs`.
    fn verify(&self, subject: u8) -> Vec<Certificate> {
        let (model, memory) = (&*self.model, &self.model.foreign);
        if model.needs_a_look() {
            model.check_count();
            model.begin_verification();
        }
        let known = memory.of_subject(subject);
        if !known.is_empty() {
            return known;
        }
        let found = model.search(
            |source| Foreign::of_subject(memory, source, &subject),
            || memory.of_subject(subject).first().copied(),
        );
        if found.is_none() { Vec::new() } else { memory.of_subject(subject) }
    }
}
