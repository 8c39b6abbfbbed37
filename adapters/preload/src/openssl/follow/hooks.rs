//! Entry points that are hooked only with `WINDLASS_FOLLOW`.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::ptr;

use windlass_interpose::family::{COPIES, Origin};

use crate::hook::{Caller, guarded};
use crate::openssl::api::{SSL, SSL_CTX, X509_STORE, X509_STORE_CTX};
use crate::openssl::exchanging::is_openssl;
use crate::openssl::libcrypto::{LIBSSL, Libcrypto, defined};
use crate::openssl::store::tracked;

use super::context::Functions;
use super::{origin_of, successor};

/// `SSL_CTRL_GET_VERIFY_CERT_STORE` of <openssl/ssl.h> (3.0).
const SSL_CTRL_GET_VERIFY_CERT_STORE: c_int = 137;

/// `X509_STORE_CTX_get0_store`: the program gets its own store, with its ex_data, in place of a successor.
pub extern "C-unwind" fn get0_store(context: *const X509_STORE_CTX, caller: Caller) -> *mut X509_STORE {
    let Some(functions) = Functions::of(caller) else { return ptr::null_mut() };
    // SAFETY: the program's own argument.
    let store = unsafe { (functions.api.X509_STORE_CTX_get0_store)(context) };
    if is_openssl(caller) { store } else { origin_of(store) }
}

/// `SSL_set_session`: a resumed session is not verified again. If the store has changed since it was loaded, no earlier
/// session is resumed.
pub extern "C-unwind" fn set_session(ssl: *mut SSL, session: *mut c_void, caller: Caller) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut SSL, *mut c_void) -> c_int;
    let Some(function) = in_libssl::<Function>(caller, c"SSL_set_session") else { return 0 };
    let is_stale = !session.is_null() && !ssl.is_null() && guarded(|| has_changed(ssl, caller)).is_some();
    // SAFETY: the program's own arguments; without a session the function drops the connection's.
    unsafe { function(ssl, if is_stale { ptr::null_mut() } else { session }) }
}

/// Some if the store that a connection is verified with is followed, and has changed at some time.
fn has_changed(ssl: *mut SSL, caller: Caller) -> Option<()> {
    let state = tracked(store_of(ssl, caller)?)?;
    let is_its = |caller: &Caller| Libcrypto::known_of(*caller).is_some_and(|known| ptr::eq(known, state.library));
    let mut callers = (0..COPIES).map(|copy| Caller::new(copy, Origin::Companion));
    let following = state.follow.as_ref()?;
    let changed = successor(state, Functions::of(callers.find(is_its)?)?).is_some() || following.has_changed();
    (changed && !following.is_left()).then_some(())
}

/// The store that a connection is verified with (ssl_verify_cert_chain, ssl_cert.c).
fn store_of(ssl: *mut SSL, caller: Caller) -> Option<*mut X509_STORE> {
    type Control = unsafe extern "C-unwind" fn(*mut SSL, c_int, c_long, *mut c_void) -> c_long;
    type Context = unsafe extern "C-unwind" fn(*const SSL) -> *mut SSL_CTX;
    type Store = unsafe extern "C-unwind" fn(*const SSL_CTX) -> *mut X509_STORE;
    let control = in_libssl::<Control>(caller, c"SSL_ctrl")?;
    let context = in_libssl::<Context>(caller, c"SSL_get_SSL_CTX")?;
    let store = in_libssl::<Store>(caller, c"SSL_CTX_get_cert_store")?;
    let mut own: *mut X509_STORE = ptr::null_mut();
    // SAFETY: the program's own connection, which has a context; room for the answer. 1.1.1 does not know the command,
    // and leaves `own` alone.
    unsafe {
        control(ssl, SSL_CTRL_GET_VERIFY_CERT_STORE, 0, (&raw mut own).cast());
        Some(if own.is_null() { store(context(ssl)) } else { own })
    }
}

fn in_libssl<F: Copy>(caller: Caller, name: &CStr) -> Option<F> {
    defined(LIBSSL.copy(caller.copy()), name)
}
