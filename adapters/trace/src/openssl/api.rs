//! The functions of libcrypto and libssl that are used and hooked, as one loaded copy defines them.

#![allow(non_snake_case, non_camel_case_types, clippy::upper_case_acronyms)]

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};

opaque! {
    X509 X509_STORE X509_STORE_CTX X509_LOOKUP X509_LOOKUP_METHOD X509_OBJECT OPENSSL_STACK OSSL_LIB_CTX SSL SSL_CTX
}

/// `X509_L_FILE_LOAD` of <openssl/x509_vfy.h>.
pub const X509_L_FILE_LOAD: c_int = 1;
/// `X509_L_ADD_DIR`.
pub const X509_L_ADD_DIR: c_int = 2;
/// `X509_L_ADD_STORE`.
pub const X509_L_ADD_STORE: c_int = 3;
/// `X509_L_LOAD_STORE`.
pub const X509_L_LOAD_STORE: c_int = 4;
/// `X509_FILETYPE_DEFAULT` of <openssl/x509.h>.
pub const X509_FILETYPE_DEFAULT: c_long = 3;
/// `X509_V_OK`.
pub const X509_V_OK: c_int = 0;

/// The destructor passed to `OPENSSL_sk_pop_free`.
pub type FreeElement = unsafe extern "C" fn(*mut c_void);

functions! {
    /// The functions of libcrypto that we call. Not every version, and not every fork, has all of them.
    CryptoApi {
        OpenSSL_version_num: fn() -> c_ulong;
        OpenSSL_version: fn(c_int) -> *const c_char;
        OPENSSL_sk_num: fn(*const OPENSSL_STACK) -> c_int;
        OPENSSL_sk_value: fn(*const OPENSSL_STACK, c_int) -> *mut c_void;
        OPENSSL_sk_pop_free: fn(*mut OPENSSL_STACK, FreeElement);
        X509_OBJECT_free: fn(*mut X509_OBJECT);
        X509_STORE_get0_objects: fn(*const X509_STORE) -> *mut OPENSSL_STACK;
        X509_STORE_get1_objects: fn(*mut X509_STORE) -> *mut OPENSSL_STACK;
        X509_LOOKUP_file: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_hash_dir: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_store: fn() -> *mut X509_LOOKUP_METHOD;
        X509_LOOKUP_get_store: fn(*const X509_LOOKUP) -> *mut X509_STORE;
        X509_STORE_CTX_get0_store: fn(*const X509_STORE_CTX) -> *mut X509_STORE;
        X509_STORE_CTX_get0_chain: fn(*const X509_STORE_CTX) -> *mut OPENSSL_STACK;
        X509_STORE_CTX_get_num_untrusted: fn(*const X509_STORE_CTX) -> c_int;
        X509_STORE_CTX_get_error: fn(*const X509_STORE_CTX) -> c_int;
        i2d_X509: fn(*const X509, *mut *mut c_uchar) -> c_int;
        X509_get_default_cert_file: fn() -> *const c_char;
        X509_get_default_cert_file_env: fn() -> *const c_char;
        X509_get_default_cert_dir: fn() -> *const c_char;
        X509_get_default_cert_dir_env: fn() -> *const c_char;
    } as optional
}

functions! {
    /// The functions of libssl that we call.
    SslApi {
        SSL_CTX_get_cert_store: fn(*const SSL_CTX) -> *mut X509_STORE;
        SSL_is_init_finished: fn(*const SSL) -> c_int;
    } as optional
}
