//! Entry points that register a directory, a file and a directory, or a URI.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::hook::{Caller, guarded, inside};
use crate::labels::Served as Entry;
use crate::openssl::after_load::Target;
use crate::openssl::api::{OSSL_LIB_CTX, X509_L_ADD_STORE, X509_STORE};
use crate::openssl::default_store::prepare_for_uri;
use crate::openssl::libcrypto::original;
use crate::openssl::serving::{Within, load};
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::{capath, follow};

/// `X509_STORE_load_path`: the directory stays libcrypto's; we only remember it.
pub extern "C-unwind" fn load_path(store: *mut X509_STORE, path: *const c_char, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    let state = tracked(store);
    let result = original!(caller, X509_STORE_load_path(store, path), or 0);
    track(state, path, result);
    Target { store, state, caller, within: Within::DEFAULT }.after_sources([path, ptr::null()], result);
    result
}

/// `X509_STORE_load_locations`.
pub extern "C-unwind" fn load_locations(
    store: *mut X509_STORE,
    file: *const c_char,
    path: *const c_char,
    caller: Caller,
) -> c_int {
    let store = follow::reached(store, caller);
    locations(
        store,
        file,
        path,
        Within::DEFAULT,
        caller,
        || original!(caller, X509_STORE_load_locations(store, file, path), or 0),
    )
}

/// `X509_STORE_load_locations_ex`.
pub extern "C-unwind" fn load_locations_ex(
    store: *mut X509_STORE,
    file: *const c_char,
    path: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let store = follow::reached(store, caller);
    locations(
        store,
        file,
        path,
        Within { context, properties },
        caller,
        || original!(caller, X509_STORE_load_locations_ex(store, file, path, context, properties), or 0),
    )
}

/// `X509_STORE_load_store`.
pub extern "C-unwind" fn load_store(store: *mut X509_STORE, uri: *const c_char, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    let state = tracked(store);
    prepare_for_uri(state, X509_L_ADD_STORE, caller);
    original!(caller, X509_STORE_load_store(store, uri), or 0)
}

/// `X509_STORE_load_store_ex`.
pub extern "C-unwind" fn load_store_ex(
    store: *mut X509_STORE,
    uri: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let store = follow::reached(store, caller);
    let state = tracked(store);
    prepare_for_uri(state, X509_L_ADD_STORE, caller);
    original!(caller, X509_STORE_load_store_ex(store, uri, context, properties), or 0)
}

fn locations(
    store: *mut X509_STORE,
    file: *const c_char,
    path: *const c_char,
    within: Within,
    caller: Caller,
    original: impl FnOnce() -> c_int,
) -> c_int {
    let state = tracked(store);
    let result = follow::pair(!file.is_null() && !path.is_null(), || {
        serve_locations(state, caller, file, path, within).unwrap_or_else(|| {
            let result = original();
            track(state, path, result);
            result
        })
    });
    Target { store, state, caller, within }.after_sources([file, path], result);
    result
}

/// The file first, then the directory; if the file fails, the call ends without adding the directory.
fn serve_locations(
    state: Option<&StoreState>,
    caller: Caller,
    file: *const c_char,
    path: *const c_char,
    within: Within,
) -> Option<c_int> {
    if file.is_null() {
        return None;
    }
    load(state, caller, file, within, Entry::LoadLocations)?;
    let state = state?;
    if path.is_null() {
        return Some(1);
    }
    let result = {
        let _inside = inside();
        // SAFETY: the program's own path; without a file the function only adds the directory, as the whole call would.
        unsafe { (state.served().api.X509_STORE_load_locations)(state.store, ptr::null(), path) }
    };
    track(Some(state), path, result);
    Some(result)
}

fn track(state: Option<&StoreState>, path: *const c_char, result: c_int) {
    if let (Some(state), false, 1) = (state, path.is_null(), result) {
        guarded(|| {
            // SAFETY: the program passed a NUL-terminated path.
            capath::track(state, unsafe { CStr::from_ptr(path) }, true);
            Some(())
        });
    }
}
