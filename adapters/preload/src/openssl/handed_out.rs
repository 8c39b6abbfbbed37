//! Entry points that hand a store's certificate to the program: it must be the store's own by then (see `own`).
//!
//! tests/openssl/handed-out.txt lists the functions of all versions that hand out certificates. OpenSSL's own calls of
//! these functions do not count: libssl keeps a chain for each connection, and hands it out by
//! `SSL_get0_verified_chain`.

use std::ffi::{c_int, c_void};
use std::ptr;

use windlass_interpose::unwinding;

use crate::hook::Caller;
use crate::openssl::api::{OPENSSL_STACK, SSL, X509, X509_NAME, X509_OBJECT, X509_STORE_CTX};
use crate::openssl::ca_names::in_libssl;
use crate::openssl::exchanging::{
    Whose, exchange_all, exchange_borrowed, exchange_in_object, exchange_owned, in_place_of, is_openssl, is_programs,
    is_to_be_exchanged, of_context,
};
use crate::openssl::libcrypto::{Libcrypto, transparent};
use crate::openssl::store::StoreState;

/// The result of `X509_STORE_CTX_get1_issuer` without a libcrypto.
const NOT_FOUND: c_int = -1;

/// `X509_STORE_CTX_get0_chain`: the context's own stack. libssl calls it for the chain that a server is about to send,
/// and shows this chain to the program's callbacks (ssl_add_cert_chain, statem_lib.c).
pub extern "C-unwind" fn get0_chain(context: *const X509_STORE_CTX, caller: Caller) -> *mut OPENSSL_STACK {
    let library = Libcrypto::of_caller(caller);
    let chain = transparent!(caller, X509_STORE_CTX_get0_chain(context), or ptr::null_mut());
    let to_program = || is_programs(library, context, caller);
    exchange_all(library, to_program, chain, Whose::AContexts, |api| of_context(api, context));
    chain
}

/// `X509_STORE_CTX_get1_chain`. libssl keeps two chains: the one that it has verified, and the one that it has built
/// for a server (`SSL_CTX_build_cert_chain`), which `SSL_CTX_get0_chain_certs` hands out by `SSL_CTX_ctrl`. The store
/// of a verified chain is remembered for `SSL_get0_verified_chain`; if this is not possible, the chain gets the store's
/// own certificates at once.
pub extern "C-unwind" fn get1_chain(context: *const X509_STORE_CTX, caller: Caller) -> *mut OPENSSL_STACK {
    let library = Libcrypto::of_caller(caller);
    let chain = transparent!(caller, X509_STORE_CTX_get1_chain(context), or ptr::null_mut());
    let remembered = || {
        let served = library.and_then(|library| library.served());
        let state = served.and_then(|served| of_context(&served.api, context));
        state.is_some_and(|state| state.remember_chain(chain))
    };
    let to_program = || is_programs(library, context, caller) || !caller.is_own() && !remembered();
    exchange_all(library, to_program, chain, Whose::Nobodys, |api| of_context(api, context));
    chain
}

/// `X509_STORE_CTX_get1_certs`: the certificates of a name.
pub extern "C-unwind" fn get1_certs(
    context: *mut X509_STORE_CTX,
    name: *const X509_NAME,
    caller: Caller,
) -> *mut OPENSSL_STACK {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get1_certs(context, name), or ptr::null_mut());
    exchange_all(library, || !is_openssl(caller), found, Whose::Nobodys, |api| of_context(api, context));
    found
}

/// `X509_STORE_CTX_get_current_cert`: the first thing that a verify callback asks for.
pub extern "C-unwind" fn get_current_cert(context: *const X509_STORE_CTX, caller: Caller) -> *mut X509 {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get_current_cert(context), or ptr::null_mut());
    exchange_borrowed(library, caller, found, context)
}

/// `X509_STORE_CTX_get0_current_issuer`.
pub extern "C-unwind" fn get0_current_issuer(context: *const X509_STORE_CTX, caller: Caller) -> *mut X509 {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get0_current_issuer(context), or ptr::null_mut());
    exchange_borrowed(library, caller, found, context)
}

