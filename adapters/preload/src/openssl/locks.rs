//! The stores that a thread has locked by its own `X509_STORE_lock`.

use std::cell::Cell;
use std::ptr;

use crate::openssl::api::X509_STORE;

/// The most stores that a thread can have locked at once and still tell apart.
pub const LOCKS: usize = 8;

thread_local! {
    static LOCKED: [Cell<*const X509_STORE>; LOCKS] = const { [const { Cell::new(ptr::null()) }; LOCKS] };
}

/// Whether this thread itself has locked the store: then nothing can be added, and nothing has to be.
pub fn holds(store: *const X509_STORE) -> bool {
    LOCKED.with(|locked| locked.iter().any(|slot| ptr::eq(slot.get(), store)))
}

/// This thread has locked the store.
pub fn enter(store: *const X509_STORE) {
    replace(ptr::null(), store);
}

/// This thread is about to unlock the store.
pub fn leave(store: *const X509_STORE) {
    replace(store, ptr::null());
}

fn replace(old: *const X509_STORE, new: *const X509_STORE) {
    LOCKED.with(|locked| {
        if let Some(slot) = locked.iter().find(|slot| ptr::eq(slot.get(), old)) {
            slot.set(new);
        }
    });
}
