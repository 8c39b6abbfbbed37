//! Functions that change how libcrypto reads keys: providers, engines, default methods.
//!
//! libcrypto reads the key of a certificate when it parses it, then or never (x509_pubkey_ex_d2i_ex, x_pubkey.c), and a
//! key remembers the code that is to handle it. A certificate that is only registered would be parsed later, with other
//! code. Before a change, all stores therefore get all registered certificates, and copies of their own, and shared
//! certificates are parsed anew afterwards. The list follows the headers of 1.1.1 to 4.0. Random numbers, ciphers and
//! digests of engines are looked up when they are used, and need nothing here.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr;

use crate::hook::{Caller, guarded};
use crate::openssl::api::OSSL_LIB_CTX;
use crate::openssl::libcrypto::{Libcrypto, transparent};
use crate::openssl::{all_stores, keys};

macro_rules! changing {
    ($($handler:ident => $name:ident($($argument:ident: $type:ty),*) -> $result:ty, or $failure:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`.")]
        pub extern "C-unwind" fn $handler($($argument: $type,)* caller: Caller) -> $result {
            before_change(caller);
            transparent!(caller, $name($($argument),*), or $failure)
        }
    )* };
}

changing! {
    load => OSSL_PROVIDER_load(context: *mut OSSL_LIB_CTX, name: *const c_char) -> *mut c_void, or ptr::null_mut();
    load_ex => OSSL_PROVIDER_load_ex(
        context: *mut OSSL_LIB_CTX, name: *const c_char, parameters: *mut c_void
    ) -> *mut c_void, or ptr::null_mut();
    try_load => OSSL_PROVIDER_try_load(
        context: *mut OSSL_LIB_CTX, name: *const c_char, retain: c_int
    ) -> *mut c_void, or ptr::null_mut();
    try_load_ex => OSSL_PROVIDER_try_load_ex(
        context: *mut OSSL_LIB_CTX, name: *const c_char, parameters: *mut c_void, retain: c_int
    ) -> *mut c_void, or ptr::null_mut();
    unload => OSSL_PROVIDER_unload(provider: *mut c_void) -> c_int, or 0;
    load_config => OSSL_LIB_CTX_load_config(context: *mut OSSL_LIB_CTX, file: *const c_char) -> c_int, or 0;
    modules_load => CONF_modules_load(
        configuration: *const c_void, name: *const c_char, flags: c_ulong
    ) -> c_int, or 0;
    modules_load_file => CONF_modules_load_file(
        file: *const c_char, name: *const c_char, flags: c_ulong
    ) -> c_int, or 0;
    modules_load_file_ex => CONF_modules_load_file_ex(
        context: *mut OSSL_LIB_CTX, file: *const c_char, name: *const c_char, flags: c_ulong
    ) -> c_int, or 0;
    set_default_properties => EVP_set_default_properties(
        context: *mut OSSL_LIB_CTX, properties: *const c_char
    ) -> c_int, or 0;
    enable_fips => EVP_default_properties_enable_fips(context: *mut OSSL_LIB_CTX, enable: c_int) -> c_int, or 0;
    asn1_add0 => EVP_PKEY_asn1_add0(method: *const c_void) -> c_int, or 0;
    asn1_add_alias => EVP_PKEY_asn1_add_alias(to: c_int, from: c_int) -> c_int, or 0;
    rsa_method => RSA_set_default_method(method: *const c_void) -> (), or ();
    dsa_method => DSA_set_default_method(method: *const c_void) -> (), or ();
    dh_method => DH_set_default_method(method: *const c_void) -> (), or ();
    ec_method => EC_KEY_set_default_method(method: *const c_void) -> (), or ();
    engine_set_default => ENGINE_set_default(engine: *mut c_void, flags: c_uint) -> c_int, or 0;
    engine_set_default_string => ENGINE_set_default_string(engine: *mut c_void, list: *const c_char) -> c_int, or 0;
    engine_set_default_rsa => ENGINE_set_default_RSA(engine: *mut c_void) -> c_int, or 0;
    engine_set_default_dsa => ENGINE_set_default_DSA(engine: *mut c_void) -> c_int, or 0;
    engine_set_default_dh => ENGINE_set_default_DH(engine: *mut c_void) -> c_int, or 0;
    engine_set_default_ec => ENGINE_set_default_EC(engine: *mut c_void) -> c_int, or 0;
    engine_set_default_pkey_asn1_meths => ENGINE_set_default_pkey_asn1_meths(engine: *mut c_void) -> c_int, or 0;
    engine_register_rsa => ENGINE_register_RSA(engine: *mut c_void) -> c_int, or 0;
    engine_register_dsa => ENGINE_register_DSA(engine: *mut c_void) -> c_int, or 0;
    engine_register_dh => ENGINE_register_DH(engine: *mut c_void) -> c_int, or 0;
    engine_register_ec => ENGINE_register_EC(engine: *mut c_void) -> c_int, or 0;
    engine_register_pkey_asn1_meths => ENGINE_register_pkey_asn1_meths(engine: *mut c_void) -> c_int, or 0;
    engine_unregister_rsa => ENGINE_unregister_RSA(engine: *mut c_void) -> (), or ();
    engine_unregister_dsa => ENGINE_unregister_DSA(engine: *mut c_void) -> (), or ();
    engine_unregister_dh => ENGINE_unregister_DH(engine: *mut c_void) -> (), or ();
    engine_unregister_ec => ENGINE_unregister_EC(engine: *mut c_void) -> (), or ();
    engine_unregister_pkey_asn1_meths => ENGINE_unregister_pkey_asn1_meths(engine: *mut c_void) -> (), or ();
    engine_register_complete => ENGINE_register_complete(engine: *mut c_void) -> c_int, or 0;
    engine_register_all_rsa => ENGINE_register_all_RSA() -> (), or ();
    engine_register_all_dsa => ENGINE_register_all_DSA() -> (), or ();
    engine_register_all_dh => ENGINE_register_all_DH() -> (), or ();
    engine_register_all_ec => ENGINE_register_all_EC() -> (), or ();
    engine_register_all_pkey_asn1_meths => ENGINE_register_all_pkey_asn1_meths() -> (), or ();
    engine_register_all_complete => ENGINE_register_all_complete() -> c_int, or 0;
    cleanup => OPENSSL_cleanup() -> (), or ();
}

fn before_change(caller: Caller) {
    // libcrypto itself calls some of these while it initialises, with its own locks held.
    if caller.is_own() {
        return;
    }
    guarded(|| {
        let library = Libcrypto::known_of(caller)?;
        all_stores::part_of(library);
        keys::note_change();
        Some(())
    });
}
