//! The functions of libcrypto that are used, as one loaded libcrypto defines them.

#![allow(non_snake_case, non_camel_case_types, clippy::upper_case_acronyms)]

use std::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

opaque! {
    X509 X509_STORE X509_STORE_CTX X509_LOOKUP X509_LOOKUP_METHOD X509_OBJECT X509_NAME X509_CRL
    OPENSSL_STACK OSSL_LIB_CTX BIO SSL SSL_CTX
}

/// `EXFLAG_INVALID` of <openssl/x509v3.h>.
pub const EXFLAG_INVALID: u32 = 0x80;
/// `EXFLAG_SI`: issuer and subject are the same name.
pub const EXFLAG_SI: u32 = 0x20;
/// `EXFLAG_SS`: the certificate is self-signed.
pub const EXFLAG_SS: u32 = 0x2000;
/// `EXFLAG_NO_FINGERPRINT` (3.0).
pub const EXFLAG_NO_FINGERPRINT: u32 = 0x10_0000;
/// `X509_LU_NONE` of <openssl/x509_vfy.h>.
pub const X509_LU_NONE: c_int = 0;
/// `X509_LU_X509` of <openssl/x509_vfy.h>.
pub const X509_LU_X509: c_int = 1;
/// `X509_LU_CRL`.
pub const X509_LU_CRL: c_int = 2;
/// `X509_L_FILE_LOAD`.
pub const X509_L_FILE_LOAD: c_int = 1;
/// `X509_L_ADD_DIR`.
pub const X509_L_ADD_DIR: c_int = 2;
/// `X509_L_ADD_STORE`.
pub const X509_L_ADD_STORE: c_int = 3;
/// `X509_FILETYPE_PEM` of <openssl/x509.h>.
pub const X509_FILETYPE_PEM: c_int = 1;
/// `X509_FILETYPE_DEFAULT`.
pub const X509_FILETYPE_DEFAULT: c_int = 3;
/// `BIO_CTRL_RESET` of <openssl/bio.h>.
pub const BIO_CTRL_RESET: c_int = 1;
/// `BIO_C_GET_FILE_PTR`.
pub const BIO_C_GET_FILE_PTR: c_int = 107;

/// `X509_LOOKUP_get_by_subject_fn`.
pub type GetBySubject = unsafe extern "C" fn(*mut X509_LOOKUP, c_int, *const X509_NAME, *mut X509_OBJECT) -> c_int;
/// The `free` member of a lookup method.
pub type FreeLookup = unsafe extern "C" fn(*mut X509_LOOKUP);
/// The destructor passed to `OPENSSL_sk_pop_free`.
pub type FreeElement = unsafe extern "C" fn(*mut c_void);

