//! Entry points that load one file.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::hook::Caller;
use crate::labels::{Bypass, Served as Entry};
use crate::openssl::after_load::Target;
use crate::openssl::api::{OSSL_LIB_CTX, X509_FILETYPE_PEM, X509_LOOKUP, X509_STORE};
use crate::openssl::libcrypto::{Libcrypto, original, transparent};
use crate::openssl::serving::{Within, load, owner, serve_or_prepare};
use crate::openssl::store::{StoreState, tracked, tracked_lookup};
use crate::openssl::{directory_file, follow};

/// `X509_STORE_load_file`.
pub extern "C-unwind" fn store_load_file(store: *mut X509_STORE, file: *const c_char, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    into_store(store, file, Within::DEFAULT, caller, || original!(caller, X509_STORE_load_file(store, file), or 0))
}

/// `X509_STORE_load_file_ex`.
pub extern "C-unwind" fn store_load_file_ex(
    store: *mut X509_STORE,
    file: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let store = follow::reached(store, caller);
    into_store(
        store,
        file,
        Within { context, properties },
        caller,
        || original!(caller, X509_STORE_load_file_ex(store, file, context, properties), or 0),
    )
}

fn into_store(
    store: *mut X509_STORE,
    file: *const c_char,
    within: Within,
    caller: Caller,
    original: impl FnOnce() -> c_int,
) -> c_int {
    let state = tracked(store);
    let result = match load(state, caller, file, within, Entry::LoadFile) {
        Some(_) => 1,
        None => original(),
    };
    Target { store, state, caller, within }.after_sources([file, ptr::null()], result);
    result
}

/// `X509_load_cert_file`.
pub extern "C-unwind" fn load_cert_file(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    caller: Caller,
) -> c_int {
    let lookup = follow::reached_lookup(lookup, caller);
    let through = Through { lookup, file, kind, within: Within::DEFAULT, caller };
    through.load_certificates(
        || original!(caller, X509_load_cert_file(lookup, file, kind), or 0),
        || transparent!(caller, X509_load_cert_file(lookup, file, kind), or 0),
    )
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
    let lookup = follow::reached_lookup(lookup, caller);
    let through = Through { lookup, file, kind, within: Within { context, properties }, caller };
    through.load_certificates(
        || original!(caller, X509_load_cert_file_ex(lookup, file, kind, context, properties), or 0),
        || transparent!(caller, X509_load_cert_file_ex(lookup, file, kind, context, properties), or 0),
    )
}

/// `X509_load_cert_crl_file`.
pub extern "C-unwind" fn load_cert_crl_file(
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    caller: Caller,
) -> c_int {
    let lookup = follow::reached_lookup(lookup, caller);
    let through = Through { lookup, file, kind, within: Within::DEFAULT, caller };
    through.load_all(
        || original!(caller, X509_load_cert_crl_file(lookup, file, kind), or 0),
        || transparent!(caller, X509_load_cert_crl_file(lookup, file, kind), or 0),
    )
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
    let lookup = follow::reached_lookup(lookup, caller);
    let through = Through { lookup, file, kind, within: Within { context, properties }, caller };
    through.load_all(
        || original!(caller, X509_load_cert_crl_file_ex(lookup, file, kind, context, properties), or 0),
        || transparent!(caller, X509_load_cert_crl_file_ex(lookup, file, kind, context, properties), or 0),
    )
}

/// A load through a lookup.
struct Through {
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    within: Within,
    caller: Caller,
}

impl Through {
    fn load_certificates(&self, original: impl FnOnce() -> c_int, transparent: impl FnOnce() -> c_int) -> c_int {
        let state = owner(self.lookup, self.caller);
        if let Some(library) = self.internal(state) {
            let served = directory_file::serve(library, self.lookup, self.file, self.kind, self.within);
            return served.unwrap_or_else(transparent);
        }
        // It reads less of a file with CRLs than a successor would.
        if let Some(state) = state {
            follow::leave(state);
        }
        self.load(state, Entry::LoadCertFile, original)
    }

    fn load_all(&self, original: impl FnOnce() -> c_int, transparent: impl FnOnce() -> c_int) -> c_int {
        let state = owner(self.lookup, self.caller);
        match self.internal(state) {
            Some(_) => transparent(),
            None => self.load(state, Entry::LoadCertCrlFile, original),
        }
    }

    /// by_dir.c and by_store.c also call these functions, for the files that they find.
    fn internal(&self, state: Option<&StoreState>) -> Option<&'static Libcrypto> {
        let library = state.map(|state| state.library).or_else(|| Libcrypto::of_caller(self.caller));
        library.filter(|library| library.contains(self.caller))
    }

    fn load(&self, state: Option<&StoreState>, entry: Entry, original: impl FnOnce() -> c_int) -> c_int {
        let served = self.serve(state, entry);
        let result = served.unwrap_or_else(original);
        if let Some(known) = state {
            let target = Target { store: known.store, state, caller: self.caller, within: self.within };
            target.after_sources([self.file, ptr::null()], result);
        }
        result
    }

    fn serve(&self, state: Option<&StoreState>, entry: Entry) -> Option<c_int> {
        if self.kind != X509_FILETYPE_PEM {
            return serve_or_prepare(state, self.caller, entry, |_| Err(Bypass::FileType));
        }
        if state.is_some() && tracked_lookup(self.lookup).is_none() {
            // The method may look into the store right afterwards.
            return serve_or_prepare(state, self.caller, entry, |_| Err(Bypass::OwnMethod));
        }
        load(state, self.caller, self.file, self.within, entry)
    }
}
