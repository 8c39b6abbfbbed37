//! The order in which an eager load would have left a store's objects.
//!
//! Programs that enumerate a store see its objects in an order, and with duplicates, that follow from how libcrypto's stack
//! is searched while it is filled: up to 3.1 or so each addition sorts what is there and appends the new one; later
//! versions append and sort at a search, and overlook some duplicates of an unsorted stack. Instead of knowing all
//! that, the calls of the program are repeated on a private store, and its order is taken over. 4.0 keeps its objects by
//! name, each name's in the order of addition, so nothing has to be done there.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use crate::openssl::api::{OPENSSL_STACK, Required, X509_OBJECT, X509_STORE};
use crate::openssl::held::{Held, HeldCrl, encoding};
use crate::openssl::library::Served;
use crate::openssl::store::{Registration, StoreState};
use crate::openssl::{materialise, own};

/// What has happened to a store since its memory was last what an eager load would have made of it.
pub enum Event {
    /// What was in memory before, and whether it was sorted.
    Base(Vec<BaseObject>, bool),
    /// A source was loaded.
    Load(std::sync::Arc<Registration>),
    /// One certificate was added, by the program or from a hashed directory.
    Added(Held),
    /// A search.
    Find,
}

/// An object that was in a store's memory.
pub enum BaseObject {
    /// A certificate.
    Certificate(Held),
    /// A revocation list.
    Crl(HeldCrl),
}

/// Writes an event down. The state's lock is held.
pub fn note(state: &StoreState, event: Event) {
    let Some(served) = state.served() else { return };
    let is_find = matches!(event, Event::Find);
    if is_find && (!state.has_pending() || state.ends_in_find.load(Ordering::Relaxed)) {
        return;
    }
    let is_table = !served.sorts_objects() && !state.converted.load(Ordering::Acquire);
    if is_table && !state.noted.is_new(served, &event) {
        return;
    }
    // A search that memory answered asked no lookup, and shows in the stack only until something is added.
    if !is_find && state.has_pending() && !state.ends_in_find.load(Ordering::Relaxed) && was_searched(state, served) {
        state.events.push(Event::Find);
    }
    let first = matches!(event, Event::Load(_)) && !state.has_pending();
    if first && served.sorts_objects() {
        let base = base(state.store, &served.api);
        if !base.is_empty() {
            state.events.push(Event::Base(base, is_sorted(state, served)));
        }
    }
    state.events.push(event);
    state.ends_in_find.store(is_find, Ordering::Relaxed);
    if !is_find {
        remember_sortedness(state, served);
    }
}

/// Whether nothing has happened to a store that keeps a stack: the usual case, in which little has to be noted.
pub fn is_untouched(state: &StoreState, served: &Served) -> bool {
    served.sorts_objects() && state.events.len() == 0 && state.registrations.len() == 0 && is_empty(state, &served.api)
}

/// Writes down the first load of an untouched store.
pub fn begin(state: &StoreState, registration: std::sync::Arc<Registration>) {
    state.events.push(Event::Load(registration));
    state.ends_in_find.store(false, Ordering::Relaxed);
    state.sorted_when_noted.store(false, Ordering::Relaxed);
}

/// Writes down that a certificate was added. While nothing is pending, only 4.0 needs to know: what its table holds
/// can't be listed without changing it.
pub fn note_added(state: &StoreState, served: &Served, certificate: Held) {
    settle_after_search(state, served);
    if state.has_pending() || (!served.sorts_objects() && !state.converted.load(Ordering::Acquire)) {
        note(state, Event::Added(certificate));
    }
}

/// A search may have made libcrypto add certificates from a directory, unseen: before anything else is added, the store is
/// brought to the order in which it really is by now.
pub fn settle_after_search(state: &StoreState, served: &Served) {
    if served.sorts_objects() && state.ends_in_find.load(Ordering::Relaxed) {
        settle(state, served);
    }
}

/// Adds all that is only registered and gives the objects the order of an eager load. The state's lock is held.
pub fn settle(state: &StoreState, served: &Served) {
    if !state.has_pending() {
        return;
    }
    let searched = was_searched(state, served);
    materialise::complete(state, served);
    if served.sorts_objects() {
        rearrange(state, served, searched);
    } else if !state.converted.load(Ordering::Acquire) {
        // 4.0 keeps the objects of each name in the order of addition. The order of the names shows when the table is
        // turned into a stack.
        return;
    }
    state.settled.store(state.events.len(), Ordering::Release);
    state.ends_in_find.store(false, Ordering::Relaxed);
}

/// As `settle`, before the program gets the live stack of objects. 4.0 makes one of its table then, for good.
pub fn settle_for_stack(state: &StoreState, served: &Served) {
    settle(state, served);
    let converted = state.converted.load(Ordering::Acquire);
    state.expose();
    if served.sorts_objects() || converted {
        return;
    }
    // Without a table, the order of all objects decides what a search finds (get1_certs of 4.0.3 goes on to the end of
    // the stack).
    let registered = state.registrations.iter().next().is_some();
    if registered && state.has_pending() && !state.loaded_by_original.load(Ordering::Acquire) {
        rearrange(state, served, false);
    }
    state.settled.store(state.events.len(), Ordering::Release);
}