functions! {
    /// The functions needed for serving; every OpenSSL from 1.1.1 to 4.0 has all of them.
    Required {
        OpenSSL_version_num: fn() -> c_ulong;
        CRYPTO_get_mem_functions: fn(*mut usize, *mut usize, *mut usize);
        ERR_set_mark: fn() -> c_int;
        ERR_pop_to_mark: fn() -> c_int;
        ERR_clear_error: fn();
        OPENSSL_sk_num: fn(*const OPENSSL_STACK) -> c_int;
        OPENSSL_sk_value: fn(*const OPENSSL_STACK, c_int) -> *mut c_void;
        OPENSSL_sk_set: fn(*mut OPENSSL_STACK, c_int, *const c_void) -> *mut c_void;
        OPENSSL_sk_push: fn(*mut OPENSSL_STACK, *const c_void) -> c_int;
        OPENSSL_sk_pop: fn(*mut OPENSSL_STACK) -> *mut c_void;
        OPENSSL_sk_sort: fn(*mut OPENSSL_STACK);
        OPENSSL_sk_is_sorted: fn(*const OPENSSL_STACK) -> c_int;
        OPENSSL_sk_pop_free: fn(*mut OPENSSL_STACK, FreeElement);
        BIO_ctrl: fn(*mut BIO, c_int, c_long, *mut c_void) -> c_long;
        BIO_read: fn(*mut BIO, *mut c_void, c_int) -> c_int;
        X509_new: fn() -> *mut X509;
        X509_up_ref: fn(*mut X509) -> c_int;
        X509_free: fn(*mut X509);
        X509_cmp: fn(*const X509, *const X509) -> c_int;
        d2i_X509: fn(*mut *mut X509, *mut *const c_uchar, c_long) -> *mut X509;
        i2d_X509: fn(*const X509, *mut *mut c_uchar) -> c_int;
        X509_get_subject_name: fn(*const X509) -> *mut X509_NAME;
        X509_get0_pubkey: fn(*const X509) -> *mut c_void;
        X509_get_extension_flags: fn(*mut X509) -> u32;
        X509_set_subject_name: fn(*mut X509, *const X509_NAME) -> c_int;
        d2i_X509_NAME: fn(*mut *mut X509_NAME, *mut *const c_uchar, c_long) -> *mut X509_NAME;
        X509_NAME_free: fn(*mut X509_NAME);
        X509_NAME_cmp: fn(*const X509_NAME, *const X509_NAME) -> c_int;
        X509_NAME_get0_der: fn(*const X509_NAME, *mut *const c_uchar, *mut usize) -> c_int;
        X509_CRL_up_ref: fn(*mut X509_CRL) -> c_int;
        X509_CRL_free: fn(*mut X509_CRL);
        X509_OBJECT_new: fn() -> *mut X509_OBJECT;
        X509_OBJECT_free: fn(*mut X509_OBJECT);
        X509_OBJECT_get_type: fn(*const X509_OBJECT) -> c_int;
        X509_OBJECT_retrieve_by_subject: fn(*mut OPENSSL_STACK, c_int, *const X509_NAME) -> *mut X509_OBJECT;
        X509_OBJECT_get0_X509: fn(*const X509_OBJECT) -> *mut X509;
        X509_OBJECT_get0_X509_CRL: fn(*const X509_OBJECT) -> *mut X509_CRL;
        X509_OBJECT_set1_X509: fn(*mut X509_OBJECT, *mut X509) -> c_int;
        X509_OBJECT_set1_X509_CRL: fn(*mut X509_OBJECT, *mut X509_CRL) -> c_int;
        X509_LOOKUP_meth_new: fn(*const c_char) -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_meth_set_free: fn(*mut X509_LOOKUP_METHOD, FreeLookup) -> c_int;
        X509_LOOKUP_meth_set_get_by_subject: fn(*mut X509_LOOKUP_METHOD, GetBySubject) -> c_int;
        X509_LOOKUP_by_subject: fn(*mut X509_LOOKUP, c_int, *const X509_NAME, *mut X509_OBJECT) -> c_int;
        X509_LOOKUP_file: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_hash_dir: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_ctrl: fn(*mut X509_LOOKUP, c_int, *const c_char, c_long, *mut *mut c_char) -> c_int;
        X509_LOOKUP_get_store: fn(*const X509_LOOKUP) -> *mut X509_STORE;
        X509_STORE_new: fn() -> *mut X509_STORE;
        X509_STORE_free: fn(*mut X509_STORE);
        X509_STORE_lock: fn(*mut X509_STORE) -> c_int;
        X509_STORE_unlock: fn(*mut X509_STORE) -> c_int;
        X509_STORE_add_lookup: fn(*mut X509_STORE, *mut X509_LOOKUP_METHOD) -> *mut X509_LOOKUP;
        X509_STORE_add_cert: fn(*mut X509_STORE, *mut X509) -> c_int;
        X509_STORE_add_crl: fn(*mut X509_STORE, *mut X509_CRL) -> c_int;
        X509_STORE_get0_objects: fn(*const X509_STORE) -> *mut OPENSSL_STACK;
        X509_STORE_load_locations: fn(*mut X509_STORE, *const c_char, *const c_char) -> c_int;
        X509_STORE_CTX_get0_store: fn(*const X509_STORE_CTX) -> *mut X509_STORE;
        X509_get_default_cert_file: fn() -> *const c_char;
        X509_get_default_cert_file_env: fn() -> *const c_char;
        X509_get_default_cert_dir: fn() -> *const c_char;
        X509_get_default_cert_dir_env: fn() -> *const c_char;
    } as required
}

