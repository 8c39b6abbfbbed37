//! The beginning of a store, and the objects that the program adds itself.

use std::ffi::{c_char, c_int};
use std::ptr;

use windlass_interpose::way_in;

use crate::hook::{Caller, guarded};
use crate::openssl::api::{X509, X509_CRL, X509_LOOKUP, X509_LOOKUP_METHOD, X509_STORE};
use crate::openssl::libcrypto::{LIBCRYPTO, Libcrypto, original, transparent};
use crate::openssl::serving::owner;
use crate::openssl::store::{LookupKind, StoreState, tracked};
use crate::openssl::{all_stores, follow, keys, lookup};
use crate::process;

/// `X509_STORE_new`. Our lookup has to be the first: libcrypto asks lookups in the order in which they were added, and
/// the certificates of files come before those of any other source.
pub extern "C-unwind" fn new(caller: Caller) -> *mut X509_STORE {
    let store = original!(caller, X509_STORE_new(), or ptr::null_mut());
    if !store.is_null() {
        guarded(|| {
            let library = Libcrypto::of_caller(caller)?;
            if caller.is_companion() {
                keys::note_configured(library);
            }
            // Somebody may call unseen by any hook.
            if LIBCRYPTO.is_hidden() || library.is_from_before() || process::is_leaving() || way_in::has_strangers() {
                return None;
            }
            lookup::attach(library, store);
            Some(())
        });
        all_stores::complete_what_is_due();
    }
    store
}

/// `X509_STORE_add_lookup`: remembers the kind of each handle.
pub extern "C-unwind" fn add_lookup(
    store: *mut X509_STORE,
    method: *mut X509_LOOKUP_METHOD,
    caller: Caller,
) -> *mut X509_LOOKUP {
    let store = follow::reached(store, caller);
    let state = tracked(store);
    let lookup = transparent!(caller, X509_STORE_add_lookup(store, method), or ptr::null_mut());
    if let (Some(state), false) = (state, lookup.is_null()) {
        guarded(|| {
            match kind_of(state, method) {
                Some(kind) => state.track_lookup(lookup, kind),
                None => leave(Some(state), caller),
            }
            Some(())
        });
    }
    lookup
}

/// `X509_STORE_add_cert`: a certificate in memory would hide all registered ones of its subject, so those go first.
pub extern "C-unwind" fn add_cert(store: *mut X509_STORE, certificate: *mut X509, caller: Caller) -> c_int {
    let store = touched(store, caller);
    let state = tracked(store);
    let added = state.and_then(|state| {
        guarded(|| {
            if certificate.is_null() || state.is_locked_here() {
                return None;
            }
            // SAFETY: the program passes a valid certificate of this libcrypto.
            Some(unsafe { state.add(certificate) })
        })
    });
    added.unwrap_or_else(|| original!(caller, X509_STORE_add_cert(store, certificate), or 0))
}

/// `X509_STORE_add_crl`: the place of a CRL among the certificates decides what later searches see first, so the store
/// is first brought to the state that an eager load would have left.
pub extern "C-unwind" fn add_crl(store: *mut X509_STORE, crl: *mut X509_CRL, caller: Caller) -> c_int {
    let store = touched(store, caller);
    let state = tracked(store);
    if let Some(state) = state {
        guarded(|| {
            if !state.is_locked_here() {
                state.leave_to_original();
            }
            Some(())
        });
    }
    original!(caller, X509_STORE_add_crl(store, crl), or 0)
}

/// `X509_load_crl_file`: as `X509_STORE_add_crl`, which libcrypto may call unseen by any hook.
pub extern "C-unwind" fn load_crl_file(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    caller: Caller,
) -> c_int {
    let lookup = follow::reached_lookup(lookup, caller);
    let state = owner(lookup, caller);
    let library = state.map(|state| state.library).or_else(|| Libcrypto::of_caller(caller));
    if library.is_some_and(|library| library.contains(caller)) {
        return transparent!(caller, X509_load_crl_file(lookup, file, kind), or 0);
    }
    leave(state, caller);
    if let Some(state) = state {
        guarded(|| {
            if !state.is_locked_here() {
                state.leave_to_original();
            }
            Some(())
        });
    }
    original!(caller, X509_load_crl_file(lookup, file, kind), or 0)
}

/// What the program adds itself is in no source. libcrypto adds what it finds in directories.
fn leave(state: Option<&StoreState>, caller: Caller) {
    if let Some(state) = state.filter(|state| !state.library.contains(caller)) {
        follow::leave(state);
    }
}

/// The store that such a call is to reach.
fn touched(store: *mut X509_STORE, caller: Caller) -> *mut X509_STORE {
    leave(tracked(store), caller);
    follow::reached(store, caller)
}

fn kind_of(state: &StoreState, method: *mut X509_LOOKUP_METHOD) -> Option<LookupKind> {
    let served = state.served();
    // SAFETY: these return constant method tables.
    unsafe {
        if method == (served.api.X509_LOOKUP_file)() {
            return Some(LookupKind::File);
        }
        if method == (served.api.X509_LOOKUP_hash_dir)() {
            return Some(LookupKind::HashedDirectory);
        }
        let store = state.library.originals.X509_LOOKUP_store?;
        (method == store()).then_some(LookupKind::Store)
    }
}