fn rearrange(state: &StoreState, served: &Served, searched: bool) {
    let api = &served.api;
    // SAFETY: a store of our own, freed at the end; `take_over` may read the live stack of the program's store: before 4.0
    // that changes nothing, and in 4.0 the program is about to do the same.
    unsafe {
        let shadow = (api.X509_STORE_new)();
        if shadow.is_null() {
            return;
        }
        replay(state, served, shadow);
        if searched {
            (api.OPENSSL_sk_sort)((api.X509_STORE_get0_objects)(shadow));
        }
        take_over(state, api, shadow);
        (api.X509_STORE_free)(shadow);
    }
}

fn replay(state: &StoreState, served: &Served, shadow: *mut X509_STORE) {
    let api = &served.api;
    for event in state.events.iter().skip(state.settled.load(Ordering::Acquire)) {
        // SAFETY: `shadow` is ours; the certificates and CRLs are held by the events or by the snapshots.
        unsafe {
            match event {
                Event::Base(objects, sorted) => {
                    // As they are, duplicates included.
                    let stack = (api.X509_STORE_get0_objects)(shadow);
                    for object in objects {
                        let copy = (api.X509_OBJECT_new)();
                        match object {
                            BaseObject::Certificate(held) => {
                                (api.X509_OBJECT_set1_X509)(copy, own::mine(state, served, held.certificate))
                            }
                            BaseObject::Crl(held) => (api.X509_OBJECT_set1_X509_CRL)(copy, held.crl),
                        };
                        (api.OPENSSL_sk_push)(stack, copy.cast());
                    }
                    if *sorted {
                        (api.OPENSSL_sk_sort)(stack);
                    }
                }
                Event::Load(registration) => {
                    for anchor in registration.snapshot.roots.anchors() {
                        if let Some(certificate) =
                            own::certificate(state, served, &registration.snapshot, anchor.index())
                        {
                            (api.X509_STORE_add_cert)(shadow, certificate);
                        }
                    }
                }
                Event::Added(held) => {
                    (api.X509_STORE_add_cert)(shadow, own::mine(state, served, held.certificate));
                }
                Event::Find if served.sorts_objects() => {
                    (api.OPENSSL_sk_sort)((api.X509_STORE_get0_objects)(shadow));
                }
                Event::Find => {}
            }
        }
    }
}

/// Arranges the objects of the program's store as those of `shadow` are. What is taken out of the stack is kept: another
/// thread may be looking at it.
///
/// # Safety
/// Both are live stores of one libcrypto whose `get0_objects` may be called; nobody else uses `shadow`.
unsafe fn take_over(state: &StoreState, api: &Required, shadow: *mut X509_STORE) {
    // SAFETY: as the caller states. The stack of the program's store is only touched under its lock.
    unsafe {
        let model = (api.X509_STORE_get0_objects)(shadow);
        let sorted = (api.OPENSSL_sk_is_sorted)(model) == 1;
        if (api.X509_STORE_lock)(state.store) != 1 {
            return;
        }
        let stack = (api.X509_STORE_get0_objects)(state.store);
        let objects: Vec<*mut X509_OBJECT> = elements(api, stack);
        let mut left: HashMap<Content, Vec<*mut X509_OBJECT>> = HashMap::new();
        for &object in objects.iter().rev() {
            left.entry(content(api, object)).or_default().push(object);
        }
        let mut arranged = Vec::with_capacity(objects.len());
        for wanted in elements(api, model) {
            match left.get_mut(&content(api, wanted)).and_then(Vec::pop) {
                Some(object) => arranged.push(object),
                None => arranged.extend(copy_of(api, wanted)),
            }
        }
        // What came by ways of its own keeps its order behind the rest; what stock would not hold once more goes.
        let modelled: HashSet<Content> = elements(api, model).into_iter().map(|object| content(api, object)).collect();
        for &object in &objects {
            let content = content(api, object);
            if !modelled.contains(&content) {
                arranged.push(object);
            } else if left.get(&content).is_some_and(|left| left.contains(&object)) {
                state.retired.push(object as usize);
            }
        }
        while objects.len() > arranged.len() && (api.OPENSSL_sk_num)(stack) as usize > arranged.len() {
            (api.OPENSSL_sk_pop)(stack);
        }
        let length = usize::try_from((api.OPENSSL_sk_num)(stack)).unwrap_or(0);
        for (at, object) in arranged.into_iter().enumerate() {
            if at < length {
                (api.OPENSSL_sk_set)(stack, i32::try_from(at).unwrap_or(i32::MAX), object.cast());
            } else {
                (api.OPENSSL_sk_push)(stack, object.cast());
            }
        }
        if sorted {
            (api.OPENSSL_sk_sort)(stack);
        }
        (api.X509_STORE_unlock)(state.store);
    }
}

