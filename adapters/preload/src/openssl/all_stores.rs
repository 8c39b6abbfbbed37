//! What is done to all stores that live.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::hook;
use crate::openssl::apart;
use crate::openssl::libcrypto::Libcrypto;
use crate::openssl::store::for_each_live;

/// [`complete`] was called where it could not be done.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Puts all that is registered into all stores, now and from now on. A thread that is at work in one of our parts may
/// hold the lock of a store (libcrypto has loaded a provider, which loads what is not seen): then the next part does
/// it.
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

/// As [`complete`], and no store keeps certificates that others have. This thread has the lock of none.
pub fn part() {
    hook::shielded(|| {
        Libcrypto::known().for_each(part_of);
        Some(())
    });
}

/// To be called where this thread has no lock: see [`complete`].
pub fn complete_what_is_due() {
    if IS_DUE.load(Ordering::Relaxed) && IS_DUE.swap(false, Ordering::AcqRel) {
        complete();
    }
}

/// Puts all that is registered into every store of a libcrypto, now, and as soon as it is loaded from now on. A store
/// that this thread has locked itself is only filled when something else asks for it.
fn complete_of(library: &Libcrypto) {
    for_each_live(|state| {
        if std::ptr::eq(state.library, library) {
            state.make_eager();
        }
    });
}

/// As [`complete_of`], and none keeps certificates that others have.
pub fn part_of(library: &Libcrypto) {
    complete_of(library);
    for_each_live(|state| {
        if std::ptr::eq(state.library, library) && state.model.registrations().len() > 0 && !state.is_locked_here() {
            apart::keep_apart(&state.model);
        }
    });
}
