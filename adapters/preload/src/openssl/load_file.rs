//! Entry points that load one file.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Label, Served as Entry};
use crate::openssl::added::Target;
use crate::openssl::api::{OSSL_LIB_CTX, X509_FILETYPE_PEM, X509_LOOKUP, X509_STORE};
use crate::openssl::library::{Libcrypto, original, transparent};
use crate::openssl::store::{StoreState, tracked, tracked_lookup};
use crate::openssl::{LIBCRYPTO, directory_file, enumerate, materialise};
use crate::process;

/// `X509_STORE_load_file`.
pub extern "C-unwind" fn store_load_file(store: *mut X509_STORE, file: *const c_char, caller: Caller) -> c_int {
    let state = tracked(store);
    let result = match load(state, caller, file, ptr::null_mut(), ptr::null(), Entry::LoadFile) {
        Some(_) => 1,
        None => original!(library_of(state), caller, X509_STORE_load_file(store, file), or 0),
    };
    Target::plain(store, state, caller).after_sources([file, ptr::null()], result);
    result
}

/// `X509_STORE_load_file_ex`.
pub extern "C-unwind" fn store_load_file_ex(
    store: *mut X509_STORE,
    file: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let state = tracked(store);
    let result = match load(state, caller, file, context, properties, Entry::LoadFile) {
        Some(_) => 1,
        None => original!(library_of(state), caller, X509_STORE_load_file_ex(store, file, context, properties), or 0),
    };
    Target { store, state, caller, context, properties }.after_sources([file, ptr::null()], result);
    result
}

/// `X509_load_cert_file`.
pub extern "C-unwind" fn load_cert_file(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    caller: Caller,
) -> c_int {
    let state = owner(lookup, caller);
    if let Some(library) = internal(state, caller) {
        let served = directory_file::serve(library, lookup, file, kind, ptr::null_mut(), ptr::null());
        return served
            .unwrap_or_else(|| transparent!(Some(library), caller, X509_load_cert_file(lookup, file, kind), or 0));
    }
    let served = load_through(state, lookup, caller, file, kind, ptr::null_mut(), ptr::null(), Entry::LoadCertFile);
    let result =
        served.unwrap_or_else(|| original!(library_of(state), caller, X509_load_cert_file(lookup, file, kind), or 0));
    after(state, caller, file, ptr::null_mut(), ptr::null(), result)
}

/// `X509_load_cert_file_ex`.
pub extern "C-unwind" fn load_cert_file_ex(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let state = owner(lookup, caller);
    if let Some(library) = internal(state, caller) {
        return directory_file::serve(library, lookup, file, kind, context, properties).unwrap_or_else(|| {
            transparent!(Some(library), caller, X509_load_cert_file_ex(lookup, file, kind, context, properties), or 0)
        });
    }
    let served = load_through(state, lookup, caller, file, kind, context, properties, Entry::LoadCertFile);
    let result = served.unwrap_or_else(|| {
        let library = library_of(state);
        original!(library, caller, X509_load_cert_file_ex(lookup, file, kind, context, properties), or 0)
    });
    after(state, caller, file, context, properties, result)
}

/// `X509_load_cert_crl_file`.
pub extern "C-unwind" fn load_cert_crl_file(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    caller: Caller,
) -> c_int {
    let state = owner(lookup, caller);
    if let Some(library) = internal(state, caller) {
        return transparent!(Some(library), caller, X509_load_cert_crl_file(lookup, file, kind), or 0);
    }
    let served = load_through(state, lookup, caller, file, kind, ptr::null_mut(), ptr::null(), Entry::LoadCertCrlFile);
    let result = served
        .unwrap_or_else(|| original!(library_of(state), caller, X509_load_cert_crl_file(lookup, file, kind), or 0));
    after(state, caller, file, ptr::null_mut(), ptr::null(), result)
}

/// `X509_load_cert_crl_file_ex`.
pub extern "C-unwind" fn load_cert_crl_file_ex(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let state = owner(lookup, caller);
    if let Some(library) = internal(state, caller) {
        return transparent!(Some(library), caller, X509_load_cert_crl_file_ex(lookup, file, kind, context, properties), or 0);
    }
    let served = load_through(state, lookup, caller, file, kind, context, properties, Entry::LoadCertCrlFile);
    let result = served.unwrap_or_else(|| {
        let library = library_of(state);
        original!(library, caller, X509_load_cert_crl_file_ex(lookup, file, kind, context, properties), or 0)
    });
    after(state, caller, file, context, properties, result)
}