/// # Safety
/// `stack` is a live stack of objects that does not change meanwhile.
unsafe fn elements(api: &Required, stack: *mut OPENSSL_STACK) -> Vec<*mut X509_OBJECT> {
    // SAFETY: as the caller states.
    unsafe { (0..(api.OPENSSL_sk_num)(stack).max(0)).map(|at| (api.OPENSSL_sk_value)(stack, at).cast()).collect() }
}

/// What is in an object. Two certificates are the same when their encodings are, as X509_cmp has it.
#[derive(PartialEq, Eq, Hash)]
enum Content {
    Certificate(Vec<u8>),
    Other(usize),
}

/// # Safety
/// `object` is a live object.
unsafe fn content(api: &Required, object: *mut X509_OBJECT) -> Content {
    // SAFETY: as the caller states.
    unsafe {
        let certificate = (api.X509_OBJECT_get0_X509)(object);
        if certificate.is_null() {
            return Content::Other((api.X509_OBJECT_get0_X509_CRL)(object) as usize);
        }
        encoding(api, certificate).map_or(Content::Other(certificate as usize), Content::Certificate)
    }
}

/// A second object for a certificate that stock would hold twice.
///
/// # Safety
/// As for `content`.
unsafe fn copy_of(api: &Required, object: *mut X509_OBJECT) -> Option<*mut X509_OBJECT> {
    // SAFETY: as the caller states; the new object takes a reference of its own.
    unsafe {
        let (certificate, crl) = ((api.X509_OBJECT_get0_X509)(object), (api.X509_OBJECT_get0_X509_CRL)(object));
        let copy = (api.X509_OBJECT_new)();
        if copy.is_null() {
            return None;
        }
        if !certificate.is_null() {
            (api.X509_OBJECT_set1_X509)(copy, certificate);
        } else if !crl.is_null() {
            (api.X509_OBJECT_set1_X509_CRL)(copy, crl);
        }
        Some(copy)
    }
}

/// What a store's memory holds, in its present order.
fn base(store: *mut X509_STORE, api: &Required) -> Vec<BaseObject> {
    // SAFETY: the store is alive; its stack is read under its lock.
    unsafe {
        if (api.X509_STORE_lock)(store) != 1 {
            return Vec::new();
        }
        let objects = elements(api, (api.X509_STORE_get0_objects)(store))
            .into_iter()
            .filter_map(|object| {
                let (certificate, crl) = ((api.X509_OBJECT_get0_X509)(object), (api.X509_OBJECT_get0_X509_CRL)(object));
                if !certificate.is_null() {
                    return Some(BaseObject::Certificate(Held::new(api, certificate)));
                }
                (!crl.is_null()).then(|| BaseObject::Crl(HeldCrl::new(api, crl)))
            })
            .collect();
        (api.X509_STORE_unlock)(store);
        objects
    }
}

/// Whether a store's memory holds nothing.
fn is_empty(state: &StoreState, api: &Required) -> bool {
    // SAFETY: as in `base`.
    unsafe {
        if (api.X509_STORE_lock)(state.store) != 1 {
            return false;
        }
        let empty = (api.OPENSSL_sk_num)((api.X509_STORE_get0_objects)(state.store)) == 0;
        (api.X509_STORE_unlock)(state.store);
        empty
    }
}

/// To be called when something was loaded or added: a search that happens from now on shows in the stack.
pub fn remember_sortedness(state: &StoreState, served: &Served) {
    if state.has_pending() {
        if is_sorted(state, served) {
            forget_sortedness(state, served);
        }
        state.sorted_when_noted.store(is_sorted(state, served), Ordering::Relaxed);
    }
}

fn was_searched(state: &StoreState, served: &Served) -> bool {
    is_sorted(state, served) && !state.sorted_when_noted.load(Ordering::Relaxed)
}

/// In stock what was loaded lies unsorted in the stack, and the next search sorts it. Here the stack may not have changed; setting
/// an element to itself makes it count as unsorted (but for a stack of one in 3.5).
fn forget_sortedness(state: &StoreState, served: &Served) {
    let api = &served.api;
    // SAFETY: as in `base`.
    unsafe {
        if (api.X509_STORE_lock)(state.store) != 1 {
            return;
        }
        let stack = (api.X509_STORE_get0_objects)(state.store);
        if (api.OPENSSL_sk_num)(stack) > 0 {
            (api.OPENSSL_sk_set)(stack, 0, (api.OPENSSL_sk_value)(stack, 0));
        }
        (api.X509_STORE_unlock)(state.store);
    }
}

/// Whether a search has sorted the store's objects since the last one was appended.
fn is_sorted(state: &StoreState, served: &Served) -> bool {
    if !served.sorts_objects() {
        return false;
    }
    let api = &served.api;
    // SAFETY: as in `base`.
    unsafe {
        if (api.X509_STORE_lock)(state.store) != 1 {
            return false;
        }
        let stack = (api.X509_STORE_get0_objects)(state.store);
        let sorted = (api.OPENSSL_sk_num)(stack) > 0 && (api.OPENSSL_sk_is_sorted)(stack) == 1;
        (api.X509_STORE_unlock)(state.store);
        sorted
    }
}
