//! Whether certificates can reach anything unseen by the hooks (see `handed_out`). If they can, each store gets
//! certificates of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use windlass_interpose::definitions::Name;

/// Functions that give away certificates of any store, or allow this, so that the store can't be determined. Of 487
/// programs and libraries of Debian 12 that use OpenSSL, none imports one, except OpenSSL itself and php, which reads
/// names of purposes.
pub const CHANGING: &[Name<'static>] = &[
    // The added checks are called with certificates of all stores.
    Name::new(c"X509_PURPOSE_add"),
    Name::new(c"X509_TRUST_add"),
    // An existing purpose can be given another check.
    Name::new(c"X509_PURPOSE_get0"),
    Name::new(c"X509_TRUST_get0"),
    // Its functions are called with keys of all stores.
    Name::new(c"X509_CRL_METHOD_new"),
    // Its nodes have qualifiers that are part of the chain's certificates.
    Name::new(c"X509_STORE_CTX_get0_policy_tree"),
    // The issuer is one of the verified chain's.
    Name::new(c"CT_POLICY_EVAL_CTX_get0_issuer"),
    // Searches by the built-in lookups without calling a lookup handle's function.
    Name::new(c"X509_LOOKUP_meth_get_get_by_alias"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_fingerprint"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_issuer_serial"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_subject"),
];

static CHANGES: AtomicBool = AtomicBool::new(false);

/// A loaded object imports one of these names, or has asked for one. It may be called anywhere: a store that already
/// has shared certificates gives them up before its next verification begins.
pub fn note_changer() {
    CHANGES.store(true, Ordering::Release);
}

/// Whether [`note_changer`] was called.
pub fn may_change_certificates() -> bool {
    CHANGES.load(Ordering::Acquire)
}
