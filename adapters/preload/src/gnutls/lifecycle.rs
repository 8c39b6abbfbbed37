//! The beginning and the end of a trust list.

use std::ffi::{c_int, c_uint};
use std::ptr;

use crate::gnutls::api::{Credentials, INTERNAL_ERROR, List};
use crate::gnutls::libgnutls::{LIBGNUTLS, Libgnutls, original};
use crate::gnutls::list::{self, tracked};
use crate::hook::{self, Caller, guarded};
use crate::labels::{Bypass, Gnutls};
use crate::process;

/// `gnutls_x509_trust_list_init`.
pub extern "C-unwind" fn init(list: *mut *mut List, size: c_uint, caller: Caller) -> c_int {
    let status = original!(None, caller, gnutls_x509_trust_list_init(list, size), or INTERNAL_ERROR);
    if status >= 0 {
        // SAFETY: the original has stored the new list there.
        watch(caller, size, || Some(unsafe { *list }));
    }
    status
}

/// `gnutls_certificate_allocate_credentials`. Its own call of `init` comes from libgnutls, and lists that libgnutls
/// creates are not watched: it creates some for internal use. The list of these credentials is watched here because the
/// program makes this call.
pub extern "C-unwind" fn allocate_credentials(credentials: *mut *mut Credentials, caller: Caller) -> c_int {
    let status = {
        let _inside = hook::inside();
        original!(None, caller, gnutls_certificate_allocate_credentials(credentials), or INTERNAL_ERROR)
    };
    if status >= 0 {
        // SAFETY: the original has stored the new credentials there.
        watch(caller, 0, || unsafe { list_of(*credentials, caller) });
    }
    status
}

/// `gnutls_x509_trust_list_deinit`.
pub extern "C-unwind" fn deinit(list: *mut List, all: c_uint, caller: Caller) {
    let library = tracked(list).map(|state| state.library);
    list::end(list);
    original!(library, caller, gnutls_x509_trust_list_deinit(list, all), or())
}

/// The list that belongs to credentials.
///
/// # Safety
/// Valid credentials of the caller's libgnutls, or null.
pub unsafe fn list_of(credentials: *mut Credentials, caller: Caller) -> Option<*mut List> {
    if credentials.is_null() || !process::enabled() {
        return None;
    }
    let served = Libgnutls::of_caller(caller)?.served.as_ref().ok()?;
    let mut list = ptr::null_mut();
    // SAFETY: as the caller states.
    unsafe { (served.api.gnutls_certificate_get_trust_list)(credentials, &mut list) };
    (!list.is_null()).then_some(list)
}

fn watch(caller: Caller, size: c_uint, list: impl FnOnce() -> Option<*mut List>) {
    guarded(|| {
        let library = Libgnutls::of_caller(caller)?;
        if library.contains(caller) || LIBGNUTLS.is_hidden() {
            return None;
        }
        let served = match &library.served {
            // A function whose address something has from before would find the list empty.
            Ok(_) if library.is_from_before() => return None,
            Ok(served) => served,
            Err(reason) => {
                // No hook sees loads into this list.
                if *reason == Bypass::HiddenCalls {
                    process::cache();
                    process::count(*reason, 1);
                }
                return None;
            }
        };
        list::begin(library, served, list()?, size);
        process::count(Gnutls::ListCreated, 1);
        Some(())
    });
}
