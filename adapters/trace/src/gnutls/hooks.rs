//! The hooked functions of GnuTLS, each with its handler.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::gnutls::api::{Callback, Certificate, Credentials, Datum, List, Session};
use crate::gnutls::{load, session};

hooks! {
    /// The hooks in libgnutls.
    LIBGNUTLS_HOOKS;
    fn gnutls_certificate_set_x509_system_trust(on: *mut Credentials) -> c_int => load::set_system_trust;
    fn gnutls_certificate_set_x509_trust_file(
        on: *mut Credentials, path: *const c_char, format: c_uint,
    ) -> c_int => load::set_trust_file;
    fn gnutls_certificate_set_x509_trust_dir(
        on: *mut Credentials, path: *const c_char, format: c_uint,
    ) -> c_int => load::set_trust_dir;
    fn gnutls_certificate_set_x509_trust_mem(
        on: *mut Credentials, data: *const Datum, format: c_uint,
    ) -> c_int => load::set_trust_mem;
    fn gnutls_certificate_set_x509_trust(
        on: *mut Credentials, list: *const *mut Certificate, size: c_int,
    ) -> c_int => load::set_trust;

    fn gnutls_x509_trust_list_add_system_trust(
        on: *mut List, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => load::add_system_trust;
    fn gnutls_x509_trust_list_add_trust_file(
        on: *mut List, path: *const c_char, crls: *const c_char, format: c_uint, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => load::add_trust_file;
    fn gnutls_x509_trust_list_add_trust_dir(
        on: *mut List, path: *const c_char, crls: *const c_char, format: c_uint, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => load::add_trust_dir;
    fn gnutls_x509_trust_list_add_trust_mem(
        on: *mut List, cas: *const Datum, crls: *const Datum, format: c_uint, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => load::add_trust_mem;
    fn gnutls_x509_trust_list_add_cas(
        on: *mut List, certificates: *const *mut Certificate, size: c_uint, flags: c_uint,
    ) -> c_int => load::add_cas;

    fn gnutls_x509_trust_list_verify_crt(
        list: *mut List, chain: *mut *mut Certificate, size: c_uint, flags: c_uint, status: *mut c_uint,
        callback: Callback,
    ) -> c_int => session::verify_crt;
    fn gnutls_x509_trust_list_verify_crt2(
        list: *mut List, chain: *mut *mut Certificate, size: c_uint, data: *mut c_void, elements: c_uint, flags: c_uint,
        status: *mut c_uint, callback: Callback,
    ) -> c_int => session::verify_crt2;
    fn gnutls_x509_trust_list_verify_named_crt(
        list: *mut List, certificate: *mut Certificate, name: *const c_void, size: usize, flags: c_uint,
        status: *mut c_uint, callback: Callback,
    ) -> c_int => session::verify_named_crt;
    fn gnutls_handshake(session: *mut Session) -> c_int => session::handshake;
    fn gnutls_deinit(session: *mut Session) => session::deinit;
    fn gnutls_x509_trust_list_deinit(list: *mut List, all: c_uint) => session::list_deinit;
    fn gnutls_certificate_free_credentials(credentials: *mut Credentials) => session::free_credentials;
    fn gnutls_global_set_log_level(level: c_int) => session::set_log_level;
}
