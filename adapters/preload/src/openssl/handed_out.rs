//! Entry points through which a certificate of a store reaches the program: it has to be the store's own by then (see `own`).
//!
//! tests/openssl/handed-out.txt goes through the functions of all versions that hand out certificates. OpenSSL's own calls of these
//! functions are none of the program's: libssl keeps a chain for each connection, and hands it out by `SSL_get0_verified_chain`.

use std::ffi::{c_int, c_void};
use std::ptr;

use windlass_interpose::unwinding;

use crate::hook::{self, Caller};
use crate::openssl::api::{
    OPENSSL_STACK, Required, SSL, SSL_CTX, X509, X509_NAME, X509_OBJECT, X509_STORE, X509_STORE_CTX,
};
use crate::openssl::ca_names::in_libssl;
use crate::openssl::library::{Libcrypto, Served, defined, libssl_of, transparent};
use crate::openssl::own;
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::taking_part::store_of;

/// What `X509_STORE_CTX_get1_issuer` returns without a libcrypto.
const NOT_FOUND: c_int = -1;

/// `X509_STORE_CTX_get0_chain`: the context's own stack.
pub extern "C-unwind" fn get0_chain(context: *const X509_STORE_CTX, caller: Caller) -> *mut OPENSSL_STACK {
    let library = Libcrypto::of_caller(caller);
    let chain = transparent!(caller, X509_STORE_CTX_get0_chain(context), or ptr::null_mut());
    exchange_all(library, || !is_openssl(caller), chain, |api| of_context(api, context));
    chain
}

/// `X509_STORE_CTX_get1_chain`. libssl keeps the chain that it has verified, and the one that it has built for a server
/// (`SSL_CTX_build_cert_chain`), which `SSL_CTX_get0_chain_certs` hands out by `SSL_CTX_ctrl`.
pub extern "C-unwind" fn get1_chain(context: *const X509_STORE_CTX, caller: Caller) -> *mut OPENSSL_STACK {
    let library = Libcrypto::of_caller(caller);
    let chain = transparent!(caller, X509_STORE_CTX_get1_chain(context), or ptr::null_mut());
    let to_program = || !is_openssl(caller) || library.is_some_and(|library| builds_chain(library, context, caller));
    exchange_all(library, to_program, chain, |api| of_context(api, context));
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
    exchange_all(library, || !is_openssl(caller), found, |api| of_context(api, context));
    found
}

/// `X509_STORE_CTX_get_current_cert`: what a verify callback asks for first.
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

/// `X509_STORE_CTX_get0_cert`: what is verified, but a directly trusted certificate may be a store's.
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
    exchange_all(Libcrypto::of_libssl(caller), || !is_openssl(caller), chain, |_| of_connection(ssl, caller));
    chain
}

/// `SSL_get0_dane_authority`: the certificate that a TLSA record has matched, which the connection keeps.
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
    if depth >= 0 && !certificate.is_null() {
        // SAFETY: libssl has stored a certificate there, or null.
        let found = unsafe { *certificate };
        let other =
            exchanged(Libcrypto::of_libssl(caller), || !is_openssl(caller), found, |_| of_connection(ssl, caller));
        if let Some((_, other)) = other {
            // SAFETY: as above.
            unsafe { *certificate = other.certificate };
        }
    }
    depth
}

/// What is known of the store of a context.
fn of_context<'a>(api: &Required, context: *const X509_STORE_CTX) -> Option<&'a StoreState> {
    tracked(store_of(api, context.cast_mut()))
}

/// What is known of the store with which a connection verifies its peer. `None`, too, if the program has changed that.
fn of_connection<'a>(ssl: *const SSL, caller: Caller) -> Option<&'a StoreState> {
    type Context = unsafe extern "C-unwind" fn(*const SSL) -> *mut SSL_CTX;
    type Store = unsafe extern "C-unwind" fn(*const SSL_CTX) -> *mut X509_STORE;
    // SAFETY: the types are OpenSSL's declarations; the program passes a valid connection, which has a context, and that a store.
    unsafe {
        let context = in_libssl::<Context>(caller, c"SSL_get_SSL_CTX")?;
        let store = in_libssl::<Store>(caller, c"SSL_CTX_get_cert_store")?;
        tracked(store(context(ssl)))
    }
}