/// `X509_STORE_CTX_get0_cert`: the certificate to be verified. A directly trusted one may come from a store.
pub extern "C-unwind" fn get0_cert(context: *const X509_STORE_CTX, caller: Caller) -> *mut X509 {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get0_cert(context), or ptr::null_mut());
    exchange_borrowed(library, caller, found, context)
}

/// `X509_STORE_CTX_get1_issuer`.
pub extern "C-unwind" fn get1_issuer(
    issuer: *mut *mut X509,
    context: *mut X509_STORE_CTX,
    certificate: *mut X509,
    caller: Caller,
) -> c_int {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get1_issuer(issuer, context, certificate), or NOT_FOUND);
    if found == 1 && !issuer.is_null() {
        // SAFETY: libcrypto has stored a certificate there, with a reference for the program.
        unsafe { exchange_owned(library, caller, issuer, context) };
    }
    found
}

/// `X509_STORE_CTX_get_by_subject`.
pub extern "C-unwind" fn get_by_subject(
    context: *mut X509_STORE_CTX,
    kind: c_int,
    name: *const X509_NAME,
    object: *mut X509_OBJECT,
    caller: Caller,
) -> c_int {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get_by_subject(context, kind, name, object), or 0);
    if found == 1 {
        exchange_in_object(library, caller, object, context);
    }
    found
}

/// `X509_STORE_CTX_get_obj_by_subject`.
pub extern "C-unwind" fn get_obj_by_subject(
    context: *mut X509_STORE_CTX,
    kind: c_int,
    name: *const X509_NAME,
    caller: Caller,
) -> *mut X509_OBJECT {
    let library = Libcrypto::of_caller(caller);
    let found = transparent!(caller, X509_STORE_CTX_get_obj_by_subject(context, kind, name), or ptr::null_mut());
    exchange_in_object(library, caller, found, context);
    found
}

/// `SSL_get0_verified_chain`: the connection's own stack.
pub extern "C-unwind" fn ssl_get0_verified_chain(ssl: *const SSL, caller: Caller) -> *mut OPENSSL_STACK {
    type Function = unsafe extern "C-unwind" fn(*const SSL) -> *mut OPENSSL_STACK;
    // SAFETY: the type is OpenSSL's declaration.
    let Some(function) = (unsafe { in_libssl::<Function>(caller, c"SSL_get0_verified_chain") }) else {
        return ptr::null_mut();
    };
    let chain = {
        unwinding::prepare();
        // SAFETY: the program's own argument.
        unsafe { function(ssl) }
    };
    let state = StoreState::of_chain(chain);
    exchange_all(Libcrypto::of_libssl(caller), || !is_openssl(caller), chain, Whose::Nobodys, |_| state.as_deref());
    chain
}

/// `SSL_get0_dane_authority`: the certificate that a TLSA record has matched. The connection keeps it.
pub extern "C-unwind" fn ssl_get0_dane_authority(
    ssl: *mut SSL,
    certificate: *mut *mut X509,
    key: *mut *mut c_void,
    caller: Caller,
) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut SSL, *mut *mut X509, *mut *mut c_void) -> c_int;
    // SAFETY: the type is OpenSSL's declaration.
    let Some(function) = (unsafe { in_libssl::<Function>(caller, c"SSL_get0_dane_authority") }) else {
        return -1;
    };
    let depth = {
        unwinding::prepare();
        // SAFETY: the program's own arguments.
        unsafe { function(ssl, certificate, key) }
    };
    // SAFETY: libssl has stored a certificate there, or null.
    let found = if depth < 0 || certificate.is_null() { ptr::null_mut() } else { unsafe { *certificate } };
    let to_program = || !is_openssl(caller);
    if is_to_be_exchanged(found, to_program) {
        // It is one of the chain, which the connection keeps.
        let chain = ssl_get0_verified_chain(ssl, caller);
        if let Some(other) = in_place_of(Libcrypto::of_libssl(caller), to_program, found, chain, |_| None) {
            // SAFETY: as above.
            unsafe { *certificate = other };
        }
    }
    depth
}
