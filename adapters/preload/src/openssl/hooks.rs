//! The hooked functions of OpenSSL, each with its handler.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

use windlass_interpose::family::Hook;

use crate::hook::{self, Caller};
use crate::openssl::api::{
    BIO, OPENSSL_STACK, OSSL_LIB_CTX, SSL, SSL_CTX, X509, X509_CRL, X509_LOOKUP, X509_LOOKUP_METHOD, X509_NAME,
    X509_OBJECT, X509_STORE, X509_STORE_CTX,
};
use crate::openssl::{
    ca_names, default_paths, directory_search, enumerate, follow, handed_out, lifecycle, load_file, load_path,
    lookup_ctrl, providers, taking_part, verification,
};

/// [`hooks!`], with `hook::enter` called before each handler.
macro_rules! entered {
    (
        $(#[$meta:meta])*
        $hooks:ident, $entries:ident;
        $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? => $handler:path;)*
    ) => {
        #[allow(non_snake_case, clippy::too_many_arguments)] // as many as the foreign function has
        mod $entries {
            use super::*;
            $(pub extern "C-unwind" fn $name($($argument: $type,)* caller: Caller) $(-> $result)? {
                let _entered = hook::enter(caller);
                $handler($($argument,)* caller)
            })*
        }
        hooks! {
            $(#[$meta])*
            $hooks;
            $(fn $name($($argument: $type),*) $(-> $result)? => $entries::$name;)*
        }
    };
}

entered! {
    /// The hooks in libcrypto.
    OF_LIBCRYPTO, of_libcrypto;
    fn X509_STORE_new() -> *mut X509_STORE => lifecycle::new;
    fn X509_STORE_add_lookup(
        store: *mut X509_STORE, method: *mut X509_LOOKUP_METHOD,
    ) -> *mut X509_LOOKUP => lifecycle::add_lookup;
    fn X509_STORE_add_cert(store: *mut X509_STORE, certificate: *mut X509) -> c_int => lifecycle::add_cert;
    fn X509_STORE_add_crl(store: *mut X509_STORE, crl: *mut X509_CRL) -> c_int => lifecycle::add_crl;
    fn X509_STORE_CTX_init(
        context: *mut X509_STORE_CTX, store: *mut X509_STORE, certificate: *mut X509, chain: *mut OPENSSL_STACK,
    ) -> c_int => verification::begin;

    fn X509_STORE_set_default_paths(store: *mut X509_STORE) -> c_int => default_paths::plain;
    fn X509_STORE_set_default_paths_ex(
        store: *mut X509_STORE, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => default_paths::extended;

    fn X509_STORE_load_file(store: *mut X509_STORE, file: *const c_char) -> c_int => load_file::store_load_file;
    fn X509_STORE_load_file_ex(
        store: *mut X509_STORE, file: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => load_file::store_load_file_ex;
    fn X509_load_cert_file(
        lookup: *mut X509_LOOKUP, file: *const c_char, kind: c_int,
    ) -> c_int => load_file::load_cert_file;
    fn X509_load_cert_file_ex(
        lookup: *mut X509_LOOKUP, file: *const c_char, kind: c_int, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => load_file::load_cert_file_ex;
    fn X509_load_crl_file(
        lookup: *mut X509_LOOKUP, file: *const c_char, kind: c_int,
    ) -> c_int => lifecycle::load_crl_file;
    fn X509_load_cert_crl_file(
        lookup: *mut X509_LOOKUP, file: *const c_char, kind: c_int,
    ) -> c_int => load_file::load_cert_crl_file;
    fn X509_load_cert_crl_file_ex(
        lookup: *mut X509_LOOKUP, file: *const c_char, kind: c_int, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => load_file::load_cert_crl_file_ex;

    fn X509_STORE_load_path(store: *mut X509_STORE, path: *const c_char) -> c_int => load_path::load_path;
    fn X509_STORE_load_locations(
        store: *mut X509_STORE, file: *const c_char, path: *const c_char,
    ) -> c_int => load_path::load_locations;
    fn X509_STORE_load_locations_ex(
        store: *mut X509_STORE, file: *const c_char, path: *const c_char, context: *mut OSSL_LIB_CTX,
        properties: *const c_char,
    ) -> c_int => load_path::load_locations_ex;
    fn X509_STORE_load_store(store: *mut X509_STORE, uri: *const c_char) -> c_int => load_path::load_store;
    fn X509_STORE_load_store_ex(
        store: *mut X509_STORE, uri: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => load_path::load_store_ex;

    fn X509_LOOKUP_ctrl(
        lookup: *mut X509_LOOKUP, command: c_int, argument: *const c_char, number: c_long, ret: *mut *mut c_char,
    ) -> c_int => lookup_ctrl::plain;
    fn X509_LOOKUP_ctrl_ex(
        lookup: *mut X509_LOOKUP, command: c_int, argument: *const c_char, number: c_long, ret: *mut *mut c_char,
        context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => lookup_ctrl::extended;
    fn X509_LOOKUP_by_subject(
        lookup: *mut X509_LOOKUP, kind: c_int, name: *const X509_NAME, ret: *mut X509_OBJECT,
    ) -> c_int => directory_search::by_subject;
    fn X509_LOOKUP_by_subject_ex(
        lookup: *mut X509_LOOKUP, kind: c_int, name: *const X509_NAME, ret: *mut X509_OBJECT,
        context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => directory_search::by_subject_ex;

    fn X509_STORE_lock(store: *mut X509_STORE) -> c_int => enumerate::lock;
    fn X509_STORE_unlock(store: *mut X509_STORE) -> c_int => enumerate::unlock;
    fn X509_STORE_get0_objects(store: *const X509_STORE) -> *mut OPENSSL_STACK => enumerate::get0_objects;
    fn X509_STORE_get1_objects(store: *mut X509_STORE) -> *mut OPENSSL_STACK => enumerate::get1_objects;
    fn X509_STORE_get1_all_certs(store: *mut X509_STORE) -> *mut OPENSSL_STACK => enumerate::get1_all_certs;
    fn X509_STORE_CTX_print_verify_cb(ok: c_int, context: *mut X509_STORE_CTX) -> c_int => enumerate::print_verify_cb;
    fn OSSL_CMP_CTX_set0_trustedStore(
        context: *mut c_void, store: *mut X509_STORE,
    ) -> c_int => enumerate::cmp_set0_trusted_store;

    fn X509_STORE_CTX_get0_chain(context: *const X509_STORE_CTX) -> *mut OPENSSL_STACK => handed_out::get0_chain;
    fn X509_STORE_CTX_get1_chain(context: *const X509_STORE_CTX) -> *mut OPENSSL_STACK => handed_out::get1_chain;
    fn X509_STORE_CTX_get1_certs(
        context: *mut X509_STORE_CTX, name: *const X509_NAME,
    ) -> *mut OPENSSL_STACK => handed_out::get1_certs;
    fn X509_STORE_CTX_get0_cert(context: *const X509_STORE_CTX) -> *mut X509 => handed_out::get0_cert;
    fn X509_STORE_CTX_get_current_cert(context: *const X509_STORE_CTX) -> *mut X509 => handed_out::get_current_cert;
    fn X509_STORE_CTX_get0_current_issuer(
        context: *const X509_STORE_CTX,
    ) -> *mut X509 => handed_out::get0_current_issuer;
    fn X509_STORE_CTX_get1_issuer(
        issuer: *mut *mut X509, context: *mut X509_STORE_CTX, certificate: *mut X509,
    ) -> c_int => handed_out::get1_issuer;
    fn X509_STORE_CTX_get_by_subject(
        context: *mut X509_STORE_CTX, kind: c_int, name: *const X509_NAME, object: *mut X509_OBJECT,
    ) -> c_int => handed_out::get_by_subject;
    fn X509_STORE_CTX_get_obj_by_subject(
        context: *mut X509_STORE_CTX, kind: c_int, name: *const X509_NAME,
    ) -> *mut X509_OBJECT => handed_out::get_obj_by_subject;
    fn X509_build_chain(
        certificate: *mut X509, others: *mut OPENSSL_STACK, store: *mut X509_STORE, with_root: c_int,
        context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> *mut OPENSSL_STACK => taking_part::build_chain;
    fn OSSL_CMP_CTX_build_cert_chain(
        context: *mut c_void, store: *mut X509_STORE, others: *mut OPENSSL_STACK,
    ) -> c_int => taking_part::cmp_build_cert_chain;
    fn X509_STORE_set_verify(store: *mut X509_STORE, function: *mut c_void) -> *mut c_void => taking_part::set_verify;
    fn X509_STORE_set_verify_cb(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_verify_cb;
    fn X509_STORE_set_get_issuer(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_get_issuer;
    fn X509_STORE_set_check_issued(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_check_issued;
    fn X509_STORE_set_check_revocation(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_check_revocation;
    fn X509_STORE_set_get_crl(store: *mut X509_STORE, function: *mut c_void) -> *mut c_void => taking_part::set_get_crl;
    fn X509_STORE_set_check_crl(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_check_crl;
    fn X509_STORE_set_cert_crl(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_cert_crl;
    fn X509_STORE_set_check_policy(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_check_policy;
    fn X509_STORE_set_lookup_certs(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_lookup_certs;
    fn X509_STORE_set_lookup_crls(
        store: *mut X509_STORE, function: *mut c_void,
    ) -> *mut c_void => taking_part::set_lookup_crls;
    fn X509_STORE_get_get_issuer(store: *mut X509_STORE) -> *mut c_void => taking_part::get_get_issuer;
    fn X509_STORE_get_lookup_certs(store: *mut X509_STORE) -> *mut c_void => taking_part::get_lookup_certs;
    fn X509_STORE_CTX_set_verify(
        context: *mut X509_STORE_CTX, function: *mut c_void,
    ) -> *mut c_void => taking_part::of_context_set_verify;
    fn X509_STORE_CTX_set_verify_cb(
        context: *mut X509_STORE_CTX, function: *mut c_void,
    ) -> *mut c_void => taking_part::of_context_set_verify_cb;
    fn X509_STORE_CTX_set_get_crl(
        context: *mut X509_STORE_CTX, function: *mut c_void,
    ) -> *mut c_void => taking_part::of_context_set_get_crl;
    fn X509_STORE_CTX_get_get_issuer(
        context: *mut X509_STORE_CTX,
    ) -> *mut c_void => taking_part::of_context_get_get_issuer;
    fn X509_STORE_CTX_get_lookup_certs(
        context: *mut X509_STORE_CTX,
    ) -> *mut c_void => taking_part::of_context_get_lookup_certs;

    fn OSSL_PROVIDER_load(context: *mut OSSL_LIB_CTX, name: *const c_char) -> *mut c_void => providers::load;
    fn OSSL_PROVIDER_load_ex(
        context: *mut OSSL_LIB_CTX, name: *const c_char, parameters: *mut c_void,
    ) -> *mut c_void => providers::load_ex;
    fn OSSL_PROVIDER_try_load(
        context: *mut OSSL_LIB_CTX, name: *const c_char, retain: c_int,
    ) -> *mut c_void => providers::try_load;
    fn OSSL_PROVIDER_try_load_ex(
        context: *mut OSSL_LIB_CTX, name: *const c_char, parameters: *mut c_void, retain: c_int,
    ) -> *mut c_void => providers::try_load_ex;
    fn OSSL_PROVIDER_unload(provider: *mut c_void) -> c_int => providers::unload;
    fn OSSL_LIB_CTX_load_config(context: *mut OSSL_LIB_CTX, file: *const c_char) -> c_int => providers::load_config;
    fn CONF_modules_load(
        configuration: *const c_void, name: *const c_char, flags: c_ulong,
    ) -> c_int => providers::modules_load;
    fn CONF_modules_load_file(
        file: *const c_char, name: *const c_char, flags: c_ulong,
    ) -> c_int => providers::modules_load_file;
    fn CONF_modules_load_file_ex(
        context: *mut OSSL_LIB_CTX, file: *const c_char, name: *const c_char, flags: c_ulong,
    ) -> c_int => providers::modules_load_file_ex;
    fn EVP_set_default_properties(
        context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> c_int => providers::set_default_properties;
    fn EVP_default_properties_enable_fips(context: *mut OSSL_LIB_CTX, enable: c_int) -> c_int => providers::enable_fips;
    fn EVP_PKEY_asn1_add0(method: *const c_void) -> c_int => providers::asn1_add0;
    fn EVP_PKEY_asn1_add_alias(to: c_int, from: c_int) -> c_int => providers::asn1_add_alias;
    fn RSA_set_default_method(method: *const c_void) => providers::rsa_method;
    fn DSA_set_default_method(method: *const c_void) => providers::dsa_method;
    fn DH_set_default_method(method: *const c_void) => providers::dh_method;
    fn EC_KEY_set_default_method(method: *const c_void) => providers::ec_method;
    fn ENGINE_set_default(engine: *mut c_void, flags: c_uint) -> c_int => providers::engine_set_default;
    fn ENGINE_set_default_string(
        engine: *mut c_void, list: *const c_char,
    ) -> c_int => providers::engine_set_default_string;
    fn ENGINE_set_default_RSA(engine: *mut c_void) -> c_int => providers::engine_set_default_rsa;
    fn ENGINE_set_default_DSA(engine: *mut c_void) -> c_int => providers::engine_set_default_dsa;
    fn ENGINE_set_default_DH(engine: *mut c_void) -> c_int => providers::engine_set_default_dh;
    fn ENGINE_set_default_EC(engine: *mut c_void) -> c_int => providers::engine_set_default_ec;
    fn ENGINE_set_default_pkey_asn1_meths(
        engine: *mut c_void,
    ) -> c_int => providers::engine_set_default_pkey_asn1_meths;
    fn ENGINE_register_RSA(engine: *mut c_void) -> c_int => providers::engine_register_rsa;
    fn ENGINE_register_DSA(engine: *mut c_void) -> c_int => providers::engine_register_dsa;
    fn ENGINE_register_DH(engine: *mut c_void) -> c_int => providers::engine_register_dh;
    fn ENGINE_register_EC(engine: *mut c_void) -> c_int => providers::engine_register_ec;
    fn ENGINE_register_pkey_asn1_meths(engine: *mut c_void) -> c_int => providers::engine_register_pkey_asn1_meths;
    fn ENGINE_unregister_RSA(engine: *mut c_void) => providers::engine_unregister_rsa;
    fn ENGINE_unregister_DSA(engine: *mut c_void) => providers::engine_unregister_dsa;
    fn ENGINE_unregister_DH(engine: *mut c_void) => providers::engine_unregister_dh;
    fn ENGINE_unregister_EC(engine: *mut c_void) => providers::engine_unregister_ec;
    fn ENGINE_unregister_pkey_asn1_meths(engine: *mut c_void) => providers::engine_unregister_pkey_asn1_meths;
    fn ENGINE_register_complete(engine: *mut c_void) -> c_int => providers::engine_register_complete;
    fn ENGINE_register_all_RSA() => providers::engine_register_all_rsa;
    fn ENGINE_register_all_DSA() => providers::engine_register_all_dsa;
    fn ENGINE_register_all_DH() => providers::engine_register_all_dh;
    fn ENGINE_register_all_EC() => providers::engine_register_all_ec;
    fn ENGINE_register_all_pkey_asn1_meths() => providers::engine_register_all_pkey_asn1_meths;
    fn ENGINE_register_all_complete() -> c_int => providers::engine_register_all_complete;
    fn OPENSSL_cleanup() => providers::cleanup;

    fn PEM_read_bio_X509(
        file: *mut BIO, target: *mut *mut X509, callback: *mut c_void, data: *mut c_void,
    ) -> *mut X509 => ca_names::pem_read_bio_x509;
}

entered! {
    /// The hooks in libssl.
    OF_LIBSSL, of_libssl;
    fn SSL_load_client_CA_file(file: *const c_char) -> *mut OPENSSL_STACK => ca_names::load_client_ca_file;
    fn SSL_load_client_CA_file_ex(
        file: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char,
    ) -> *mut OPENSSL_STACK => ca_names::load_client_ca_file_ex;
    fn SSL_add_file_cert_subjects_to_stack(
        stack: *mut OPENSSL_STACK, file: *const c_char,
    ) -> c_int => ca_names::add_file_cert_subjects_to_stack;
    fn SSL_add_dir_cert_subjects_to_stack(
        stack: *mut OPENSSL_STACK, directory: *const c_char,
    ) -> c_int => ca_names::add_dir_cert_subjects_to_stack;

    fn SSL_get0_verified_chain(ssl: *const SSL) -> *mut OPENSSL_STACK => handed_out::ssl_get0_verified_chain;
    fn SSL_get0_dane_authority(
        ssl: *mut SSL, certificate: *mut *mut X509, key: *mut *mut c_void,
    ) -> c_int => handed_out::ssl_get0_dane_authority;
}

entered! {
    /// The hooks in libcrypto that only followed stores need.
    OF_FOLLOWED, of_followed;
    fn X509_STORE_CTX_get0_store(context: *const X509_STORE_CTX) -> *mut X509_STORE => follow::hooks::get0_store;
    fn X509_verify_cert(context: *mut X509_STORE_CTX) -> c_int => follow::sessions::verify_cert;
}

entered! {
    /// The hooks in libssl that only followed stores need.
    OF_FOLLOWED_LIBSSL, of_followed_libssl;
    fn SSL_connect(ssl: *mut SSL) -> c_int => follow::hooks::connect;
    fn SSL_do_handshake(ssl: *mut SSL) -> c_int => follow::hooks::do_handshake;
    fn SSL_accept(ssl: *mut SSL) -> c_int => follow::hooks::accept;
    fn SSL_stream_conclude(ssl: *mut SSL, flags: u64) -> c_int => follow::hooks::stream_conclude;
    fn SSL_stream_reset(
        ssl: *mut SSL, arguments: *const c_void, len: usize,
    ) -> c_int => follow::hooks::stream_reset;
    fn SSL_read(ssl: *mut SSL, bytes: *mut c_void, len: c_int) -> c_int => follow::hooks::read;
    fn SSL_read_ex(
        ssl: *mut SSL, bytes: *mut c_void, len: usize, read: *mut usize,
    ) -> c_int => follow::hooks::read_ex;
    fn SSL_peek(ssl: *mut SSL, bytes: *mut c_void, len: c_int) -> c_int => follow::hooks::peek;
    fn SSL_peek_ex(
        ssl: *mut SSL, bytes: *mut c_void, len: usize, read: *mut usize,
    ) -> c_int => follow::hooks::peek_ex;
    fn SSL_write(ssl: *mut SSL, bytes: *const c_void, len: c_int) -> c_int => follow::hooks::write;
    fn SSL_write_ex(
        ssl: *mut SSL, bytes: *const c_void, len: usize, written: *mut usize,
    ) -> c_int => follow::hooks::write_ex;
    fn SSL_write_ex2(
        ssl: *mut SSL, bytes: *const c_void, len: usize, flags: u64, written: *mut usize,
    ) -> c_int => follow::hooks::write_ex2;
    fn SSL_write_early_data(
        ssl: *mut SSL, bytes: *const c_void, len: usize, written: *mut usize,
    ) -> c_int => follow::hooks::write_early_data;
    fn SSL_set_psk_use_session_callback(
        ssl: *mut SSL, callback: Option<follow::psk::Callback>,
    ) => follow::hooks::set_psk;
    fn SSL_CTX_set_psk_use_session_callback(
        context: *mut SSL_CTX, callback: Option<follow::psk::Callback>,
    ) => follow::hooks::set_psk_of_context;
    fn SSL_CTX_load_verify_locations(
        context: *mut SSL_CTX, file: *const c_char, path: *const c_char,
    ) -> c_int => follow::hooks::load_verify_locations;
    fn BIO_f_ssl() -> *mut c_void => follow::hooks::bio_f_ssl;
    fn BIO_new_ssl(context: *mut SSL_CTX, client: c_int) -> *mut BIO => follow::hooks::bio_new_ssl;
    fn BIO_new_ssl_connect(context: *mut SSL_CTX) -> *mut BIO => follow::hooks::bio_new_ssl_connect;
    fn BIO_new_buffer_ssl_connect(context: *mut SSL_CTX) -> *mut BIO => follow::hooks::bio_new_buffer_ssl_connect;
}

/// All hooks in libcrypto with `WINDLASS_FOLLOW`.
pub const FOLLOWING_LIBCRYPTO_HOOKS: &[Hook] =
    &both::<{ OF_LIBCRYPTO.len() + OF_FOLLOWED.len() }>(OF_LIBCRYPTO, OF_FOLLOWED);
/// All hooks in libssl with `WINDLASS_FOLLOW`.
pub const FOLLOWING_LIBSSL_HOOKS: &[Hook] =
    &both::<{ OF_LIBSSL.len() + OF_FOLLOWED_LIBSSL.len() }>(OF_LIBSSL, OF_FOLLOWED_LIBSSL);
/// The hooks in libcrypto without it: the beginning of the same table, which the linker relocates once in each process.
pub const LIBCRYPTO_HOOKS: &[Hook] = FOLLOWING_LIBCRYPTO_HOOKS.split_at(OF_LIBCRYPTO.len()).0;
/// The hooks in libssl without it.
pub const LIBSSL_HOOKS: &[Hook] = FOLLOWING_LIBSSL_HOOKS.split_at(OF_LIBSSL.len()).0;

const fn both<const COUNT: usize>(one: &[Hook], other: &[Hook]) -> [Hook; COUNT] {
    let mut all = [const { OF_FOLLOWED[0] }; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < one.len() { one[at] } else { other[at - one.len()] };
        at += 1;
    }
    all
}