/// A certificate that the program is about to get, and what it is to get in its place; `None`: it is not shared, or does not go to the
/// program.
fn exchanged<'a>(
    library: Option<&'static Libcrypto>,
    to_program: impl FnOnce() -> bool,
    certificate: *mut X509,
    state: impl FnOnce(&Required) -> Option<&'a StoreState>,
) -> Option<(&'static Served, own::InPlace)> {
    if certificate.is_null() || hook::is_inside() || !own::is_shared(certificate) || !to_program() {
        return None;
    }
    let library = library?;
    let served = library.served.as_ref()?;
    Some((served, own::in_place_of(library, state(&served.api), served, certificate)?))
}

fn exchange_borrowed(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    certificate: *mut X509,
    context: *const X509_STORE_CTX,
) -> *mut X509 {
    let other = exchanged(library, || !is_openssl(caller), certificate, |api| of_context(api, context));
    other.map_or(certificate, |(_, other)| other.certificate)
}

/// # Safety
/// `place` holds a certificate with a reference.
unsafe fn exchange_owned(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    place: *mut *mut X509,
    context: *const X509_STORE_CTX,
) {
    // SAFETY: as the caller states.
    unsafe {
        let shared = *place;
        if let Some((served, other)) =
            exchanged(library, || !is_openssl(caller), shared, |api| of_context(api, context))
        {
            *place = other.with_reference(served);
            (served.api.X509_free)(shared);
        }
    }
}

fn exchange_in_object(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    object: *mut X509_OBJECT,
    context: *const X509_STORE_CTX,
) {
    let served = library.and_then(|library| library.served.as_ref());
    let (Some(served), false) = (served, object.is_null()) else { return };
    // SAFETY: libcrypto has filled the object, or refused it.
    let certificate = unsafe { (served.api.X509_OBJECT_get0_X509)(object) };
    if let Some((_, other)) = exchanged(library, || !is_openssl(caller), certificate, |api| of_context(api, context)) {
        // SAFETY: as above. The object gives its old reference back and takes a new one.
        unsafe {
            let own = other.with_reference(served);
            (served.api.X509_OBJECT_set1_X509)(object, own);
            (served.api.X509_free)(own);
        }
    }
}

/// Each element of the stack has a reference of the stack's, and nobody else has it: the program and the owner of a context or a connection
/// use it from one thread at a time.
fn exchange_all<'a>(
    library: Option<&'static Libcrypto>,
    to_program: impl Fn() -> bool,
    stack: *mut OPENSSL_STACK,
    state: impl Fn(&Required) -> Option<&'a StoreState>,
) {
    let served = library.and_then(|library| library.served.as_ref());
    let (Some(served), false) = (served, stack.is_null()) else { return };
    let api = &served.api;
    // SAFETY: libcrypto's stack of certificates.
    let count = unsafe { (api.OPENSSL_sk_num)(stack) };
    for at in 0..count.max(0) {
        // SAFETY: as above.
        let shared = unsafe { (api.OPENSSL_sk_value)(stack, at) }.cast::<X509>();
        if let Some((_, other)) = exchanged(library, &to_program, shared, &state) {
            // SAFETY: as above. What a context still knows of the shared certificate stays: the store keeps it.
            unsafe {
                (api.OPENSSL_sk_set)(stack, at, other.with_reference(served).cast());
                (api.X509_free)(shared);
            }
        }
    }
}

/// Whether libssl has verified with a context to build a chain that is sent. The contexts of a connection's verification know the
/// connection (ssl_verify_cert_chain, ssl_cert.c), others don't (ssl_build_cert_chain).
fn builds_chain(library: &'static Libcrypto, context: *const X509_STORE_CTX, caller: Caller) -> bool {
    type Index = unsafe extern "C-unwind" fn() -> c_int;
    if library.contains(caller) {
        return false;
    }
    let index = libssl_of(caller).and_then(|libssl| defined::<Index>(libssl, c"SSL_get_ex_data_X509_STORE_CTX_idx"));
    let (Some(index), Some(get)) = (index, library.originals.X509_STORE_CTX_get_ex_data) else { return false };
    // SAFETY: libssl passes its own context.
    unsafe { get(context, index()).is_null() }
}

/// Whether a call comes from one of OpenSSL's own libraries.
fn is_openssl(caller: Caller) -> bool {
    caller.is_own() || caller.is_companion()
}
