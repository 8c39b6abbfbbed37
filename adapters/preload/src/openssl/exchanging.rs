//! Replacing shared certificates before the program gets them.

use std::ffi::c_int;
use std::ptr;

use crate::fork_lock::ForkLock;
use crate::hook::{self, Caller};
use crate::openssl::api::{OPENSSL_STACK, Required, X509, X509_OBJECT, X509_STORE_CTX};
use crate::openssl::errors::Marked;
use crate::openssl::in_place::{self, InPlace};
use crate::openssl::libcrypto::{Libcrypto, Served, defined, libssl_of, transparent};
use crate::openssl::snapshot;
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::taking_part::store_of;

/// The state of a context's store.
pub fn of_context<'a>(api: &Required, context: *const X509_STORE_CTX) -> Option<&'a StoreState> {
    tracked(store_of(api, context.cast_mut()))
}

/// Whether the program is about to get a certificate that others share.
pub fn is_to_be_exchanged(certificate: *mut X509, to_program: impl FnOnce() -> bool) -> bool {
    !certificate.is_null() && !hook::is_inside() && snapshot::shared(certificate).is_some() && to_program()
}

/// A certificate that the program is about to get, and its replacement. `None`: it is not shared, or does not go to the
/// program.
fn exchanged<'a>(
    library: Option<&'static Libcrypto>,
    to_program: impl FnOnce() -> bool,
    certificate: *mut X509,
    state: impl FnOnce(&Required) -> Option<&'a StoreState>,
) -> Option<(&'static Served, InPlace)> {
    if !is_to_be_exchanged(certificate, to_program) {
        return None;
    }
    let library = library?;
    let served = library.served()?;
    Some((served, in_place::of(library, state(&served.api), served, certificate)?))
}

/// Replaces a certificate that the program gets from a context without a reference.
pub fn exchange_borrowed(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    certificate: *mut X509,
    context: *const X509_STORE_CTX,
) -> *mut X509 {
    let (to_program, state) = (|| !is_openssl(caller), |api: &Required| of_context(api, context));
    if !is_to_be_exchanged(certificate, to_program) {
        return certificate;
    }
    let chain = transparent!(caller, X509_STORE_CTX_get0_chain(context), or ptr::null_mut());
    exchange_all(library, to_program, chain, Whose::AContexts, state);
    in_place_of(library, to_program, certificate, chain, state).unwrap_or(certificate)
}

/// The replacement for a certificate that the program gets without a reference: the one from a chain whose certificates
/// were exchanged, if it is there. The owner of the chain keeps it alive, even if the store goes.
pub fn in_place_of<'a>(
    library: Option<&'static Libcrypto>,
    to_program: impl FnOnce() -> bool,
    certificate: *mut X509,
    chain: *mut OPENSSL_STACK,
    state: impl FnOnce(&Required) -> Option<&'a StoreState>,
) -> Option<*mut X509> {
    let served = library?.served()?;
    let (api, _marked) = (&served.api, Marked::new(served));
    // SAFETY: libcrypto's stack of certificates, or null. A shared certificate is kept by its snapshot, or for good.
    let in_chain = unsafe {
        let elements = (0..(api.OPENSSL_sk_num)(chain).max(0)).map(|at| (api.OPENSSL_sk_value)(chain, at).cast());
        elements.into_iter().find(|&one| (api.X509_cmp)(one, certificate) == 0)
    };
    in_chain.or_else(|| exchanged(library, to_program, certificate, state).map(|(_, other)| other.certificate))
}

/// Replaces a certificate that the program gets with a reference.
///
/// # Safety
/// `place` holds a certificate with a reference.
pub unsafe fn exchange_owned(
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

/// Replaces a certificate that the program gets in an object.
pub fn exchange_in_object(
    library: Option<&'static Libcrypto>,
    caller: Caller,
    object: *mut X509_OBJECT,
    context: *const X509_STORE_CTX,
) {
    let served = library.and_then(|library| library.served());
    let (Some(served), false) = (served, object.is_null()) else { return };
    // SAFETY: libcrypto has filled the object, or refused it.
    let certificate = unsafe { (served.api.X509_OBJECT_get0_X509)(object) };
    if let Some((_, other)) = exchanged(library, || !is_openssl(caller), certificate, |api| of_context(api, context)) {
        // SAFETY: as above. The object releases its old reference and takes a new one.
        unsafe {
            let own = other.with_reference(served);
            (served.api.X509_OBJECT_set1_X509)(object, own);
            (served.api.X509_free)(own);
        }
    }
}

/// The owner of a stack: who else may look at its certificates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// A context, which refers to some of them without its own reference; other threads may also ask for them.
    AContexts,
    /// The caller alone.
    Nobodys,
}

/// If two threads ask for the same stack, only one exchanges.
static EXCHANGING: ForkLock = ForkLock::new();

/// Replaces the certificates that the program gets in a stack. The stack holds a reference to each.
pub fn exchange_all<'a>(
    library: Option<&'static Libcrypto>,
    to_program: impl Fn() -> bool,
    stack: *mut OPENSSL_STACK,
    whose: Whose,
    state: impl Fn(&Required) -> Option<&'a StoreState>,
) {
    let served = library.and_then(|library| library.served());
    let (Some(served), false) = (served, stack.is_null()) else { return };
    let api = &served.api;
    // SAFETY: libcrypto's stack of certificates.
    let count = unsafe { (api.OPENSSL_sk_num)(stack) };
    for at in 0..count.max(0) {
        // SAFETY: as above.
        let shared = unsafe { (api.OPENSSL_sk_value)(stack, at) }.cast::<X509>();
        let Some((_, other)) = exchanged(library, &to_program, shared, &state) else { continue };
        let own = other.with_reference(served);
        let guard = EXCHANGING.lock();
        // SAFETY: as above.
        let is_there = unsafe { (api.OPENSSL_sk_value)(stack, at) }.cast() == shared;
        if is_there {
            if whose == Whose::AContexts {
                snapshot::keep(shared);
            }
            // SAFETY: as above.
            unsafe { (api.OPENSSL_sk_set)(stack, at, own.cast()) };
        }
        drop(guard);
        // SAFETY: the stack's reference, or the new certificate's.
        unsafe { (api.X509_free)(if is_there { shared } else { own }) };
    }
}

/// Whether the program gets a context's chain, sooner or later.
pub fn is_programs(library: Option<&'static Libcrypto>, context: *const X509_STORE_CTX, caller: Caller) -> bool {
    !is_openssl(caller) || library.is_some_and(|library| builds_chain(library, context, caller))
}

/// Whether libssl used a context to build a chain for sending. The contexts of a connection's verification refer to the
/// connection (ssl_verify_cert_chain, ssl_cert.c); others don't (ssl_build_cert_chain there; ssl_add_cert_chain,
/// statem_lib.c).
fn builds_chain(library: &'static Libcrypto, context: *const X509_STORE_CTX, caller: Caller) -> bool {
    type Index = unsafe extern "C-unwind" fn() -> c_int;
    if library.contains(caller) {
        return false;
    }
    let index =
        libssl_of(caller).and_then(|(_, libssl)| defined::<Index>(libssl, c"SSL_get_ex_data_X509_STORE_CTX_idx"));
    let (Some(index), Some(get)) = (index, library.originals.X509_STORE_CTX_get_ex_data) else { return false };
    // SAFETY: libssl passes its own context.
    unsafe { get(context, index()).is_null() }
}

/// Whether a call comes from one of OpenSSL's own libraries.
pub fn is_openssl(caller: Caller) -> bool {
    caller.is_own() || caller.is_companion()
}
