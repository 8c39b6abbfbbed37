//! Verifications and handshakes.

use std::ffi::c_int;
use std::ptr;

use windlass_interpose::family::Caller;

use crate::gathered;
use crate::handshake::{self, Step};
use crate::openssl::api::{SSL, X509_STORE, X509_STORE_CTX, X509_V_OK};
use crate::openssl::copies::{LIBCRYPTO, LIBSSL, Libcrypto, Libssl};
use crate::openssl::subject::Target;
use crate::verification::{Outcome, Verification};

/// `X509_verify_cert`
pub fn verify_cert(context: *mut X509_STORE_CTX, caller: Caller) -> c_int {
    let store = || store_of(Libcrypto::of_caller(caller)?, context);
    let verification = Verification::begin(|| {
        if let (Some(store), Some(library)) = (store(), Libcrypto::of_caller(caller)) {
            gathered::flush(store as usize, || Target::objects(library, store));
        }
    });
    let result: c_int = original!(LIBCRYPTO, caller, X509_verify_cert(context), or - 1);
    verification.end(|| {
        let anchor =
            if result == 1 { Libcrypto::of_caller(caller).and_then(|library| anchor(library, context)) } else { None };
        Outcome { ok: result == 1, store: store().map(|store| store as usize), anchor }
    });
    result
}

fn store_of(library: &Libcrypto, context: *mut X509_STORE_CTX) -> Option<*mut X509_STORE> {
    (!context.is_null()).then_some(())?;
    // SAFETY: the program's context.
    let store = unsafe { library.api.X509_STORE_CTX_get0_store?(context) };
    (!store.is_null()).then_some(store)
}

/// DER of the last certificate of the chain, if it came from the trusted ones.
fn anchor(library: &Libcrypto, context: *mut X509_STORE_CTX) -> Option<Vec<u8>> {
    let api = &library.api;
    // SAFETY: a context that was just verified; the chain belongs to it.
    unsafe {
        // A callback of the program can turn a failure into a success.
        if api.X509_STORE_CTX_get_error?(context) != X509_V_OK {
            return None;
        }
        let chain = api.X509_STORE_CTX_get0_chain?(context);
        let length = api.OPENSSL_sk_num?(chain);
        if length < 1 || api.X509_STORE_CTX_get_num_untrusted?(context) >= length {
            return None;
        }
        let last = api.OPENSSL_sk_value?(chain, length - 1).cast();
        let size = usize::try_from(api.i2d_X509?(last, ptr::null_mut())).ok()?;
        let mut der = vec![0; size];
        let mut end = der.as_mut_ptr();
        (api.i2d_X509?(last, &mut end) as usize == size).then_some(der)
    }
}

macro_rules! handshakes {
    ($($handler:ident = $name:ident;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(session: *mut SSL, caller: Caller) -> c_int {
            let step = Step::begin(session as usize, || {
                // SAFETY: the program's session.
                Some(unsafe { Libssl::of_caller(caller)?.api.SSL_is_init_finished?(session) } != 0)
            });
            let result: c_int = original!(LIBSSL, caller, $name(session), or -1);
            step.end(result == 1);
            result
        }
    )* };
}

handshakes! {
    do_handshake = SSL_do_handshake;
    connect = SSL_connect;
    accept = SSL_accept;
}

/// `SSL_free`
pub fn free(session: *mut SSL, caller: Caller) {
    handshake::forget(session as usize);
    original!(LIBSSL, caller, SSL_free(session), or())
}
