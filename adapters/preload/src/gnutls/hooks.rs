//! The hooked functions of GnuTLS, each with its handler.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::gnutls::api::{
    Certificate, Credentials, Crl, Datum, GetIssuer, Iterator, List, LogFunction, OcspResponse, Session, VerifyOutput,
};
use crate::gnutls::{complete, lifecycle, load, log, server, system_trust, verify};

hooks! {
    /// The hooks in libgnutls.
    LIBGNUTLS_HOOKS;
    fn gnutls_x509_trust_list_init(list: *mut *mut List, size: c_uint) -> c_int => lifecycle::init;
    fn gnutls_x509_trust_list_deinit(list: *mut List, all: c_uint) => lifecycle::deinit;
    fn gnutls_certificate_allocate_credentials(
        credentials: *mut *mut Credentials,
    ) -> c_int => lifecycle::allocate_credentials;

    fn gnutls_certificate_set_x509_system_trust(
        credentials: *mut Credentials,
    ) -> c_int => system_trust::credentials_system_trust;
    fn gnutls_certificate_set_x509_trust_file(
        credentials: *mut Credentials, file: *const c_char, format: c_uint,
    ) -> c_int => system_trust::credentials_trust_file;
    fn gnutls_certificate_set_x509_trust_dir(
        credentials: *mut Credentials, directory: *const c_char, format: c_uint,
    ) -> c_int => system_trust::credentials_trust_dir;
    fn gnutls_x509_trust_list_add_system_trust(
        list: *mut List, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => system_trust::list_system_trust;
    fn gnutls_x509_trust_list_add_trust_dir(
        list: *mut List, ca_directory: *const c_char, crl_directory: *const c_char, format: c_uint, flags: c_uint,
        verify_flags: c_uint,
    ) -> c_int => system_trust::list_trust_dir;

    fn gnutls_x509_trust_list_add_trust_file(
        list: *mut List, ca_file: *const c_char, crl_file: *const c_char, format: c_uint, flags: c_uint,
        verify_flags: c_uint,
    ) -> c_int => system_trust::add_trust_file;
    fn gnutls_x509_trust_list_add_trust_mem(
        list: *mut List, cas: *const Datum, crls: *const Datum, format: c_uint, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => load::add_trust_mem;

    fn gnutls_x509_trust_list_verify_crt(
        list: *mut List, chain: *mut *mut Certificate, length: c_uint, flags: c_uint, output: *mut c_uint,
        callback: Option<VerifyOutput>,
    ) -> c_int => verify::verify_crt;
    fn gnutls_x509_trust_list_verify_crt2(
        list: *mut List, chain: *mut *mut Certificate, length: c_uint, data: *mut c_void, elements: c_uint,
        flags: c_uint, output: *mut c_uint, callback: Option<VerifyOutput>,
    ) -> c_int => verify::verify_crt2;
    fn gnutls_x509_trust_list_get_issuer(
        list: *mut List, certificate: *mut Certificate, issuer: *mut *mut Certificate, flags: c_uint,
    ) -> c_int => verify::get_issuer;
    fn gnutls_ocsp_resp_verify(
        response: *const OcspResponse, list: *mut List, output: *mut c_uint, flags: c_uint,
    ) -> c_int => verify::ocsp_verify;

    fn gnutls_x509_trust_list_add_cas(
        list: *mut List, certificates: *const *mut Certificate, count: c_uint, flags: c_uint,
    ) -> c_int => complete::add_cas;
    fn gnutls_x509_trust_list_add_crls(
        list: *mut List, crls: *const *mut Crl, count: c_uint, flags: c_uint, verify_flags: c_uint,
    ) -> c_int => complete::add_crls;
    fn gnutls_x509_trust_list_add_named_crt(
        list: *mut List, certificate: *mut Certificate, name: *const c_void, size: usize, flags: c_uint,
    ) -> c_int => complete::add_named_crt;
    fn gnutls_x509_trust_list_remove_cas(
        list: *mut List, certificates: *const *mut Certificate, count: c_uint,
    ) -> c_int => complete::remove_cas;
    fn gnutls_x509_trust_list_get_issuer_by_dn(
        list: *mut List, name: *const Datum, issuer: *mut *mut Certificate, flags: c_uint,
    ) -> c_int => complete::get_issuer_by_dn;
    fn gnutls_x509_trust_list_get_issuer_by_subject_key_id(
        list: *mut List, name: *const Datum, key_id: *const Datum, issuer: *mut *mut Certificate, flags: c_uint,
    ) -> c_int => complete::get_issuer_by_subject_key_id;
    fn gnutls_x509_trust_list_iter_get_ca(
        list: *mut List, iterator: *mut *mut Iterator, certificate: *mut *mut Certificate,
    ) -> c_int => complete::iter_get_ca;
    fn gnutls_x509_trust_list_set_getissuer_function(
        list: *mut List, function: Option<GetIssuer>,
    ) => complete::set_getissuer_function;
    fn gnutls_certificate_get_trust_list(
        credentials: *mut Credentials, list: *mut *mut List,
    ) => complete::get_trust_list;
    fn gnutls_certificate_free_ca_names(credentials: *mut Credentials) => complete::free_ca_names;

    fn gnutls_certificate_server_set_request(session: *mut Session, request: c_uint) => server::set_request;
    fn gnutls_global_set_log_function(function: Option<LogFunction>) => log::set_log_function;
    fn gnutls_global_set_audit_log_function(function: Option<LogFunction>) => log::set_audit_log_function;
}