functions! {
    /// The originals of the hooked functions, and functions that only some versions have.
    Originals {
        X509_STORE_new: fn() -> *mut X509_STORE;
        X509_STORE_add_lookup: fn(*mut X509_STORE, *mut X509_LOOKUP_METHOD) -> *mut X509_LOOKUP;
        X509_STORE_add_cert: fn(*mut X509_STORE, *mut X509) -> c_int;
        X509_STORE_add_crl: fn(*mut X509_STORE, *mut X509_CRL) -> c_int;
        X509_STORE_lock: fn(*mut X509_STORE) -> c_int;
        X509_STORE_unlock: fn(*mut X509_STORE) -> c_int;
        X509_STORE_set_default_paths: fn(*mut X509_STORE) -> c_int;
        X509_STORE_set_default_paths_ex: fn(*mut X509_STORE, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_STORE_load_file: fn(*mut X509_STORE, *const c_char) -> c_int;
        X509_STORE_load_file_ex: fn(*mut X509_STORE, *const c_char, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_STORE_load_path: fn(*mut X509_STORE, *const c_char) -> c_int;
        X509_STORE_load_store: fn(*mut X509_STORE, *const c_char) -> c_int;
        X509_STORE_load_store_ex: fn(*mut X509_STORE, *const c_char, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_STORE_load_locations: fn(*mut X509_STORE, *const c_char, *const c_char) -> c_int;
        X509_STORE_load_locations_ex:
            fn(*mut X509_STORE, *const c_char, *const c_char, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_LOOKUP_ctrl: fn(*mut X509_LOOKUP, c_int, *const c_char, c_long, *mut *mut c_char) -> c_int;
        X509_LOOKUP_ctrl_ex:
            fn(*mut X509_LOOKUP, c_int, *const c_char, c_long, *mut *mut c_char, *mut OSSL_LIB_CTX, *const c_char)
                -> c_int;
        X509_LOOKUP_by_subject: fn(*mut X509_LOOKUP, c_int, *const X509_NAME, *mut X509_OBJECT) -> c_int;
        X509_LOOKUP_by_subject_ex:
            fn(*mut X509_LOOKUP, c_int, *const X509_NAME, *mut X509_OBJECT, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_LOOKUP_store: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_get_method_data: fn(*const X509_LOOKUP) -> *mut c_void;
        X509_LOOKUP_meth_get_new_item: fn(*const X509_LOOKUP_METHOD) -> *mut c_void;
        X509_LOOKUP_meth_get_free: fn(*const X509_LOOKUP_METHOD) -> *mut c_void;
        X509_LOOKUP_meth_get_ctrl: fn(*const X509_LOOKUP_METHOD) -> *mut c_void;
        X509_LOOKUP_meth_get_get_by_subject: fn(*const X509_LOOKUP_METHOD) -> *mut c_void;
        X509_NAME_hash: fn(*const X509_NAME) -> c_ulong;
        X509_NAME_hash_ex: fn(*const X509_NAME, *mut OSSL_LIB_CTX, *const c_char, *mut c_int) -> c_ulong;
        X509_load_cert_file: fn(*mut X509_LOOKUP, *const c_char, c_int) -> c_int;
        X509_load_cert_file_ex: fn(*mut X509_LOOKUP, *const c_char, c_int, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_load_crl_file: fn(*mut X509_LOOKUP, *const c_char, c_int) -> c_int;
        X509_load_cert_crl_file: fn(*mut X509_LOOKUP, *const c_char, c_int) -> c_int;
        X509_load_cert_crl_file_ex:
            fn(*mut X509_LOOKUP, *const c_char, c_int, *mut OSSL_LIB_CTX, *const c_char) -> c_int;
        X509_STORE_CTX_init: fn(*mut X509_STORE_CTX, *mut X509_STORE, *mut X509, *mut OPENSSL_STACK) -> c_int;
        X509_STORE_CTX_get0_chain: fn(*const X509_STORE_CTX) -> *mut OPENSSL_STACK;
        X509_STORE_CTX_get1_chain: fn(*const X509_STORE_CTX) -> *mut OPENSSL_STACK;
        X509_STORE_CTX_get_ex_data: fn(*const X509_STORE_CTX, c_int) -> *mut c_void;
        X509_STORE_CTX_get1_certs: fn(*mut X509_STORE_CTX, *const X509_NAME) -> *mut OPENSSL_STACK;
        X509_STORE_CTX_get0_cert: fn(*const X509_STORE_CTX) -> *mut X509;
        X509_STORE_CTX_get_current_cert: fn(*const X509_STORE_CTX) -> *mut X509;
        X509_STORE_CTX_get0_current_issuer: fn(*const X509_STORE_CTX) -> *mut X509;
        X509_STORE_CTX_get1_issuer: fn(*mut *mut X509, *mut X509_STORE_CTX, *mut X509) -> c_int;
        X509_STORE_CTX_get_by_subject: fn(*mut X509_STORE_CTX, c_int, *const X509_NAME, *mut X509_OBJECT) -> c_int;
        X509_STORE_CTX_get_obj_by_subject: fn(*mut X509_STORE_CTX, c_int, *const X509_NAME) -> *mut X509_OBJECT;
        X509_STORE_set_verify: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_verify_cb: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_get_issuer: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_check_issued: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_check_revocation: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_get_crl: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_check_crl: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_cert_crl: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_check_policy: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_lookup_certs: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_set_lookup_crls: fn(*mut X509_STORE, *mut c_void) -> *mut c_void;
        X509_STORE_get_get_issuer: fn(*mut X509_STORE) -> *mut c_void;
        X509_STORE_get_lookup_certs: fn(*mut X509_STORE) -> *mut c_void;
        X509_STORE_CTX_set_verify: fn(*mut X509_STORE_CTX, *mut c_void) -> *mut c_void;
        X509_STORE_CTX_set_verify_cb: fn(*mut X509_STORE_CTX, *mut c_void) -> *mut c_void;
        X509_STORE_CTX_set_get_crl: fn(*mut X509_STORE_CTX, *mut c_void) -> *mut c_void;
        X509_STORE_CTX_get_get_issuer: fn(*mut X509_STORE_CTX) -> *mut c_void;
        X509_STORE_CTX_get_lookup_certs: fn(*mut X509_STORE_CTX) -> *mut c_void;
        X509_build_chain:
            fn(*mut X509, *mut OPENSSL_STACK, *mut X509_STORE, c_int, *mut OSSL_LIB_CTX, *const c_char)
                -> *mut OPENSSL_STACK;
        OSSL_CMP_CTX_build_cert_chain: fn(*mut c_void, *mut X509_STORE, *mut OPENSSL_STACK) -> c_int;
        X509_STORE_get0_objects: fn(*const X509_STORE) -> *mut OPENSSL_STACK;
        X509_STORE_get1_objects: fn(*mut X509_STORE) -> *mut OPENSSL_STACK;
        X509_STORE_get1_all_certs: fn(*mut X509_STORE) -> *mut OPENSSL_STACK;
        X509_STORE_CTX_print_verify_cb: fn(c_int, *mut X509_STORE_CTX) -> c_int;
        OSSL_CMP_CTX_set0_trustedStore: fn(*mut c_void, *mut X509_STORE) -> c_int;
        OSSL_LIB_CTX_set0_default: fn(*mut OSSL_LIB_CTX) -> *mut OSSL_LIB_CTX;
        OSSL_LIB_CTX_get0_global_default: fn() -> *mut OSSL_LIB_CTX;
        PEM_read_bio_X509: fn(*mut BIO, *mut *mut X509, *mut c_void, *mut c_void) -> *mut X509;
        OSSL_PROVIDER_load: fn(*mut OSSL_LIB_CTX, *const c_char) -> *mut c_void;
        OSSL_PROVIDER_load_ex: fn(*mut OSSL_LIB_CTX, *const c_char, *mut c_void) -> *mut c_void;
        OSSL_PROVIDER_try_load: fn(*mut OSSL_LIB_CTX, *const c_char, c_int) -> *mut c_void;
        OSSL_PROVIDER_try_load_ex: fn(*mut OSSL_LIB_CTX, *const c_char, *mut c_void, c_int) -> *mut c_void;
        OSSL_PROVIDER_unload: fn(*mut c_void) -> c_int;
        OSSL_LIB_CTX_load_config: fn(*mut OSSL_LIB_CTX, *const c_char) -> c_int;
        CONF_modules_load: fn(*const c_void, *const c_char, c_ulong) -> c_int;
        CONF_modules_load_file: fn(*const c_char, *const c_char, c_ulong) -> c_int;
        CONF_modules_load_file_ex: fn(*mut OSSL_LIB_CTX, *const c_char, *const c_char, c_ulong) -> c_int;
        EVP_set_default_properties: fn(*mut OSSL_LIB_CTX, *const c_char) -> c_int;
        EVP_default_properties_enable_fips: fn(*mut OSSL_LIB_CTX, c_int) -> c_int;
        EVP_PKEY_asn1_add0: fn(*const c_void) -> c_int;
        EVP_PKEY_asn1_add_alias: fn(c_int, c_int) -> c_int;
        OPENSSL_cleanup: fn();
        RSA_set_default_method: fn(*const c_void);
        DSA_set_default_method: fn(*const c_void);
        DH_set_default_method: fn(*const c_void);
        EC_KEY_set_default_method: fn(*const c_void);
        RSA_get_default_method: fn() -> *const c_void;
        DSA_get_default_method: fn() -> *const c_void;
        DH_get_default_method: fn() -> *const c_void;
        EC_KEY_get_default_method: fn() -> *const c_void;
        RSA_PKCS1_OpenSSL: fn() -> *const c_void;
        DSA_OpenSSL: fn() -> *const c_void;
        DH_OpenSSL: fn() -> *const c_void;
        EC_KEY_OpenSSL: fn() -> *const c_void;
        ENGINE_get_default_RSA: fn() -> *mut c_void;
        ENGINE_get_default_DSA: fn() -> *mut c_void;
        ENGINE_get_default_DH: fn() -> *mut c_void;
        ENGINE_get_default_EC: fn() -> *mut c_void;
        ENGINE_get_pkey_asn1_meth_engine: fn(c_int) -> *mut c_void;
        ENGINE_finish: fn(*mut c_void) -> c_int;
        ENGINE_set_default: fn(*mut c_void, c_uint) -> c_int;
        ENGINE_set_default_string: fn(*mut c_void, *const c_char) -> c_int;
        ENGINE_set_default_RSA: fn(*mut c_void) -> c_int;
        ENGINE_set_default_DSA: fn(*mut c_void) -> c_int;
        ENGINE_set_default_DH: fn(*mut c_void) -> c_int;
        ENGINE_set_default_EC: fn(*mut c_void) -> c_int;
        ENGINE_set_default_pkey_asn1_meths: fn(*mut c_void) -> c_int;
        ENGINE_register_RSA: fn(*mut c_void) -> c_int;
        ENGINE_register_DSA: fn(*mut c_void) -> c_int;
        ENGINE_register_DH: fn(*mut c_void) -> c_int;
        ENGINE_register_EC: fn(*mut c_void) -> c_int;
        ENGINE_register_pkey_asn1_meths: fn(*mut c_void) -> c_int;
        ENGINE_unregister_RSA: fn(*mut c_void);
        ENGINE_unregister_DSA: fn(*mut c_void);
        ENGINE_unregister_DH: fn(*mut c_void);
        ENGINE_unregister_EC: fn(*mut c_void);
        ENGINE_unregister_pkey_asn1_meths: fn(*mut c_void);
        ENGINE_register_complete: fn(*mut c_void) -> c_int;
        ENGINE_register_all_RSA: fn();
        ENGINE_register_all_DSA: fn();
        ENGINE_register_all_DH: fn();
        ENGINE_register_all_EC: fn();
        ENGINE_register_all_pkey_asn1_meths: fn();
        ENGINE_register_all_complete: fn() -> c_int;
    } as optional
}
