//! The beginning of a verification.
//!
//! Other threads may verify while a lookup adds one certificate after the other, and libcrypto asks no lookup for a subject
//! of which it has one certificate: a subject that several certificates share must never be seen with only some of them.
//! Before 4.0 the certificates of a subject go into a store's stack as one, under its lock, whenever they are asked for
//! (`materialise::subject`). 4.0 has a table that only it can reach, and where libcrypto's additions can't be seen (`-Bsymbolic`)
//! it may add one of them itself: there, shared subjects go into a store before the first verification with it begins. Not
//! sooner: parsing them is most of what a first context would cost, and many contexts verify nothing.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use windlass::CanonicalName;

use crate::hook::{Caller, guarded};
use crate::openssl::api::{OPENSSL_STACK, X509, X509_STORE, X509_STORE_CTX};
use crate::openssl::enumerate;
use crate::openssl::library::{Libcrypto, Served, transparent};
use crate::openssl::materialise::{self, Marked};
use crate::openssl::order;
use crate::openssl::own;
use crate::openssl::store::{Registration, StoreState, tracked};

/// `X509_STORE_CTX_init`: nothing can be verified with a store without it.
pub extern "C-unwind" fn begin(
    context: *mut X509_STORE_CTX,
    store: *mut X509_STORE,
    certificate: *mut X509,
    chain: *mut OPENSSL_STACK,
    caller: Caller,
) -> c_int {
    let state = tracked(store);
    if let Some(state) = state.filter(|state| own::is_to_be_kept_apart(state)) {
        guarded(|| {
            if !enumerate::holds_store_lock(store) {
                own::keep_apart(state);
            }
            Some(())
        });
    }
    if let Some((state, served)) = state.and_then(|state| Some((state, state.served()?)))
        && is_to_be_expected(state, served)
    {
        guarded(|| {
            if !enumerate::holds_store_lock(store) {
                expect_verification(state, served);
            }
            Some(())
        });
    }
    let library = state.map(|state| state.library).or_else(|| Libcrypto::of_caller(caller));
    transparent!(library, caller, X509_STORE_CTX_init(context, store, certificate, chain), or 0)
}

/// Whether all certificates of a subject come into a store in one step, whoever adds them.
pub fn adds_as_one(library: &Libcrypto, served: &Served) -> bool {
    served.sorts_objects() && library.shows_additions
}

/// Whether the store has to be made ready before anything is verified with it.
pub fn is_to_be_expected(state: &StoreState, served: &Served) -> bool {
    !adds_as_one(state.library, served) && !state.verifies.load(Ordering::Acquire)
}

/// Makes the store ready for verifications, now and from now on.
pub fn expect_verification(state: &StoreState, served: &Served) {
    let _guard = state.lock();
    if state.verifies.load(Ordering::Acquire) {
        return;
    }
    let _marked = Marked::new(served);
    for registration in state.registrations.iter() {
        add_shared_subjects(state, served, registration);
    }
    order::remember_sortedness(state, served);
    // Only now: a thread that sees this goes on without the lock.
    state.verifies.store(true, Ordering::Release);
}

/// Adds the certificates of those subjects that several of them share. The state's lock is held.
pub fn add_shared_subjects(state: &StoreState, served: &Served, registration: &Registration) {
    let snapshot = &registration.snapshot;
    let shared = snapshot.roots.shared_subjects().iter();
    let mut names: Vec<CanonicalName> =
        shared.filter_map(|&index| materialise::canonical_subject(snapshot, index)).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        materialise::subject(state, served, name);
    }
}
