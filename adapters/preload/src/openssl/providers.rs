//! Functions that decide which keys libcrypto can read from now on (OpenSSL 3).
//!
//! libcrypto reads the key of a certificate when it parses it, then or never (x509_pubkey_ex_d2i_ex, x_pubkey.c). A certificate that is only
//! registered would be parsed later, with other providers. So before anything changes, all stores get what was registered with them, and what
//! stores share is parsed anew afterwards.

use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::hook::{Caller, guarded};
use crate::openssl::api::OSSL_LIB_CTX;
use crate::openssl::library::{Libcrypto, transparent};
use crate::openssl::store;

static CHANGES: AtomicU32 = AtomicU32::new(0);

/// How often that has happened: certificates that were parsed before are not for stores that are filled after it.
pub fn changes() -> u32 {
    CHANGES.load(Ordering::Acquire)
}

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
    modules_load_file => CONF_modules_load_file(file: *const c_char, name: *const c_char, flags: c_ulong) -> c_int, or 0;
    modules_load_file_ex => CONF_modules_load_file_ex(
        context: *mut OSSL_LIB_CTX, file: *const c_char, name: *const c_char, flags: c_ulong
    ) -> c_int, or 0;
    set_default_properties => EVP_set_default_properties(
        context: *mut OSSL_LIB_CTX, properties: *const c_char
    ) -> c_int, or 0;
    enable_fips => EVP_default_properties_enable_fips(context: *mut OSSL_LIB_CTX, enable: c_int) -> c_int, or 0;
}

fn before_change(caller: Caller) {
    // libcrypto itself calls some of these while it sets itself up, with locks of its own held.
    if caller.is_own() {
        return;
    }
    guarded(|| {
        let library = Libcrypto::of_caller(caller)?;
        if library.served.as_ref()?.is_before_3_0() {
            return None;
        }
        store::complete_all(library);
        CHANGES.fetch_add(1, Ordering::AcqRel);
        Some(())
    });
}
