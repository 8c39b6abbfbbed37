//! Verifications, handshakes, and the ends of objects.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_interpose::family::Caller;
use windlass_interpose::hook;

use crate::clock::Overhead;
use crate::gnutls::api::{Callback, Certificate, Credentials, FORMAT_DER, GET_COPY, INTERNAL_ERROR, List, Session};
use crate::gnutls::copies::{LIBGNUTLS, Libgnutls};
use crate::gnutls::load::list_of;
use crate::handshake::{self, Step};
use crate::verification::{Outcome, Verification};
use crate::{settings, stores};

/// The log level from which GnuTLS reports each of its internal errors to the log function.
const LOGS_ERRORS: c_int = 3;

/// Set if the program may be told of errors inside GnuTLS: then we call nothing that may fail.
static LOGS: AtomicBool = AtomicBool::new(false);

macro_rules! verifiers {
    ($($handler:ident = $name:ident($($arg:ident: $type:ty),*), ($($about:expr),*);)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments)] // as many as the foreign function has
        pub fn $handler($($arg: $type,)* caller: Caller) -> c_int {
            let verification = Verification::begin(|| ());
            let result: c_int = original!(LIBGNUTLS, caller, $name($($arg),*), or INTERNAL_ERROR);
            verification.end(|| outcome($($about,)* result, caller));
            result
        }
    )* };
}

verifiers! {
    verify_crt = gnutls_x509_trust_list_verify_crt(
        list: *mut List, chain: *mut *mut Certificate, size: c_uint, flags: c_uint, status: *mut c_uint,
        callback: Callback
    ), (list, chain, size, status);
    verify_crt2 = gnutls_x509_trust_list_verify_crt2(
        list: *mut List, chain: *mut *mut Certificate, size: c_uint, data: *mut c_void, elements: c_uint, flags: c_uint,
        status: *mut c_uint, callback: Callback
    ), (list, chain, size, status);
    // Here the certificate itself is the trusted one.
    verify_named_crt = gnutls_x509_trust_list_verify_named_crt(
        list: *mut List, certificate: *mut Certificate, name: *const c_void, size: usize, flags: c_uint,
        status: *mut c_uint, callback: Callback
    ), (list, ptr::null_mut(), 0, status);
}

fn outcome(
    list: *mut List,
    chain: *mut *mut Certificate,
    size: c_uint,
    status: *mut c_uint,
    result: c_int,
    caller: Caller,
) -> Outcome {
    // SAFETY: room for the result, which the original has filled.
    let ok = result >= 0 && unsafe { status.as_ref() }.is_some_and(|status| *status == 0);
    // A list on a token would ask the token again; and without GNUTLS_TL_GET_COPY it keeps the result, without a lock
    // and for good.
    let is_safe = !logs() && !stores::is_on_token(list as usize);
    let anchor = if ok && !chain.is_null() && is_safe {
        Libgnutls::of_caller(caller).and_then(|library| anchor(library, list, chain, size))
    } else {
        None
    };
    Outcome { ok, store: (!list.is_null()).then_some(list as usize), anchor }
}

fn logs() -> bool {
    // GnuTLS reads it during initialisation (global.c).
    LOGS.load(Ordering::Relaxed) || settings::environment(c"GNUTLS_DEBUG_LEVEL").is_some()
}

/// DER of the trusted certificate that the list returns as the issuer of a certificate of a valid chain. The last
/// certificate is asked for first: in most chains it is the one below the trust anchor.
fn anchor(library: &Libgnutls, list: *mut List, chain: *mut *mut Certificate, size: c_uint) -> Option<Vec<u8>> {
    let api = &library.api;
    let (issuer_of, export) = (api.gnutls_x509_trust_list_get_issuer?, api.gnutls_x509_crt_export?);
    let deinit = api.gnutls_x509_crt_deinit?;
    (0..size as usize).rev().find_map(|at| {
        let mut issuer = ptr::null_mut();
        // SAFETY: the program's chain of `size` certificates; the issuer is a copy of ours.
        if unsafe { issuer_of(list, *chain.add(at), &mut issuer, GET_COPY) } < 0 || issuer.is_null() {
            return None;
        }
        // Room for a certificate of at most 64 KiB in DER; larger ones are not recorded.
        let mut der = vec![0u8; 65536];
        let mut length = der.len();
        // SAFETY: room for `length` bytes; the copy is not used again.
        let status = unsafe {
            let status = export(issuer, FORMAT_DER, der.as_mut_ptr().cast(), &mut length);
            deinit(issuer);
            status
        };
        der.truncate(length);
        (status >= 0).then_some(der)
    })
}

/// `gnutls_handshake`
pub fn handshake(session: *mut Session, caller: Caller) -> c_int {
    let step = Step::begin(session as usize, || None);
    let result: c_int = original!(LIBGNUTLS, caller, gnutls_handshake(session), or INTERNAL_ERROR);
    step.end(result == 0);
    result
}

/// `gnutls_deinit`
pub fn deinit(session: *mut Session, caller: Caller) {
    handshake::forget(session as usize);
    original!(LIBGNUTLS, caller, gnutls_deinit(session), or())
}

/// `gnutls_x509_trust_list_deinit`
pub fn list_deinit(list: *mut List, all: c_uint, caller: Caller) {
    release(|| Some(list));
    original!(LIBGNUTLS, caller, gnutls_x509_trust_list_deinit(list, all), or())
}

/// `gnutls_certificate_free_credentials`: with `-Bsymbolic` the end of their list is not seen.
pub fn free_credentials(credentials: *mut Credentials, caller: Caller) {
    release(|| list_of(Libgnutls::of_caller(caller)?, credentials));
    original!(LIBGNUTLS, caller, gnutls_certificate_free_credentials(credentials), or())
}

fn release(list: impl FnOnce() -> Option<*mut List>) {
    if settings::enabled() && !hook::is_inside() {
        let overhead = Overhead::begin();
        hook::shielded(|| {
            stores::released(list()? as usize);
            Some(())
        });
        drop(overhead);
    }
}

/// `gnutls_global_set_log_level`
pub fn set_log_level(level: c_int, caller: Caller) {
    LOGS.store(level >= LOGS_ERRORS, Ordering::Relaxed);
    original!(LIBGNUTLS, caller, gnutls_global_set_log_level(level), or())
}
