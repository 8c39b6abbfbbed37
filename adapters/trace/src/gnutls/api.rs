//! The functions of libgnutls that are used and hooked, as one loaded copy defines them.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};

opaque! { List Certificate Credentials Session }

/// `gnutls_datum_t` of <gnutls/gnutls.h>.
#[repr(C)]
pub struct Datum {
    /// The first byte.
    pub data: *mut u8,
    /// The number of bytes.
    pub size: c_uint,
}

/// `GNUTLS_E_INTERNAL_ERROR` of <gnutls/gnutls.h>.
pub const INTERNAL_ERROR: c_int = -59;
/// `GNUTLS_TL_GET_COPY` of <gnutls/x509.h>.
pub const GET_COPY: c_uint = 1 << 4;
/// `GNUTLS_X509_FMT_DER`.
pub const FORMAT_DER: c_uint = 0;

/// A callback of the program; we never call one.
pub type Callback = Option<unsafe extern "C-unwind" fn()>;

functions! {
    /// The functions of libgnutls that we call.
    Api {
        gnutls_check_version: fn(*const c_char) -> *const c_char;
        gnutls_certificate_get_trust_list: fn(*mut Credentials, *mut *mut List);
        gnutls_x509_trust_list_get_issuer: fn(*mut List, *mut Certificate, *mut *mut Certificate, c_uint) -> c_int;
        gnutls_x509_crt_deinit: fn(*mut Certificate);
        gnutls_x509_crt_export: fn(*mut Certificate, c_uint, *mut c_void, *mut usize) -> c_int;
    } as optional
}
