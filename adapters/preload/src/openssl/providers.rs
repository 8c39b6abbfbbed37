//! Functions that decide how libcrypto reads keys from now on: providers, engines, default methods.
//!
//! libcrypto reads the key of a certificate when it parses it, then or never (x509_pubkey_ex_d2i_ex, x_pubkey.c), and
//! a key remembers what is to work with it. A certificate that is only registered would be parsed later, with others.
//! So before anything changes, all stores get what was registered with them, and certificates of their own, and what
//! stores share is parsed anew afterwards. The list is that of the headers of 1.1.1 to 4.0. What engines do with
//! random numbers, ciphers and digests is asked for when it is used.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::hook::{Caller, guarded};
use crate::openssl::api::{EXFLAG_NO_FINGERPRINT, OSSL_LIB_CTX, X509};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served, transparent};
use crate::openssl::snapshot::Snapshot;
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
    // libcrypto itself calls some of these while it sets itself up, with locks of its own held.
    if caller.is_own() {
        return;
    }
    guarded(|| {
        let library = Libcrypto::known_of(caller)?;
        store::part_all(library);
        CHANGES.fetch_add(1, Ordering::AcqRel);
        Some(())
    });
}

/// Whether certificates can be had as things are. 3.0 and later read their configuration in the middle of the first
/// certificate of the first load: so that is parsed when it is registered, and one again after a change. Where its
/// digest can't be had, stock says something else at each use of it, and is left alone.
pub fn is_ready(library: &Libcrypto, served: &Served, snapshot: &Snapshot) -> bool {
    let now = changes().wrapping_add(1);
    if served.is_before_3_0() || library.ready.load(Ordering::Relaxed) == now {
        return true;
    }
    let Some(first) = snapshot.roots.anchors().next() else { return true };
    let has_digest = |certificate: *mut X509| {
        // SAFETY: the snapshot keeps the certificate.
        unsafe { (served.api.X509_get_extension_flags)(certificate) & EXFLAG_NO_FINGERPRINT == 0 }
    };
    let is_ready = snapshot.certificate(served, first.index()).is_some_and(has_digest);
    if is_ready {
        library.ready.store(now, Ordering::Relaxed);
    }
    is_ready
}

/// libssl makes a store for a context of its own. It has had libcrypto read the configuration before
/// (`OPENSSL_init_ssl`), so nothing has to be parsed for that.
pub fn note_configured(library: &Libcrypto) {
    library.ready.store(changes().wrapping_add(1), Ordering::Relaxed);
}

/// Kinds of keys, as OpenSSL numbers them: RSA, RSA-PSS, DSA, EC, Ed25519, Ed448.
const KEYS: [c_int; 6] = [6, 912, 116, 408, 1087, 1088];

/// Whether a certificate's key that is read now is worked with by libcrypto's own code. If not, it must not outlive
/// what does, which the program may free: certificates with such keys are not shared, but loaded. Stock asks the same
/// at each key that it reads.
pub fn are_keys_plain(library: &Libcrypto, served: &Served) -> bool {
    let _marked = Marked::new(served);
    let of = &library.originals;
    let methods = [
        (of.RSA_get_default_method, of.RSA_PKCS1_OpenSSL),
        (of.DSA_get_default_method, of.DSA_OpenSSL),
        (of.DH_get_default_method, of.DH_OpenSSL),
        (of.EC_KEY_get_default_method, of.EC_KEY_OpenSSL),
    ];
    let engines =
        [of.ENGINE_get_default_RSA, of.ENGINE_get_default_DSA, of.ENGINE_get_default_DH, of.ENGINE_get_default_EC];
    let is_none = |engine: *mut c_void| {
        if let (false, Some(finish)) = (engine.is_null(), of.ENGINE_finish) {
            // SAFETY: the reference that was just given.
            unsafe { finish(engine) };
        }
        engine.is_null()
    };
    let is_own = methods.into_iter().all(|(default, own)| match (default, own) {
        // SAFETY: no preconditions.
        (Some(default), Some(own)) => unsafe { default() == own() },
        _ => true,
    });
    is_own
        // SAFETY: as above.
        && engines.into_iter().flatten().all(|default| is_none(unsafe { default() }))
        && of.ENGINE_get_pkey_asn1_meth_engine.is_none_or(|of_key| {
            // SAFETY: as above.
            KEYS.iter().all(|&key| is_none(unsafe { of_key(key) }))
        })
}
