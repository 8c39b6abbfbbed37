//! The lookup method that libcrypto asks first when its store has no certificate of a subject.

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use windlass_interpose::reserve;

use crate::arranged::arranged;
use crate::hook;
use crate::labels::Event;
use crate::openssl::api::{
    Required, X509, X509_LOOKUP, X509_LOOKUP_METHOD, X509_LU_CRL, X509_LU_X509, X509_NAME, X509_OBJECT, X509_STORE,
};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::Libcrypto;
use crate::openssl::model::Phase;
use crate::openssl::objects::answer;
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::{LookupKind, StoreState, tracked_lookup};
use crate::openssl::{capath, names};
use crate::process;

/// Creates the method for one libcrypto.
pub fn method(api: &Required) -> Option<*mut X509_LOOKUP_METHOD> {
    // SAFETY: the name is a constant that libcrypto copies; the functions have the types that the setters want.
    unsafe {
        let method = (api.X509_LOOKUP_meth_new)(c"Windlass: shared root stores".as_ptr());
        let complete = !method.is_null()
            && (api.X509_LOOKUP_meth_set_free)(method, free) == 1
            && (api.X509_LOOKUP_meth_set_get_by_subject)(method, get_by_subject) == 1;
        complete.then_some(method)
    }
}

/// Adds the method to a new store, before any other method, and starts to watch the store.
pub fn attach(library: &'static Libcrypto, store: *mut X509_STORE) {
    let Some(served) = library.served() else { return };
    let _marked = Marked::new(served);
    // Where libcrypto's own verifications (CMS, OCSP, …) can't be seen, one may begin at any time.
    let phase = if library.shows_verifications { Phase::Lazy } else { Phase::Verifying };
    // SAFETY: `store` is fresh from X509_STORE_new, and no one else knows it yet.
    unsafe {
        let lookup = (served.api.X509_STORE_add_lookup)(store, served.first_method);
        if !lookup.is_null() {
            (*StoreState::begin(library, served, store, phase)).track_lookup(lookup, LookupKind::First);
            process::count(Event::StoreCreated, 1);
        }
    }
}

unsafe extern "C" fn get_by_subject(
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
) -> c_int {
    let Some(state) = state_of(lookup) else { return 0 };
    let _errno = hook::KeptErrno::new();
    let _chunk = reserve::claim();
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let found = catch_unwind(AssertUnwindSafe(|| find(state, kind, name)));
    match found {
        // SAFETY: the store keeps the certificate alive.
        Ok(Some(certificate)) => unsafe { answer(&state.served().api, ret, certificate) },
        _ => 0,
    }
}

unsafe extern "C" fn free(lookup: *mut X509_LOOKUP) {
    let Some(state) = state_of(lookup) else { return };
    // Freeing needs no memory, and nothing else happens here.
    let _chunk = reserve::claim();
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let state = std::ptr::from_ref(state);
    // SAFETY: libcrypto calls this once, from the last X509_STORE_free; the state came from `StoreState::begin`.
    let _ = catch_unwind(|| unsafe { StoreState::end(state) });
}

/// The state that `attach` created for the store of this lookup.
fn state_of<'a>(lookup: *mut X509_LOOKUP) -> Option<&'a StoreState> {
    match tracked_lookup(lookup) {
        Some((state, LookupKind::First)) => Some(state),
        _ => None,
    }
}

fn find(state: &StoreState, kind: c_int, name: *const X509_NAME) -> Option<*mut X509> {
    if name.is_null() || !matches!(kind, X509_LU_X509 | X509_LU_CRL) {
        return None;
    }
    let (served, model) = (state.served(), &state.model);
    process::count(Event::Lookups, 1);
    let _marked = Marked::new(served);
    // SAFETY: libcrypto searches for a valid name, and nobody changes it meanwhile.
    let Some(encoded) = (unsafe { names::encoded(&served.api, name) }) else { return odd(state, kind, name) };
    // The beginning of this search's context was not seen.
    model.begin_verification();
    // Usually the name was searched for before.
    let canonical = OnceCell::new();
    let canonical = || canonical.get_or_init(|| names::canonical_of(encoded)).as_ref();
    let was_new = Cell::new(false);
    let found = model.search(
        |snapshot: &Arc<Snapshot>| {
            let known = snapshot.searches.recall(encoded);
            let found = if known.is_some() { None } else { canonical().map(|name| snapshot.roots.by_subject(name)) };
            was_new.set(was_new.get() || known.is_none());
            arranged(known.into_iter().flatten().copied().chain(found.into_iter().flatten()))
        },
        // libcrypto itself sees the CRLs in memory.
        || if kind == X509_LU_X509 { model.foreign.retrieve(name) } else { None },
    );
    if let (Some(_), true, Some(name)) = (found, was_new.get(), canonical()) {
        for known in model.registrations().iter() {
            known.source.searches.remember(encoded, known.source.roots.by_subject(name));
        }
    }
    // A search for CRLs goes on to the program's directories, and the store lookups of 3.0 then add certificates; ours
    // must be in memory before that.
    if found.is_some() {
        return found.filter(|_| kind == X509_LU_X509);
    }
    let Some(canonical) = canonical() else { return odd(state, kind, name) };
    if kind == X509_LU_X509 {
        capath::prepare(state, canonical);
        if !state.library.shows_additions {
            model.mark_unseen();
        }
    }
    None
}

/// Handles a name that our reader can't canonicalise but that libcrypto may find equal to one of ours. As after any
/// search that goes on, sources registered from now on go into memory at once; earlier ones are added here, under the
/// lock.
fn odd(state: &StoreState, kind: c_int, name: *const X509_NAME) -> Option<*mut X509> {
    state.model.search_goes_on();
    (kind == X509_LU_X509).then(|| state.compared(name))?
}
