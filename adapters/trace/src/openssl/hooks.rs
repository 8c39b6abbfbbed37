//! The hooked functions of OpenSSL, each with its handler.

use std::ffi::{c_char, c_int, c_long};

use crate::openssl::api::{
    OPENSSL_STACK, OSSL_LIB_CTX, SSL, SSL_CTX, X509, X509_LOOKUP, X509_LOOKUP_METHOD, X509_STORE, X509_STORE_CTX,
};
use crate::openssl::{context, lifetime, lookup, methods, names, session, store};

hooks! {
    /// The hooks in libcrypto.
    LIBCRYPTO_HOOKS;
    fn X509_STORE_set_default_paths(store: *mut X509_STORE) -> c_int => store::set_default_paths;
    fn X509_STORE_set_default_paths_ex(
        store: *mut X509_STORE, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => store::set_default_paths_ex;
    fn X509_STORE_load_file(store: *mut X509_STORE, path: *const c_char) -> c_int => store::load_file;
    fn X509_STORE_load_file_ex(
        store: *mut X509_STORE, path: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => store::load_file_ex;
    fn X509_STORE_load_path(store: *mut X509_STORE, path: *const c_char) -> c_int => store::load_path;
    fn X509_STORE_load_store(store: *mut X509_STORE, name: *const c_char) -> c_int => store::load_store;
    fn X509_STORE_load_store_ex(
        store: *mut X509_STORE, name: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => store::load_store_ex;
    fn X509_STORE_load_locations(
        store: *mut X509_STORE, cafile: *const c_char, capath: *const c_char,
    ) -> c_int => store::load_locations;
    fn X509_STORE_load_locations_ex(
        store: *mut X509_STORE, cafile: *const c_char, capath: *const c_char, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => store::load_locations_ex;

    fn X509_STORE_add_lookup(
        store: *mut X509_STORE, method: *mut X509_LOOKUP_METHOD,
    ) -> *mut X509_LOOKUP => methods::add_lookup;
    fn X509_LOOKUP_new(method: *mut X509_LOOKUP_METHOD) -> *mut X509_LOOKUP => methods::new_lookup;
    fn X509_LOOKUP_ctrl(
        lookup: *mut X509_LOOKUP, command: c_int, argument: *const c_char, number: c_long, answer: *mut *mut c_char,
    ) -> c_int => lookup::ctrl;
    fn X509_LOOKUP_ctrl_ex(
        lookup: *mut X509_LOOKUP, command: c_int, argument: *const c_char, number: c_long, answer: *mut *mut c_char,
        context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => lookup::ctrl_ex;
    fn X509_load_cert_file(
        lookup: *mut X509_LOOKUP, path: *const c_char, kind: c_int,
    ) -> c_int => lookup::load_cert_file;
    fn X509_load_cert_file_ex(
        lookup: *mut X509_LOOKUP, path: *const c_char, kind: c_int, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => lookup::load_cert_file_ex;
    fn X509_load_cert_crl_file(
        lookup: *mut X509_LOOKUP, path: *const c_char, kind: c_int,
    ) -> c_int => lookup::load_cert_crl_file;
    fn X509_load_cert_crl_file_ex(
        lookup: *mut X509_LOOKUP, path: *const c_char, kind: c_int, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => lookup::load_cert_crl_file_ex;

    fn X509_STORE_add_cert(store: *mut X509_STORE, certificate: *mut X509) -> c_int => lifetime::add_cert;
    fn X509_STORE_up_ref(store: *mut X509_STORE) -> c_int => lifetime::up_ref;
    fn X509_STORE_free(store: *mut X509_STORE) => lifetime::free;
    fn X509_verify_cert(context: *mut X509_STORE_CTX) -> c_int => session::verify_cert;
}

hooks! {
    /// The hooks in libssl.
    LIBSSL_HOOKS;
    fn SSL_CTX_set_default_verify_paths(context: *mut SSL_CTX) -> c_int => context::set_default_verify_paths;
    fn SSL_CTX_set_default_verify_file(context: *mut SSL_CTX) -> c_int => context::set_default_verify_file;
    fn SSL_CTX_set_default_verify_dir(context: *mut SSL_CTX) -> c_int => context::set_default_verify_dir;
    fn SSL_CTX_set_default_verify_store(context: *mut SSL_CTX) -> c_int => context::set_default_verify_store;
    fn SSL_CTX_load_verify_locations(
        context: *mut SSL_CTX, cafile: *const c_char, capath: *const c_char,
    ) -> c_int => context::load_verify_locations;
    fn SSL_CTX_load_verify_file(context: *mut SSL_CTX, cafile: *const c_char) -> c_int => context::load_verify_file;
    fn SSL_CTX_load_verify_dir(context: *mut SSL_CTX, capath: *const c_char) -> c_int => context::load_verify_dir;
    fn SSL_CTX_load_verify_store(context: *mut SSL_CTX, uri: *const c_char) -> c_int => context::load_verify_store;

    fn SSL_load_client_CA_file(path: *const c_char) -> *mut OPENSSL_STACK => names::load_client_ca_file;
    fn SSL_load_client_CA_file_ex(
        path: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> *mut OPENSSL_STACK => names::load_client_ca_file_ex;
    fn SSL_add_file_cert_subjects_to_stack(
        stack: *mut OPENSSL_STACK, path: *const c_char,
    ) -> c_int => names::add_file_cert_subjects;
    fn SSL_add_dir_cert_subjects_to_stack(
        stack: *mut OPENSSL_STACK, path: *const c_char,
    ) -> c_int => names::add_dir_cert_subjects;
    fn SSL_add_store_cert_subjects_to_stack(
        stack: *mut OPENSSL_STACK, path: *const c_char,
    ) -> c_int => names::add_store_cert_subjects;

    fn SSL_do_handshake(session: *mut SSL) -> c_int => session::do_handshake;
    fn SSL_connect(session: *mut SSL) -> c_int => session::connect;
    fn SSL_accept(session: *mut SSL) -> c_int => session::accept;
    fn SSL_free(session: *mut SSL) => session::free;
}
