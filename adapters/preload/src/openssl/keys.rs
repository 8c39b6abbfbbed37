//! Which keys of certificates libcrypto can read as things are, and by whose code they are worked with.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::openssl::api::{EXFLAG_NO_FINGERPRINT, X509};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::snapshot::Snapshot;

static CHANGES: AtomicU32 = AtomicU32::new(0);

/// How often that has changed: certificates that were parsed before are not for stores that are filled after it.
pub fn changes() -> u32 {
    CHANGES.load(Ordering::Acquire)
}

/// It is about to change (`providers`).
pub fn note_change() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
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
