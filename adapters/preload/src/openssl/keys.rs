//! Which certificate keys libcrypto can read in its current configuration, and whose code handles them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::openssl::api::{EXFLAG_NO_FINGERPRINT, X509};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::snapshot::Snapshot;

static CHANGES: AtomicU32 = AtomicU32::new(0);

/// The number of changes so far. Certificates parsed before a change are not used for stores filled after it.
pub fn changes() -> u32 {
    CHANGES.load(Ordering::Acquire)
}

/// Call this before a change (`providers`).
pub fn note_change() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// Whether certificates can be parsed in the current configuration. 3.0 and later read their configuration in the
/// middle of the first certificate of the first load: that certificate is therefore parsed when it is registered, and
/// one is parsed again after each change. If its digest can't be computed, stock OpenSSL gives a different answer at
/// each use of the certificate, and the load is left to it.
pub fn is_ready(library: &Libcrypto, served: &Served, snapshot: &Snapshot) -> bool {
    let now = changes().wrapping_add(1);
    if served.is_before_3_0() || library.ready.load(Ordering::Relaxed) == now {
        return true;
    }
    let Some(first) = snapshot.roots.anchors().next() else { return true };
    let has_digest = |certificate: *mut X509| {
        // SAFETY: the snapshot keeps the certificate alive.
        unsafe { (served.api.X509_get_extension_flags)(certificate) & EXFLAG_NO_FINGERPRINT == 0 }
    };
    let is_ready = snapshot.certificate(served, first.index()).is_some_and(has_digest);
    if is_ready {
        library.ready.store(now, Ordering::Relaxed);
    }
    is_ready
}

/// Called when libssl creates a store for one of its contexts. libssl has already made libcrypto read the configuration
/// (`OPENSSL_init_ssl`), so no certificate has to be parsed for this.
pub fn note_configured(library: &Libcrypto) {
    library.ready.store(changes().wrapping_add(1), Ordering::Relaxed);
}

/// The kinds of keys, by OpenSSL's numbers: RSA, RSA-PSS, DSA, EC, Ed25519, Ed448.
const KEYS: [c_int; 6] = [6, 912, 116, 408, 1087, 1088];

/// Whether a certificate key read now would be handled by libcrypto's own code. If other code handles it, the key must
/// not outlive that code, which the program may free: certificates with such keys are loaded, not shared. Stock OpenSSL
/// makes the same check for each key that it reads.
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
            // SAFETY: releases the reference that was just returned.
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
