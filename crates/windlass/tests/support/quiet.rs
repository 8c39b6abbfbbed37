//! What libcrypto finds wrong with a certificate that `d2i_X509` took: it remembers that with the certificate, and
//! raises errors only when it finds out. A certificate that is shared would raise them once instead of each time.

use std::ffi::{c_long, c_ulong, c_void};
use std::ptr::null_mut;

use super::libcrypto::*;

const EXFLAG_INVALID: u32 = 0x80;
const EXFLAG_INVALID_POLICY: u32 = 0x800;

/// `X509_PCY_TREE_INTERNAL` and `X509_PCY_TREE_INVALID`. That a policy is wanted and there is none is no fault.
const INTERNAL_ERROR: i32 = 0;
const INVALID_POLICY: i32 = -1;

/// DER of the OBJECT IDENTIFIER id-ecPublicKey.
const EC_PUBLIC_KEY: [u8; 9] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];

/// Decodes the certificate, has libcrypto look at all that it looks at once, and tells what it complained of.
pub fn check(der: &[u8]) -> Result<(), String> {
    let mut end = der.as_ptr();
    // SAFETY: the bytes are as many as are told; the certificate lives until it is freed, and the chain holds it only
    // as long as the call takes.
    unsafe {
        ERR_clear_error();
        let certificate = d2i_X509(null_mut(), &mut end, der.len() as c_long);
        if certificate.is_null() {
            return Err("no certificate".into());
        }
        let key = X509_get0_pubkey(certificate);
        // Whether the point is on the curve nobody knows who does not calculate.
        let wrong_point = key.is_null() && der.windows(9).any(|bytes| bytes == EC_PUBLIC_KEY);
        if wrong_point {
            ERR_clear_error();
        }
        let purpose = X509_check_purpose(certificate, -1, 0);
        let cmp = X509_cmp(certificate, certificate);
        let policies = policies(certificate);
        let flags = X509_get_extension_flags(certificate);
        X509_free(certificate);
        let errors = errors();
        let complaint = if purpose != 1 {
            "X509_check_purpose"
        } else if cmp != 0 {
            "X509_cmp"
        } else if matches!(policies, INTERNAL_ERROR | INVALID_POLICY) {
            "X509_policy_check"
        } else if flags & (EXFLAG_INVALID | EXFLAG_INVALID_POLICY) != 0 {
            "a flag"
        } else if key.is_null() && !wrong_point {
            "no key"
        } else if !errors.is_empty() && !wrong_point {
            "errors"
        } else {
            return Ok(());
        };
        Err(format!("{complaint}: flags {flags:x} {errors:?}"))
    }
}

/// Takes the certificate for its own issuer: the last one of a chain is not looked at.
///
/// # Safety
/// It must be alive.
unsafe fn policies(certificate: *mut X509) -> i32 {
    let (mut tree, mut explicit) = (null_mut(), 0);
    // SAFETY: the certificate is alive, by the caller; the stack does not own its elements.
    unsafe {
        let chain = OPENSSL_sk_new_null();
        for _ in 0..2 {
            assert!(OPENSSL_sk_push(chain, certificate.cast::<c_void>()) > 0);
        }
        let result = X509_policy_check(&mut tree, &mut explicit, chain, null_mut(), 0);
        X509_policy_tree_free(tree);
        OPENSSL_sk_free(chain);
        result
    }
}

/// Empties this thread's queue.
fn errors() -> Vec<String> {
    let next = || {
        // SAFETY: the queue is this thread's own.
        let error = unsafe { ERR_get_error() };
        (error != 0).then_some(error)
    };
    std::iter::from_fn(next).map(message).collect()
}

fn message(error: c_ulong) -> String {
    let mut text = [0u8; 256];
    // SAFETY: as many bytes as are told; NUL ends the text.
    unsafe { ERR_error_string_n(error, text.as_mut_ptr().cast(), text.len()) };
    String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
}
