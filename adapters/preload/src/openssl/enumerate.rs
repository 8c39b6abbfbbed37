//! Entry points that show a program the contents of a store: the store must be complete by then.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::openssl::api::{OPENSSL_STACK, X509_STORE, X509_STORE_CTX};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, original};
use crate::openssl::store::tracked;
use crate::openssl::{follow, locks};
use crate::process;

/// `X509_STORE_get0_objects`.
pub extern "C-unwind" fn get0_objects(store: *const X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let store = follow::reached(store.cast_mut(), caller).cast_const();
    fill(store, caller);
    if let Some(state) = tracked(store).filter(|state| !state.library.contains(caller)) {
        guarded(|| {
            // A function of the program's may ask in the middle of a search (see `taking_part::set_check_issued`).
            if state.is_locked_here() || state.model.is_settled() {
                state.model.expose();
                return None;
            }
            let _marked = Marked::new(state.served());
            state.model.lock().settle_for_stack();
            Some(())
        });
    }
    original!(caller, X509_STORE_get0_objects(store), or ptr::null_mut())
}

/// `X509_STORE_get1_objects` (3.3).
pub extern "C-unwind" fn get1_objects(store: *mut X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let store = follow::reached(store, caller);
    fill(store, caller);
    original!(caller, X509_STORE_get1_objects(store), or ptr::null_mut())
}

/// `X509_STORE_get1_all_certs` (3.0).
pub extern "C-unwind" fn get1_all_certs(store: *mut X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let store = follow::reached(store, caller);
    fill(store, caller);
    original!(caller, X509_STORE_get1_all_certs(store), or ptr::null_mut())
}

/// `X509_STORE_CTX_print_verify_cb` (3.0): prints the trust store when a verification has failed (t_x509.c).
pub extern "C-unwind" fn print_verify_cb(ok: c_int, context: *mut X509_STORE_CTX, caller: Caller) -> c_int {
    let library = Libcrypto::of_caller(caller);
    if let (Some(served), false) = (library.and_then(|library| library.served()), context.is_null()) {
        // SAFETY: libcrypto or the program passes a valid context of the caller's libcrypto.
        let store = unsafe { (served.api.X509_STORE_CTX_get0_store)(context) };
        if let Some(state) = tracked(store) {
            state.complete();
        }
    }
    original!(caller, X509_STORE_CTX_print_verify_cb(ok, context), or ok)
}

/// `OSSL_CMP_CTX_set0_trustedStore` (3.0): CMP lists the store's certificates where no hook sees it (cmp_vfy.c).
pub extern "C-unwind" fn cmp_set0_trusted_store(context: *mut c_void, store: *mut X509_STORE, caller: Caller) -> c_int {
    fill(store, caller);
    if let Some(state) = tracked(store).filter(|_| process::enabled()) {
        state.make_eager();
    }
    original!(caller, OSSL_CMP_CTX_set0_trustedStore(context, store), or 0)
}

/// `X509_STORE_lock`: a program that locks a store itself is about to read its objects, and while it holds the lock
/// nothing can be added (CPython copies them in this way).
pub extern "C-unwind" fn lock(store: *mut X509_STORE, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    let library = Libcrypto::of_caller(caller);
    let lock_original = || original!(caller, X509_STORE_lock(store), or 0);
    if is_internal(library, caller) {
        return lock_original();
    }
    let Some(state) = tracked(store) else { return lock_original() };
    if !process::enabled() {
        return lock_original();
    }
    let locked = state.model.lock_complete(
        || state.complete(),
        || (lock_original() == 1).then_some(()),
        |()| {
            original!(caller, X509_STORE_unlock(store), or 0);
        },
    );
    if locked.is_none() {
        return 0;
    }
    locks::enter(store);
    1
}

/// `X509_STORE_unlock`.
pub extern "C-unwind" fn unlock(store: *mut X509_STORE, caller: Caller) -> c_int {
    let store = follow::reached(store, caller);
    let library = Libcrypto::of_caller(caller);
    if !is_internal(library, caller) && tracked(store).is_some() {
        locks::leave(store);
    }
    original!(caller, X509_STORE_unlock(store), or 0)
}

/// Whether libcrypto makes the call, for itself or on our behalf.
fn is_internal(library: Option<&Libcrypto>, caller: Caller) -> bool {
    crate::hook::is_inside() || library.is_some_and(|library| library.contains(caller))
}

/// Fills a watched store, unless libcrypto itself is asking (by_store.c, t_x509.c and get1_all_certs call
/// get0_objects).
fn fill(store: *const X509_STORE, caller: Caller) {
    if let Some(state) = tracked(store).filter(|state| !state.library.contains(caller)) {
        state.complete();
    }
}
