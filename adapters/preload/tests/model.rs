//! The model of a store (src/openssl/model), with a stand-in for libcrypto, in every interleaving of two and three
//! threads.
//!
//! The code under test is the library's own. The synchronization primitives (`sync`) come from loom here, which runs
//! each program again and again until it has seen every order of its steps. The results that the threads saw must be
//! possible for some order of the stock library's steps: `reference` computes these, and loads every source at once.

#[path = "../src/openssl/model/mod.rs"]
#[allow(dead_code, missing_docs)] // part of the library
mod model;
#[path = "model/reference.rs"]
mod reference;
#[path = "model/stand_in.rs"]
mod stand_in;
#[path = "model/sync.rs"]
mod sync;
#[path = "../src/tables.rs"]
#[allow(dead_code, missing_docs)] // as above
mod tables;

use std::sync::atomic::{AtomicU64, Ordering};

use reference::{Operation, Seen, possible};
use stand_in::{Certificate, Kind, Store};

/// Two sources that share nothing, and one that has two certificates of one subject.
const PLAIN: &[Certificate] = &[(1, 10), (2, 20)];
const SHARED: &[Certificate] = &[(1, 10), (3, 30), (3, 31)];
const OTHER: &[Certificate] = &[(4, 40)];

use Operation::{Add, All, CompleteAll, Enumerate, Expose, First, Hold, Load, LockAndList, Remove};

/// The operations of a thread. Each changes or reads something that another one may meet.
const OPERATIONS: [Operation; 11] = [
    Load(OTHER),
    Load(PLAIN),
    Add((3, 32)),
    Add((1, 10)),
    Enumerate,
    LockAndList,
    Expose,
    First(1),
    All(3),
    Hold,
    CompleteAll,
];

/// The operations used in longer programs.
const FEW: [Operation; 6] = [Load(OTHER), Add((3, 32)), LockAndList, Expose, First(1), All(3)];

const KINDS: [Kind; 3] = [
    Kind { keeps_a_stack: true, shows_additions: true },
    Kind { keeps_a_stack: true, shows_additions: false },
    Kind { keeps_a_stack: false, shows_additions: true },
];

/// Runs one program in every interleaving of its threads, up to a number of preemptions.
fn check(kind: Kind, before: &'static [Operation], threads: Vec<Vec<Operation>>, preemptions: Option<usize>) -> u64 {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let allowed = possible(kind, before, &threads);
    let shown = format!("{kind:?} {threads:?}");
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 2_000;
    let runs = RUNS.load(Ordering::Relaxed);
    builder.check(move || {
        RUNS.fetch_add(1, Ordering::Relaxed);
        let store = Store::new(kind, threads.len());
        before.iter().for_each(|operation| drop(store.run(operation)));
        let handles: Vec<_> = threads
            .iter()
            .cloned()
            .map(|operations| {
                let store = store.clone();
                loom::thread::spawn(move || {
                    let seen: Vec<Seen> = operations.iter().map(|operation| store.run(operation)).collect();
                    store.free();
                    seen
                })
            })
            .collect();
        let seen: Vec<Vec<Seen>> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        assert!(
            allowed.contains(&seen),
            "{kind:?}: after {before:?}, threads {threads:?} saw {seen:?}, of which stock gives none in {allowed:?}"
        );
    });
    let runs = RUNS.load(Ordering::Relaxed) - runs;
    if std::env::var_os("MODEL_TRACE").is_some() {
        eprintln!("{runs} runs of {before:?}, {shown}");
    }
    runs
}

#[test]
fn two_threads_see_what_some_order_of_stock_calls_gives() {
    let mut runs = 0;
    for kind in KINDS {
        for before in [&[][..], &[Load(SHARED)]] {
            for (at, one) in OPERATIONS.into_iter().enumerate() {
                for other in OPERATIONS.into_iter().skip(at) {
                    runs += check(kind, before, vec![vec![one], vec![other]], Some(3));
                }
            }
        }
    }
    println!("{runs} runs");
}

#[test]
fn two_threads_of_two_and_one_calls() {
    let mut runs = 0;
    for kind in KINDS {
        for first in FEW {
            for second in [First(1), All(3), LockAndList, Load(PLAIN)] {
                for other in FEW {
                    runs += check(kind, &[Load(SHARED)], vec![vec![first, second], vec![other]], Some(1));
                }
            }
        }
    }
    println!("{runs} runs");
}

#[test]
fn three_threads() {
    let mut runs = 0;
    for kind in KINDS {
        for (at, one) in FEW.into_iter().enumerate() {
            for (behind, other) in FEW.into_iter().enumerate().skip(at) {
                for third in FEW.into_iter().skip(behind) {
                    runs += check(kind, &[Load(SHARED)], vec![vec![one], vec![other], vec![third]], Some(1));
                }
            }
        }
    }
    println!("{runs} runs");
}

#[test]
fn what_the_program_takes_out_is_not_found() {
    for kind in KINDS.into_iter().filter(|kind| kind.keeps_a_stack) {
        for gone in [(1, 10), (3, 30)] {
            for asked in [First(1), First(3), All(3)] {
                check(kind, &[Load(SHARED)], vec![vec![Remove(gone), asked], vec![asked]], Some(2));
                // It is back after it is loaded again.
                check(kind, &[Load(SHARED)], vec![vec![Remove(gone), Load(SHARED), asked], vec![asked]], Some(2));
            }
        }
    }
}

/// A walk over all stores meets a store whose last reference is being released.
#[test]
fn a_store_that_ends_is_not_touched() {
    for kind in KINDS {
        loom::model(move || {
            let store = Store::new(kind, 1);
            store.run(&Load(SHARED));
            let walked = store.clone();
            let walker = loom::thread::spawn(move || walked.walk());
            store.run(&First(1));
            store.free();
            walker.join().unwrap();
        });
    }
}
