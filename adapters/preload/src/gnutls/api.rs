//! The functions of libgnutls that are used, as one loaded libgnutls defines them.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};

opaque! { List Certificate Crl Credentials Session Iterator OcspResponse }

/// `gnutls_datum_t` of <gnutls/gnutls.h>.
#[repr(C)]
pub struct Datum {
    /// The first byte.
    pub data: *mut u8,
    /// The number of bytes.
    pub size: c_uint,
}

/// `GNUTLS_E_MEMORY_ERROR`.
pub const MEMORY_ERROR: c_int = -25;
/// `GNUTLS_E_INTERNAL_ERROR` of <gnutls/gnutls.h>.
pub const INTERNAL_ERROR: c_int = -59;
/// `GNUTLS_X509_FMT_DER`.
pub const FORMAT_DER: c_uint = 0;
/// `GNUTLS_X509_FMT_PEM`.
pub const FORMAT_PEM: c_uint = 1;
/// `GNUTLS_TL_USE_IN_TLS` of <gnutls/x509.h>.
pub const USE_IN_TLS: c_uint = 1 << 1;
/// `GNUTLS_TL_NO_DUPLICATES`.
pub const NO_DUPLICATES: c_uint = 1 << 2;
/// `GNUTLS_TL_GET_COPY`.
pub const GET_COPY: c_uint = 1 << 4;
/// `GNUTLS_OCSP_RESP_ID_DN` of <gnutls/ocsp.h>.
pub const RESPONDER_NAME: c_uint = 2;

/// `gnutls_verify_output_function`.
pub type VerifyOutput = unsafe extern "C-unwind" fn(*mut Certificate, *mut Certificate, *mut Crl, c_uint) -> c_int;
/// `gnutls_x509_trust_list_getissuer_function`.
pub type GetIssuer =
    unsafe extern "C-unwind" fn(*mut List, *mut Certificate, *mut *mut *mut Certificate, *mut c_uint) -> c_int;

/// `gnutls_log_func` and `gnutls_audit_log_func` of <gnutls/gnutls.h>; we never call one.
pub type LogFunction = unsafe extern "C-unwind" fn();

functions! {
    /// The functions needed for serving; every GnuTLS from 3.7 to 3.8 has all of them.
    Required {
        gnutls_check_version: fn(*const c_char) -> *const c_char;
        gnutls_x509_crt_init: fn(*mut *mut Certificate) -> c_int;
        gnutls_x509_crt_deinit: fn(*mut Certificate);
        gnutls_x509_crt_import: fn(*mut Certificate, *const Datum, c_uint) -> c_int;
        gnutls_x509_crt_get_raw_dn: fn(*mut Certificate, *mut Datum) -> c_int;
        gnutls_x509_crt_get_raw_issuer_dn: fn(*mut Certificate, *mut Datum) -> c_int;
        gnutls_x509_trust_list_init: fn(*mut *mut List, c_uint) -> c_int;
        gnutls_x509_trust_list_deinit: fn(*mut List, c_uint);
        gnutls_x509_trust_list_add_cas: fn(*mut List, *const *mut Certificate, c_uint, c_uint) -> c_int;
        gnutls_certificate_allocate_credentials: fn(*mut *mut Credentials) -> c_int;
        gnutls_certificate_free_credentials: fn(*mut Credentials);
        gnutls_certificate_get_trust_list: fn(*mut Credentials, *mut *mut List);
        gnutls_ocsp_resp_get_certs: fn(*const OcspResponse, *mut *mut *mut Certificate, *mut usize) -> c_int;
        gnutls_ocsp_resp_get_responder_raw_id: fn(*const OcspResponse, c_uint, *mut Datum) -> c_int;
    } as required
}

functions! {
    /// The originals of the hooked functions.
    Originals {
        gnutls_x509_trust_list_init: fn(*mut *mut List, c_uint) -> c_int;
        gnutls_x509_trust_list_deinit: fn(*mut List, c_uint);
        gnutls_certificate_allocate_credentials: fn(*mut *mut Credentials) -> c_int;
        gnutls_certificate_set_x509_system_trust: fn(*mut Credentials) -> c_int;
        gnutls_certificate_set_x509_trust_file: fn(*mut Credentials, *const c_char, c_uint) -> c_int;
        gnutls_certificate_set_x509_trust_dir: fn(*mut Credentials, *const c_char, c_uint) -> c_int;
        gnutls_x509_trust_list_add_system_trust: fn(*mut List, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_trust_dir:
            fn(*mut List, *const c_char, *const c_char, c_uint, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_trust_file:
            fn(*mut List, *const c_char, *const c_char, c_uint, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_trust_mem:
            fn(*mut List, *const Datum, *const Datum, c_uint, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_cas: fn(*mut List, *const *mut Certificate, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_crls: fn(*mut List, *const *mut Crl, c_uint, c_uint, c_uint) -> c_int;
        gnutls_x509_trust_list_add_named_crt:
            fn(*mut List, *mut Certificate, *const c_void, usize, c_uint) -> c_int;
        gnutls_x509_trust_list_remove_cas: fn(*mut List, *const *mut Certificate, c_uint) -> c_int;
        gnutls_x509_trust_list_get_issuer:
            fn(*mut List, *mut Certificate, *mut *mut Certificate, c_uint) -> c_int;
        gnutls_x509_trust_list_get_issuer_by_dn:
            fn(*mut List, *const Datum, *mut *mut Certificate, c_uint) -> c_int;
        gnutls_x509_trust_list_get_issuer_by_subject_key_id:
            fn(*mut List, *const Datum, *const Datum, *mut *mut Certificate, c_uint) -> c_int;
        gnutls_x509_trust_list_iter_get_ca: fn(*mut List, *mut *mut Iterator, *mut *mut Certificate) -> c_int;
        gnutls_x509_trust_list_set_getissuer_function: fn(*mut List, Option<GetIssuer>);
        gnutls_x509_trust_list_verify_crt:
            fn(*mut List, *mut *mut Certificate, c_uint, c_uint, *mut c_uint, Option<VerifyOutput>) -> c_int;
        gnutls_x509_trust_list_verify_crt2:
            fn(*mut List, *mut *mut Certificate, c_uint, *mut c_void, c_uint, c_uint, *mut c_uint,
               Option<VerifyOutput>) -> c_int;
        gnutls_ocsp_resp_verify: fn(*const OcspResponse, *mut List, *mut c_uint, c_uint) -> c_int;
        gnutls_certificate_get_trust_list: fn(*mut Credentials, *mut *mut List);
        gnutls_certificate_free_ca_names: fn(*mut Credentials);
        gnutls_global_set_log_function: fn(Option<LogFunction>);
        gnutls_global_set_audit_log_function: fn(Option<LogFunction>);
        gnutls_certificate_server_set_request: fn(*mut Session, c_uint);
    } as optional
}
