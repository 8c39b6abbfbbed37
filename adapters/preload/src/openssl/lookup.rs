//! The lookup method that libcrypto asks first when its store has no certificate of a subject.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use crate::hook;
use crate::labels::Event;
use crate::openssl::api::{
    Required, X509, X509_LOOKUP, X509_LOOKUP_METHOD, X509_LU_CRL, X509_LU_X509, X509_NAME, X509_OBJECT, X509_STORE,
};
use crate::openssl::capath;
use crate::openssl::library::Libcrypto;
use crate::openssl::materialise::{self, Found, Marked};
use crate::openssl::order;
use crate::openssl::store::{LookupKind, StoreState, tracked_lookup};
use crate::openssl::verification;
use crate::process;

/// Makes the method for one libcrypto.
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

/// Puts the method into a store that was just made, before any other, and starts to watch the store.
///
/// Where nothing is linked against the library the store is only watched, so that its calls reach the right library.
/// `verifies`: a verification may begin unseen. It is only asked where that matters.
pub fn attach(library: &'static Libcrypto, store: *mut X509_STORE, linked: bool, verifies: impl FnOnce() -> bool) {
    let Some(served) = &library.served else { return };
    let _marked = Marked::new(served);
    let verifies = !verification::adds_as_one(library, served) && verifies();
    // SAFETY: `store` is fresh from X509_STORE_new and not yet known to anybody else.
    unsafe {
        let lookup = (served.api.X509_STORE_add_lookup)(store, served.first_method);
        if !lookup.is_null() {
            (*StoreState::begin(library, store, linked, verifies)).track_lookup(lookup, LookupKind::First);
            process::count(Event::StoreCreated, 1);
        }
    }
}

/// Answers with a certificate, as the built-in methods do: `ret` gets the object, but no reference to it. libcrypto adds
/// the reference itself when the lookup is over (X509_STORE_CTX_get_by_subject, x509_lu.c).
///
/// # Safety
/// `ret` is the object that the lookup was called with; the store holds a reference to `certificate`.
pub unsafe fn answer(api: &Required, ret: *mut X509_OBJECT, certificate: *mut X509) -> c_int {
    // SAFETY: as the caller states. The reference taken by set1 is dropped again.
    unsafe {
        if (api.X509_OBJECT_set1_X509)(ret, certificate) != 1 {
            return 0;
        }
        (api.X509_free)(certificate);
    }
    1
}

unsafe extern "C" fn get_by_subject(
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
) -> c_int {
    let Some(state) = state_of(lookup) else { return 0 };
    let _errno = hook::KeptErrno::new();
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let found = catch_unwind(AssertUnwindSafe(|| find(state, kind, name)));
    match (found, state.served()) {
        // SAFETY: `find` has just added the certificate to the store, and the snapshot holds a reference, too.
        (Ok(Some(certificate)), Some(served)) => unsafe { answer(&served.api, ret, certificate) },
        _ => 0,
    }
}

unsafe extern "C" fn free(lookup: *mut X509_LOOKUP) {
    let Some(state) = state_of(lookup) else { return };
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let state = std::ptr::from_ref(state).cast_mut();
    // SAFETY: libcrypto calls this once, from the last X509_STORE_free; the state came from `StoreState::begin`.
    let _ = catch_unwind(|| unsafe { StoreState::end(state) });
}

/// The state that `attach` made for the store of this lookup.
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
    let served = state.served()?;
    process::count(Event::Lookups, 1);
    state.touched.store(true, Ordering::Release);
    let _marked = Marked::new(served);
    // SAFETY: libcrypto searches for a valid name, and nobody changes it meanwhile.
    let encoded = unsafe { materialise::encoded(&served.api, name) };
    if let (X509_LU_X509, Some(encoded), false) = (kind, encoded, verification::is_to_be_expected(state, served)) {
        let _guard = state.lock();
        let known = materialise::recalled(state, served, encoded).certificate(state, served, name);
        if known.is_some() {
            order::note(state, order::Event::Find);
            return known;
        }
    }
    let Some((encoded, canonical)) = encoded.and_then(|encoded| Some((encoded, materialise::canonical_of(encoded)?))) else {
        // A name that our reader can't canonicalise can still equal one of ours, for libcrypto. Whatever is registered from now on
        // goes in at once, as after any search that goes on: what came before is added here, under the lock.
        state.searches_went_on.store(true, Ordering::Release);
        materialise::everything(state);
        return (kind == X509_LU_X509).then(|| materialise::compared(state, served, name))?;
    };
    // The context of this search was not seen to begin: its code came to the function by `dlsym`.
    if verification::is_to_be_expected(state, served) {
        verification::expect_verification(state, served);
    }
    let registered = {
        let _guard = state.lock();
        let registered = materialise::subject(state, served, &canonical);
        if registered != Found::Nothing {
            materialise::remember(state, encoded, &canonical);
        }
        order::note(state, order::Event::Find);
        // Of a search for CRLs, only whether there is anything counts.
        let certificate = match (kind, registered) {
            (X509_LU_CRL, Found::First(certificate)) => Some(certificate),
            _ => registered.certificate(state, served, name),
        };
        if certificate.is_none() {
            state.searches_went_on.store(true, Ordering::Release);
        }
        certificate
    };
    // A search for CRLs goes on to the program's directories, and the store lookups of 3.0 add certificates on that
    // occasion; ours are in memory before that.
    if kind == X509_LU_CRL {
        return None;
    }
    if registered.is_none() {
        capath::prepare(state, served, &canonical);
        if !state.library.shows_additions {
            state.loaded_by_original.store(true, Ordering::Release);
        }
    }
    registered
}
