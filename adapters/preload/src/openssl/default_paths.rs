//! `X509_STORE_set_default_paths`, and with it `SSL_CTX_set_default_verify_paths`.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Served as Entry};
use crate::openssl::after_load::{Defaults, Target};
use crate::openssl::api::{OSSL_LIB_CTX, X509_FILETYPE_DEFAULT, X509_L_ADD_DIR, X509_STORE};
use crate::openssl::libcrypto::original;
use crate::openssl::serving::{Within, serve_file, serve_or_prepare};
use crate::openssl::store::{LookupKind, StoreState, tracked};
use crate::openssl::{capath, default_store, follow};

/// `X509_STORE_set_default_paths`.
pub extern "C-unwind" fn plain(store: *mut X509_STORE, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    load(store, Within::DEFAULT, caller, || original!(caller, X509_STORE_set_default_paths(store), or 0))
}

/// `X509_STORE_set_default_paths_ex`.
pub extern "C-unwind" fn extended(
    store: *mut X509_STORE,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let store = follow::reached(store, caller);
    load(
        store,
        Within { context, properties },
        caller,
        || original!(caller, X509_STORE_set_default_paths_ex(store, context, properties), or 0),
    )
}

fn load(store: *mut X509_STORE, within: Within, caller: Caller, original: impl FnOnce() -> c_int) -> c_int {
    let state = tracked(store);
    let result = serve(state, within, caller).unwrap_or_else(|| {
        let result = original();
        track(state, result);
        result
    });
    Target { store, state, caller, within }.after_default_paths(Defaults::Both, result);
    result
}

/// Registers the default file instead of loading it, then adds the default directory and the default store, as in
/// x509_d2.c.
fn serve(state: Option<&StoreState>, within: Within, caller: Caller) -> Option<c_int> {
    serve_or_prepare(state, caller, Entry::DefaultPaths, |state| {
        if !within.is_default() {
            return Err(Bypass::LibraryContext);
        }
        let served = state.served();
        serve_file(state, capath::default_file(served)?)?;
        let complete = add_directory(state) && (served.is_before_3_0() || default_store::register(state));
        if complete {
            // SAFETY: no preconditions. Stock clears all errors here, including the caller's older ones.
            unsafe { (served.api.ERR_clear_error)() };
        }
        Ok(c_int::from(complete))
    })
}

fn add_directory(state: &StoreState) -> bool {
    let (api, kind) = (&state.served().api, X509_FILETYPE_DEFAULT.into());
    // SAFETY: the store is alive for the length of the call that we are in; the arguments are those of
    // X509_LOOKUP_add_dir(lookup, NULL, X509_FILETYPE_DEFAULT), whose result stock ignores, too.
    let (lookup, added) = unsafe {
        let lookup = (api.X509_STORE_add_lookup)(state.store, (api.X509_LOOKUP_hash_dir)());
        if lookup.is_null() {
            return false;
        }
        // From 3.0 on X509_LOOKUP_ctrl only calls this function, through our hook.
        let added = match state.library.originals.X509_LOOKUP_ctrl_ex {
            Some(ctrl) => {
                ctrl(lookup, X509_L_ADD_DIR, ptr::null(), kind, ptr::null_mut(), ptr::null_mut(), ptr::null())
            }
            None => (api.X509_LOOKUP_ctrl)(lookup, X509_L_ADD_DIR, ptr::null(), kind, ptr::null_mut()),
        };
        (lookup, added)
    };
    if added == 1 {
        state.track_lookup(lookup, LookupKind::HashedDirectory);
        capath::track_default(state);
    }
    true
}

fn track(state: Option<&StoreState>, result: c_int) {
    if let Some(state) = state {
        guarded(|| {
            if result == 1 {
                capath::track_default(state);
            }
            default_store::registered_by_original(state);
            Some(())
        });
    }
}