/// Serves a PEM file; `None`: the original is to be called, and the store is ready for it.
pub fn load(
    state: Option<&StoreState>,
    caller: Caller,
    file: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    entry: impl Label,
) -> Option<c_int> {
    serve_or_prepare(state, caller, entry, |state| {
        if file.is_null() {
            return Err(Bypass::Path);
        }
        if !context.is_null() || !properties.is_null() {
            return Err(Bypass::LibraryContext);
        }
        let served = state.served().ok_or(Bypass::UnsupportedLibrary)?;
        // SAFETY: the program passes a NUL-terminated path.
        materialise::serve_file(state, served, unsafe { CStr::from_ptr(file) })
    })
}

/// Runs `serve` for a watched store; counts the outcome; makes the store ready when the original has to be called.
pub fn serve_or_prepare<R>(
    state: Option<&StoreState>,
    caller: Caller,
    entry: impl Label,
    serve: impl FnOnce(&StoreState) -> Result<R, Bypass>,
) -> Option<R> {
    guarded(|| {
        let Some(state) = state else {
            let library = Libcrypto::of_caller(caller);
            let is_supported = library.is_none_or(|library| library.served.is_some());
            process::count(
                match (is_supported, LIBCRYPTO.is_hidden()) {
                    (false, _) => Bypass::UnsupportedLibrary,
                    (true, true) => Bypass::HiddenCallers,
                    (true, false) => Bypass::UnknownStore,
                },
                1,
            );
            return None;
        };
        // The program holds the store's lock: nothing can be added, in stock neither.
        if enumerate::holds_store_lock(state.store) {
            return None;
        }
        match serve(state) {
            Ok(served) => {
                process::count(entry, 1);
                Some(served)
            }
            Err(reason) => {
                process::count(reason, 1);
                materialise::leave_to_original(state);
                None
            }
        }
    })
}

#[allow(clippy::too_many_arguments)] // the foreign function's, and three of ours
fn load_through(
    state: Option<&StoreState>,
    lookup: *mut X509_LOOKUP,
    caller: Caller,
    file: *const c_char,
    kind: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    entry: Entry,
) -> Option<c_int> {
    if kind != X509_FILETYPE_PEM {
        return serve_or_prepare(state, caller, entry, |_| Err(Bypass::FileType));
    }
    if state.is_some() && tracked_lookup(lookup).is_none() {
        // It may look into the store right after.
        return serve_or_prepare(state, caller, entry, |_| Err(Bypass::OwnMethod));
    }
    load(state, caller, file, context, properties, entry)
}

/// The store that a lookup belongs to, also where its method is the program's own.
pub fn owner<'a>(lookup: *mut X509_LOOKUP, caller: Caller) -> Option<&'a StoreState> {
    let known = tracked_lookup(lookup).map(|(state, _)| state);
    if known.is_some() || lookup.is_null() || !process::enabled() {
        return known;
    }
    let served = Libcrypto::of_caller(caller)?.served.as_ref()?;
    // SAFETY: the caller passes a valid lookup of its own libcrypto.
    tracked(unsafe { (served.api.X509_LOOKUP_get_store)(lookup) })
}

/// by_dir.c and by_store.c call these functions, too, for the files that they find.
fn internal(state: Option<&StoreState>, caller: Caller) -> Option<&'static Libcrypto> {
    let library = state.map(|state| state.library).or_else(|| Libcrypto::of_caller(caller));
    library.filter(|library| library.contains(caller))
}

/// The end of a load through a lookup.
fn after(
    state: Option<&StoreState>,
    caller: Caller,
    file: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    result: c_int,
) -> c_int {
    if let Some(known) = state {
        Target { store: known.store, state, caller, context, properties }.after_sources([file, ptr::null()], result);
    }
    result
}

fn library_of(state: Option<&StoreState>) -> Option<&'static Libcrypto> {
    state.map(|state| state.library)
}
