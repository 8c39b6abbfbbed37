//! Certificates that a program adds to a store itself, and the end of the store.

use std::ffi::c_int;

use windlass_interpose::family::Caller;
use windlass_interpose::hook;

use crate::clock::Overhead;
use crate::gathered::{self, Addition};
use crate::openssl::api::{X509, X509_STORE};
use crate::openssl::copies::{LIBCRYPTO, Libcrypto};
use crate::openssl::subject::Target;
use crate::{settings, span, stores, verification};

/// `X509_STORE_add_cert`
pub fn add_cert(store: *mut X509_STORE, certificate: *mut X509, caller: Caller) -> c_int {
    let recorded = settings::enabled() && !hook::is_inside() && !store.is_null();
    if !recorded || span::note_addition() {
        return original!(LIBCRYPTO, caller, X509_STORE_add_cert(store, certificate), or 0);
    }
    let library = Libcrypto::of_caller(caller);
    // During a verification, OpenSSL itself adds the certificates that it finds in an OSSL_STORE.
    let by_library = verification::is_verifying() && caller.is_own();
    let kind = if by_library { "uri" } else { "memory" };
    let addition = Addition::begin(store as usize, kind, || Target::store(store, caller));
    let result: c_int = original!(LIBCRYPTO, caller, X509_STORE_add_cert(store, certificate), or 0);
    addition.end(result.into(), || Target::objects(library?, store));
    result
}

/// `X509_STORE_up_ref`
pub fn up_ref(store: *mut X509_STORE, caller: Caller) -> c_int {
    let result: c_int = original!(LIBCRYPTO, caller, X509_STORE_up_ref(store), or 0);
    if result == 1 {
        stores::referenced(store as usize);
    }
    result
}

/// `X509_STORE_free`
pub fn free(store: *mut X509_STORE, caller: Caller) {
    if settings::enabled() && !hook::is_inside() && !store.is_null() {
        let overhead = Overhead::begin();
        hook::shielded(|| {
            if stores::is_last(store as usize) {
                gathered::flush(store as usize, || Target::objects(Libcrypto::of_caller(caller)?, store));
            }
            stores::released(store as usize);
            Some(())
        });
        drop(overhead);
    }
    original!(LIBCRYPTO, caller, X509_STORE_free(store), or())
}
