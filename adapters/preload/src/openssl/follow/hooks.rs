//! Entry points that are hooked only with `WINDLASS_FOLLOW`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use windlass_interpose::unwinding;

use crate::hook::Caller;
use crate::openssl::api::{BIO, SSL, SSL_CTX, X509_STORE, X509_STORE_CTX};
use crate::openssl::ca_names;
use crate::openssl::exchanging::is_openssl;

use super::context::Functions;
use super::psk::{self, Callback};
use super::sessions::{self, Beginning, Ssl};
use super::{origin_of, pair};

/// `X509_STORE_CTX_get0_store`: the program gets its own store, with its ex_data, in place of a successor.
pub extern "C-unwind" fn get0_store(context: *const X509_STORE_CTX, caller: Caller) -> *mut X509_STORE {
    let Some(functions) = Functions::of(caller) else { return ptr::null_mut() };
    // SAFETY: the program's own argument.
    let store = unsafe { (functions.api.X509_STORE_CTX_get0_store)(context) };
    if is_openssl(caller) { store } else { origin_of(store) }
}

/// Calls the function of the libssl that a call is meant for.
macro_rules! in_libssl {
    ($caller:expr, $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, or $failure:expr) => {{
        type Function = unsafe extern "C-unwind" fn($($type),*) $(-> $result)?;
        // A thread that waits for its peer can be cancelled.
        unwinding::prepare();
        // SAFETY: the type is that of libssl's headers.
        match unsafe { ca_names::in_libssl::<Function>($caller, name!($name)) } {
            // SAFETY: the program's own arguments, for this very function.
            Some(function) => unsafe { function($($argument),*) },
            None => $failure,
        }
    }};
}

/// Functions of libssl that may begin a handshake.
macro_rules! beginning {
    ($(
        $handler:ident => $how:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty, or $failure:expr;
    )*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        pub extern "C-unwind" fn $handler(ssl: *mut SSL, $($argument: $type,)* caller: Caller) -> $result {
            sessions::begin(ssl, Beginning::$how, caller);
            in_libssl!(caller, $name(ssl: *mut SSL $(, $argument: $type)*) -> $result, or $failure)
        }
    )* };
}

beginning! {
    connect => Connect SSL_connect() -> c_int, or -1;
    do_handshake => Any SSL_do_handshake() -> c_int, or -1;
    accept => Any SSL_accept() -> c_int, or -1;
    stream_conclude => Any SSL_stream_conclude(flags: u64) -> c_int, or 0;
    stream_reset => Any SSL_stream_reset(arguments: *const c_void, len: usize) -> c_int, or 0;
    read => Any SSL_read(bytes: *mut c_void, len: c_int) -> c_int, or -1;
    read_ex => Any SSL_read_ex(bytes: *mut c_void, len: usize, read: *mut usize) -> c_int, or 0;
    peek => Any SSL_peek(bytes: *mut c_void, len: c_int) -> c_int, or -1;
    peek_ex => Any SSL_peek_ex(bytes: *mut c_void, len: usize, read: *mut usize) -> c_int, or 0;
    write => Any SSL_write(bytes: *const c_void, len: c_int) -> c_int, or -1;
    write_ex => Any SSL_write_ex(bytes: *const c_void, len: usize, written: *mut usize) -> c_int, or 0;
    write_ex2 => Any SSL_write_ex2(
        bytes: *const c_void, len: usize, flags: u64, written: *mut usize
    ) -> c_int, or 0;
    write_early_data => EarlyData SSL_write_early_data(
        bytes: *const c_void, len: usize, written: *mut usize
    ) -> c_int, or 0;
}

/// `SSL_set_psk_use_session_callback`.
pub extern "C-unwind" fn set_psk(ssl: *mut SSL, callback: Option<Callback>, caller: Caller) {
    let callback = standing_in(callback, caller);
    in_libssl!(caller, SSL_set_psk_use_session_callback(ssl: *mut SSL, callback: Option<Callback>), or ())
}

/// `SSL_CTX_set_psk_use_session_callback`.
pub extern "C-unwind" fn set_psk_of_context(context: *mut SSL_CTX, callback: Option<Callback>, caller: Caller) {
    let callback = standing_in(callback, caller);
    in_libssl!(caller, SSL_CTX_set_psk_use_session_callback(context: *mut SSL_CTX, callback: Option<Callback>), or ())
}

fn standing_in(callback: Option<Callback>, caller: Caller) -> Option<Callback> {
    let own = callback?;
    let found = Ssl::of(caller).and_then(|library| psk::stand_in(own, library));
    if found.is_none() {
        sessions::note_unseen_starts();
    }
    found.or(callback)
}

/// `SSL_CTX_load_verify_locations`: from 3.0 on libssl loads file and directory one by one, and the directory only if
/// the file could be loaded (ssl_lib.c).
pub extern "C-unwind" fn load_verify_locations(
    context: *mut SSL_CTX,
    file: *const c_char,
    path: *const c_char,
    caller: Caller,
) -> c_int {
    pair(!file.is_null() && !path.is_null(), || {
        in_libssl!(
            caller,
            SSL_CTX_load_verify_locations(context: *mut SSL_CTX, file: *const c_char, path: *const c_char) -> c_int,
            or 0
        )
    })
}

/// Functions that make connections whose handshakes begin unseen.
macro_rules! unseen {
    ($($handler:ident => $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        pub extern "C-unwind" fn $handler($($argument: $type,)* caller: Caller) -> $result {
            sessions::note_unseen_starts();
            in_libssl!(caller, $name($($argument: $type),*) -> $result, or ptr::null_mut())
        }
    )* };
}

unseen! {
    bio_f_ssl => BIO_f_ssl() -> *mut c_void;
    bio_new_ssl => BIO_new_ssl(context: *mut SSL_CTX, client: c_int) -> *mut BIO;
    bio_new_ssl_connect => BIO_new_ssl_connect(context: *mut SSL_CTX) -> *mut BIO;
    bio_new_buffer_ssl_connect => BIO_new_buffer_ssl_connect(context: *mut SSL_CTX) -> *mut BIO;
}
