//! The end of a store: `X509_STORE_free` releases one reference of several.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use windlass_interpose::hook;
use windlass_interpose::ptr_table::PtrTable;

use crate::json::Line;
use crate::{clock, process, settings, sink};

static STORES: PtrTable<Known> = PtrTable::new();

#[derive(Clone, Copy)]
struct Known(*mut State);

// SAFETY: it holds atomics only, and any thread may free it.
unsafe impl Send for Known {}

struct State {
    /// The references beyond the first that we saw being taken.
    extra: AtomicU32,
    loaded: AtomicBool,
    on_token: AtomicBool,
}

/// Notes that trust anchors were loaded into a store.
pub fn loaded(store: usize) {
    with(store, |state| state.loaded.store(true, Ordering::Relaxed));
}

/// Whether it stands, or may stand, for the contents of a PKCS#11 token.
pub fn is_on_token(store: usize) -> bool {
    // SAFETY: as in `is_last`.
    STORES.with(store, |Known(state)| unsafe { (*state).on_token.load(Ordering::Relaxed) }).unwrap_or(false)
}

/// See [`is_on_token`].
pub fn put_on_token(store: usize) {
    with(store, |state| state.on_token.store(true, Ordering::Relaxed));
}

/// Notes that another reference was taken.
pub fn referenced(store: usize) {
    if settings::enabled() && !hook::is_inside() {
        hook::shielded(|| {
            with(store, |state| state.extra.fetch_add(1, Ordering::Relaxed));
            Some(())
        });
    }
}

/// A reference is about to be released. Returns whether it is the last one.
pub fn is_last(store: usize) -> bool {
    // SAFETY: entries are freed after their removal, which waits for the end of `with`.
    let extra = STORES.with(store, |Known(state)| unsafe { (*state).extra.load(Ordering::Relaxed) });
    extra.is_none_or(|extra| extra == 0)
}

/// Notes that a reference is released; the last one ends our state of the store.
pub fn released(store: usize) {
    let give_back = |Known(state): Known| {
        // SAFETY: as in `is_last`.
        let extra = unsafe { &(*state).extra };
        extra.fetch_update(Ordering::AcqRel, Ordering::Acquire, |extra| extra.checked_sub(1)).is_ok()
    };
    if STORES.with(store, give_back) == Some(true) {
        return;
    }
    let Some(Known(state)) = STORES.remove(store) else { return };
    // SAFETY: made by Box::into_raw in `with`, and no longer in the table.
    let state = unsafe { Box::from_raw(state) };
    if state.loaded.load(Ordering::Relaxed) {
        let process = process::current();
        let mut line = Line::of("release", &process.id);
        line.number("t", clock::now()).address("store", Some(store));
        sink::append(&process.id, &line.finish());
    }
}

fn with<R>(store: usize, change: impl Fn(&State) -> R) {
    // SAFETY: as in `is_last`.
    if STORES.with(store, |Known(state)| unsafe { change(&*state) }).is_none() {
        let state =
            State { extra: AtomicU32::new(0), loaded: AtomicBool::new(false), on_token: AtomicBool::new(false) };
        change(&state);
        // If two threads meet a store at the same moment, one entry is lost, and with it at most a `release`.
        STORES.insert(store, Known(Box::into_raw(Box::new(state))));
    }
}
