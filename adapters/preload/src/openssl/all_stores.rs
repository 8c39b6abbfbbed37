//! Operations on all live stores.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::hook;
use crate::openssl::apart;
use crate::openssl::libcrypto::Libcrypto;
use crate::openssl::store::for_each_live;

/// Set when [`complete`] was called where it could not be done.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Fills all stores with everything that is registered, now and from now on. A thread that is inside one of our parts
/// may hold the lock of a store (libcrypto has loaded a provider, which loads certificates unseen): the next part then
/// does the work.
pub fn complete() {
    if hook::is_inside() {
        IS_DUE.store(true, Ordering::Release);
        return;
    }
    hook::shielded(|| {
        Libcrypto::known().for_each(complete_of);
        Some(())
    });
}

/// As [`complete`]; stores also give up the certificates they share. This thread must not hold the lock of any store.
pub fn part() {
    hook::shielded(|| {
        Libcrypto::known().for_each(part_of);
        Some(())
    });
}

/// Call this where this thread holds no lock: see [`complete`].
pub fn complete_what_is_due() {
    if IS_DUE.load(Ordering::Relaxed) && IS_DUE.swap(false, Ordering::AcqRel) {
        complete();
    }
}

/// Fills every store of a libcrypto with everything that is registered, now, and at each load from now on. A store that
/// this thread itself has locked is filled later, when another caller needs it.
fn complete_of(library: &Libcrypto) {
    for_each_live(|state| {
        if std::ptr::eq(state.library, library) {
            state.make_eager();
        }
    });
}

/// As [`complete_of`]; the stores also give up the certificates they share.
pub fn part_of(library: &Libcrypto) {
    complete_of(library);
    for_each_live(|state| {
        if std::ptr::eq(state.library, library) && state.model.registrations().len() > 0 && !state.is_locked_here() {
            apart::keep_apart(&state.model);
        }
    });
}
