//! Entry points by which a program takes part in the verifications of a store, or has chains built with it: the
//! certificates must be the store's own by then (see `own`).

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::openssl::apart;
use crate::openssl::api::{OPENSSL_STACK, OSSL_LIB_CTX, Required, X509, X509_STORE, X509_STORE_CTX};
use crate::openssl::libcrypto::{Libcrypto, transparent};
use crate::openssl::store::{StoreState, tracked};
use crate::process;

/// `X509_build_chain` (3.0), which verifies with contexts of its own.
pub extern "C-unwind" fn build_chain(
    certificate: *mut X509,
    others: *mut OPENSSL_STACK,
    store: *mut X509_STORE,
    with_root: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> *mut OPENSSL_STACK {
    keep_apart(tracked(store));
    transparent!(
        caller,
        X509_build_chain(certificate, others, store, with_root, context, properties),
        or ptr::null_mut()
    )
}

/// `OSSL_CMP_CTX_build_cert_chain` (3.0).
pub extern "C-unwind" fn cmp_build_cert_chain(
    context: *mut c_void,
    store: *mut X509_STORE,
    others: *mut OPENSSL_STACK,
    caller: Caller,
) -> c_int {
    keep_apart(tracked(store));
    transparent!(caller, OSSL_CMP_CTX_build_cert_chain(context, store, others), or 0)
}

/// The program takes part in searches and verifications with a store. Functions that it sets are called with the
/// store's certificates, or can ask for them, in the middle of a verification that goes on with any changes; functions
/// that it asks for hand the certificates out. libssl also sets the program's verify callback.
macro_rules! takes_part {
    ($($handler:ident $name:ident($first:ty $(, $argument:ident)?) by $store:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            pub extern "C-unwind" fn $handler(
                first: $first, $($argument: *mut c_void,)? caller: Caller,
            ) -> *mut c_void {
                let library = Libcrypto::of_caller(caller);
                let of_store: fn(&Required, $first) -> *mut X509_STORE = $store;
                let served = library.and_then(|library| library.served());
                keep_apart(served.and_then(|served| tracked(of_store(&served.api, first))));
                transparent!(caller, $name(first, $($argument)?), or ptr::null_mut())
            }
        )*
    };
}

takes_part! {
    set_verify X509_STORE_set_verify(*mut X509_STORE, function) by |_, store| store;
    set_verify_cb X509_STORE_set_verify_cb(*mut X509_STORE, function) by |_, store| store;
    set_get_issuer X509_STORE_set_get_issuer(*mut X509_STORE, function) by |_, store| store;
    set_check_revocation X509_STORE_set_check_revocation(*mut X509_STORE, function) by |_, store| store;
    set_get_crl X509_STORE_set_get_crl(*mut X509_STORE, function) by |_, store| store;
    set_check_crl X509_STORE_set_check_crl(*mut X509_STORE, function) by |_, store| store;
    set_cert_crl X509_STORE_set_cert_crl(*mut X509_STORE, function) by |_, store| store;
    set_check_policy X509_STORE_set_check_policy(*mut X509_STORE, function) by |_, store| store;
    set_lookup_certs X509_STORE_set_lookup_certs(*mut X509_STORE, function) by |_, store| store;
    set_lookup_crls X509_STORE_set_lookup_crls(*mut X509_STORE, function) by |_, store| store;
    get_get_issuer X509_STORE_get_get_issuer(*mut X509_STORE) by |_, store| store;
    get_lookup_certs X509_STORE_get_lookup_certs(*mut X509_STORE) by |_, store| store;
    of_context_set_verify X509_STORE_CTX_set_verify(*mut X509_STORE_CTX, function) by store_of;
    of_context_set_verify_cb X509_STORE_CTX_set_verify_cb(*mut X509_STORE_CTX, function) by store_of;
    of_context_set_get_crl X509_STORE_CTX_set_get_crl(*mut X509_STORE_CTX, function) by store_of;
    of_context_get_get_issuer X509_STORE_CTX_get_get_issuer(*mut X509_STORE_CTX) by store_of;
    of_context_get_lookup_certs X509_STORE_CTX_get_lookup_certs(*mut X509_STORE_CTX) by store_of;
}

/// `X509_STORE_set_check_issued`: before 3.5 the function is called with the store locked by libcrypto
/// (X509_STORE_CTX_get1_issuer, x509_lu.c). If it looks at the store, everything must be in place by then.
pub extern "C-unwind" fn set_check_issued(
    store: *mut X509_STORE,
    function: *mut c_void,
    caller: Caller,
) -> *mut c_void {
    keep_apart(tracked(store));
    if let Some(state) = tracked(store).filter(|_| process::enabled()) {
        state.make_eager();
    }
    transparent!(caller, X509_STORE_set_check_issued(store, function), or ptr::null_mut())
}

/// The store of a context.
pub fn store_of(api: &Required, context: *mut X509_STORE_CTX) -> *mut X509_STORE {
    if context.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the program passes a valid context.
    unsafe { (api.X509_STORE_CTX_get0_store)(context) }
}

fn keep_apart(state: Option<&StoreState>) {
    if let Some(state) = state.filter(|state| !state.is_locked_here()) {
        guarded(|| {
            apart::keep_apart(&state.model);
            Some(())
        });
    }
}
