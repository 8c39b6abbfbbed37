//! The results of the stock library, in every order of its steps.

use std::collections::HashSet;

use crate::stand_in::{Certificate, Kind};

/// One call of a program.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// The load of a file.
    Load(&'static [Certificate]),
    /// `X509_STORE_add_cert`.
    Add(Certificate),
    /// `X509_STORE_get1_all_certs`.
    Enumerate,
    /// `X509_STORE_get0_objects`, and a look at the result under the lock.
    Expose,
    /// `X509_STORE_lock`, `X509_STORE_get0_objects`.
    LockAndList,
    /// As `LockAndList`, and removes one object.
    Remove(Certificate),
    /// `X509_STORE_CTX_init`, `X509_STORE_CTX_get_by_subject`.
    First(u8),
    /// `X509_STORE_CTX_init`, `X509_STORE_CTX_get1_certs`.
    All(u8),
    /// `X509_STORE_up_ref`, `X509_STORE_free`.
    Hold,
    /// The library's own operation: everything registered goes in. Stock has nothing to do.
    CompleteAll,
}

/// The result of a call.
pub type Seen = Vec<Certificate>;

#[derive(Clone, Copy)]
enum Step {
    Put(&'static [Certificate]),
    PutOne(Certificate),
    Take(Certificate),
    List,
    First(u8),
    All(u8),
    Nothing,
}

impl Step {
    fn run(self, kind: Kind, objects: &mut Vec<Certificate>) -> Option<Seen> {
        let of_subject = |subject| objects.iter().copied().filter(move |one| one.0 == subject);
        match self {
            Step::Put(certificates) => {
                certificates.iter().for_each(|one| {
                    if !objects.contains(one) {
                        objects.push(*one)
                    }
                });
                None
            }
            Step::PutOne(one) => {
                if !objects.contains(&one) {
                    objects.push(one);
                }
                Some(Vec::new())
            }
            Step::Take(gone) => {
                objects.retain(|one| *one != gone);
                Some(Vec::new())
            }
            Step::List => Some(kind.listed(objects)),
            Step::First(subject) => Some(of_subject(subject).take(1).collect()),
            Step::All(subject) => Some(of_subject(subject).collect()),
            Step::Nothing => Some(Vec::new()),
        }
    }
}

/// A file is loaded one certificate at a time. For a subject that several certificates share, a kind with `adds_as_one`
/// must do better than stock.
fn steps(kind: Kind, operation: Operation) -> Vec<Step> {
    match operation {
        Operation::Load(source) => {
            let as_one = |a: &Certificate, b: &Certificate| kind.adds_as_one() && a.0 == b.0;
            source.chunk_by(as_one).map(Step::Put).chain([Step::Nothing]).collect()
        }
        Operation::Add(one) => vec![Step::PutOne(one)],
        Operation::Enumerate | Operation::Expose | Operation::LockAndList => vec![Step::List],
        Operation::Remove(gone) => vec![Step::Take(gone)],
        Operation::First(subject) => vec![Step::First(subject)],
        Operation::All(subject) => vec![Step::All(subject)],
        Operation::Hold | Operation::CompleteAll => vec![Step::Nothing],
    }
}

/// All results that the threads can see, by thread and call.
pub fn possible(kind: Kind, before: &[Operation], threads: &[Vec<Operation>]) -> HashSet<Vec<Vec<Seen>>> {
    let mut objects = Vec::new();
    for step in before.iter().flat_map(|&operation| steps(kind, operation)) {
        step.run(kind, &mut objects);
    }
    let threads: Vec<Vec<Step>> =
        threads.iter().map(|calls| calls.iter().flat_map(|&call| steps(kind, call)).collect()).collect();
    let mut found = HashSet::new();
    explore(kind, &threads, &mut vec![0; threads.len()], &objects, &mut vec![Vec::new(); threads.len()], &mut found);
    found
}

fn explore(
    kind: Kind,
    threads: &[Vec<Step>],
    at: &mut Vec<usize>,
    objects: &[Certificate],
    seen: &mut Vec<Vec<Seen>>,
    found: &mut HashSet<Vec<Vec<Seen>>>,
) {
    let mut is_over = true;
    for thread in 0..threads.len() {
        let Some(step) = threads[thread].get(at[thread]) else { continue };
        is_over = false;
        let mut after = objects.to_vec();
        let result = step.run(kind, &mut after);
        let is_call = result.is_some();
        seen[thread].extend(result);
        at[thread] += 1;
        explore(kind, threads, at, &after, seen, found);
        at[thread] -= 1;
        if is_call {
            seen[thread].pop();
        }
    }
    if is_over {
        found.insert(seen.clone());
    }
}
