//! Entry points through which a program sees what a store holds: it has to hold everything by then.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use crate::hook::{Caller, guarded};
use crate::labels::Event;
use crate::openssl::api::{OPENSSL_STACK, X509_STORE, X509_STORE_CTX};
use crate::openssl::library::{Libcrypto, original};
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::{materialise, order, own};
use crate::process;

/// How many stores a thread can hold locked at once and still be told apart.
const LOCKS: usize = 8;

thread_local! {
    /// The stores that this thread holds locked by its own `X509_STORE_lock`.
    static LOCKED: [Cell<*const X509_STORE>; LOCKS] = const { [const { Cell::new(ptr::null()) }; LOCKS] };
}

/// Whether this thread has locked the store itself: then nothing can be added, and nothing has to be.
pub fn holds_store_lock(store: *const X509_STORE) -> bool {
    LOCKED.with(|locked| locked.iter().any(|slot| ptr::eq(slot.get(), store)))
}

fn replace_locked(old: *const X509_STORE, new: *const X509_STORE) {
    LOCKED.with(|locked| {
        if let Some(slot) = locked.iter().find(|slot| ptr::eq(slot.get(), old)) {
            slot.set(new);
        }
    });
}

/// `X509_STORE_get0_objects`.
pub extern "C-unwind" fn get0_objects(store: *const X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let library = fill(store, caller);
    if let Some(state) = tracked(store).filter(|state| !state.library.contains(caller)) {
        guarded(|| {
            if holds_store_lock(store) {
                state.expose();
                return None;
            }
            let _guard = state.lock();
            order::settle_for_stack(state, state.served()?);
            Some(())
        });
    }
    original!(library, caller, X509_STORE_get0_objects(store), or ptr::null_mut())
}

/// `X509_STORE_get1_objects` (3.3).
pub extern "C-unwind" fn get1_objects(store: *mut X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let library = fill(store, caller);
    original!(library, caller, X509_STORE_get1_objects(store), or ptr::null_mut())
}

/// `X509_STORE_get1_all_certs` (3.0).
pub extern "C-unwind" fn get1_all_certs(store: *mut X509_STORE, caller: Caller) -> *mut OPENSSL_STACK {
    let library = fill(store, caller);
    original!(library, caller, X509_STORE_get1_all_certs(store), or ptr::null_mut())
}

/// `X509_STORE_CTX_print_verify_cb` (3.0): prints the trust store when a verification has failed (t_x509.c).
pub extern "C-unwind" fn print_verify_cb(ok: c_int, context: *mut X509_STORE_CTX, caller: Caller) -> c_int {
    let library = Libcrypto::of_caller(caller);
    if let (Some(served), false) = (library.and_then(|library| library.served.as_ref()), context.is_null()) {
        // SAFETY: libcrypto or the program passes a valid context of the caller's libcrypto.
        let store = unsafe { (served.api.X509_STORE_CTX_get0_store)(context) };
        if let Some(state) = tracked(store) {
            fill_now(state);
        }
    }
    original!(library, caller, X509_STORE_CTX_print_verify_cb(ok, context), or ok)
}

/// `OSSL_CMP_CTX_set0_trustedStore` (3.0): CMP lists the store's certificates where no hook sees it (cmp_vfy.c).
pub extern "C-unwind" fn cmp_set0_trusted_store(context: *mut c_void, store: *mut X509_STORE, caller: Caller) -> c_int {
    if let Some(state) = tracked(store) {
        state.eager.store(true, Ordering::Release);
    }
    let library = fill(store, caller);
    original!(library, caller, OSSL_CMP_CTX_set0_trustedStore(context, store), or 0)
}

/// `X509_STORE_lock`: whoever locks a store himself is about to read its objects, and while he holds the lock nothing can
/// be added (CPython copies them so).
pub extern "C-unwind" fn lock(store: *mut X509_STORE, caller: Caller) -> c_int {
    let library = Libcrypto::of_caller(caller);
    let lock_original = || original!(library, caller, X509_STORE_lock(store), or 0);
    if is_internal(library, caller) {
        return lock_original();
    }
    let Some(state) = tracked(store) else { return lock_original() };
    // Another thread may load a file between the two; not for ever.
    for _ in 0..LOCKS {
        fill(store, caller);
        let locked = lock_original();
        if locked != 1 {
            return locked;
        }
        if !state.is_incomplete() || !process::enabled() {
            replace_locked(ptr::null(), store);
            return locked;
        }
        original!(library, caller, X509_STORE_unlock(store), or 0);
    }
    let locked = lock_original();
    if locked == 1 {
        replace_locked(ptr::null(), store);
    }
    locked
}

/// `X509_STORE_unlock`.
pub extern "C-unwind" fn unlock(store: *mut X509_STORE, caller: Caller) -> c_int {
    let library = Libcrypto::of_caller(caller);
    if !is_internal(library, caller) && tracked(store).is_some() {
        replace_locked(store, ptr::null());
    }
    original!(library, caller, X509_STORE_unlock(store), or 0)
}

/// libcrypto's own calls, and those that it makes on our behalf.
fn is_internal(library: Option<&Libcrypto>, caller: Caller) -> bool {
    crate::hook::is_inside() || library.is_some_and(|library| library.contains(caller))
}

/// Fills a watched store, unless libcrypto itself is asking (by_store.c, t_x509.c and get1_all_certs call get0_objects).
fn fill(store: *const X509_STORE, caller: Caller) -> Option<&'static Libcrypto> {
    let state = tracked(store)?;
    if !state.library.contains(caller) {
        fill_now(state);
    }
    Some(state.library)
}

/// Adds what is only registered, unless this thread holds the store locked.
pub fn fill_now(state: &StoreState) {
    if !holds_store_lock(state.store) {
        guarded(|| {
            own::keep_apart(state);
            if state.is_incomplete() {
                process::count(Event::Enumerations, 1);
                materialise::everything(state);
            }
            Some(())
        });
    }
}
