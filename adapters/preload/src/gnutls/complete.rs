//! Entry points that read or change a list in a way that needs all of it: the list is completed, and the original is
//! called.

use std::ffi::{c_int, c_uint, c_void};

use crate::gnutls::api::{
    Certificate, Credentials, Crl, Datum, GetIssuer, INTERNAL_ERROR, Iterator, List, MEMORY_ERROR,
};
use crate::gnutls::fill;
use crate::gnutls::libgnutls::original;
use crate::gnutls::lifecycle::list_of;
use crate::gnutls::list::tracked;
use crate::hook::Caller;

macro_rules! completing {
    ($($handler:ident => $name:ident($($argument:ident: $type:ty),*) $(-> $ret:ty)?, or $failure:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        pub extern "C-unwind" fn $handler(list: *mut List, $($argument: $type,)* caller: Caller) $(-> $ret)? {
            let state = tracked(list);
            if let Some(state) = state {
                fill::complete(state);
            }
            original!(state.map(|state| state.library), caller, $name(list, $($argument),*), or $failure)
        }
    )* };
}

completing! {
    add_cas => gnutls_x509_trust_list_add_cas(
        certificates: *const *mut Certificate, count: c_uint, flags: c_uint
    ) -> c_int, or INTERNAL_ERROR;
    add_crls => gnutls_x509_trust_list_add_crls(
        crls: *const *mut Crl, count: c_uint, flags: c_uint, verify_flags: c_uint
    ) -> c_int, or INTERNAL_ERROR;
    add_named_crt => gnutls_x509_trust_list_add_named_crt(
        certificate: *mut Certificate, name: *const c_void, size: usize, flags: c_uint
    ) -> c_int, or INTERNAL_ERROR;
    get_issuer_by_dn => gnutls_x509_trust_list_get_issuer_by_dn(
        name: *const Datum, issuer: *mut *mut Certificate, flags: c_uint
    ) -> c_int, or INTERNAL_ERROR;
    get_issuer_by_subject_key_id => gnutls_x509_trust_list_get_issuer_by_subject_key_id(
        name: *const Datum, key_id: *const Datum, issuer: *mut *mut Certificate, flags: c_uint
    ) -> c_int, or INTERNAL_ERROR;
    iter_get_ca => gnutls_x509_trust_list_iter_get_ca(
        iterator: *mut *mut Iterator, certificate: *mut *mut Certificate
    ) -> c_int, or INTERNAL_ERROR;
    set_getissuer_function => gnutls_x509_trust_list_set_getissuer_function(function: Option<GetIssuer>), or ();
}

/// `gnutls_x509_trust_list_remove_cas`. Certificates that are not in the list yet, because memory was short, can't be
/// removed and would come in later. Nothing is removed then, as when GnuTLS has no memory for its list of removed
/// certificates.
pub extern "C-unwind" fn remove_cas(
    list: *mut List,
    certificates: *const *mut Certificate,
    count: c_uint,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    if let Some(state) = state {
        fill::complete(state);
        if state.is_partly() {
            return MEMORY_ERROR;
        }
    }
    let library = state.map(|state| state.library);
    original!(library, caller, gnutls_x509_trust_list_remove_cas(list, certificates, count), or INTERNAL_ERROR)
}

/// `gnutls_certificate_get_trust_list`: the program gets the list itself.
pub extern "C-unwind" fn get_trust_list(credentials: *mut Credentials, list: *mut *mut List, caller: Caller) {
    original!(None, caller, gnutls_certificate_get_trust_list(credentials, list), or());
    // SAFETY: the original has stored the list there.
    if let Some(state) = tracked(unsafe { *list }) {
        fill::complete(state);
    }
}

/// `gnutls_certificate_free_ca_names`: forgets the names of earlier loads, not of later ones.
pub extern "C-unwind" fn free_ca_names(credentials: *mut Credentials, caller: Caller) {
    // SAFETY: the program passes its credentials.
    if let Some(state) = unsafe { list_of(credentials, caller) }.and_then(|list| tracked(list)) {
        fill::complete(state);
    }
    original!(None, caller, gnutls_certificate_free_ca_names(credentials), or())
}
