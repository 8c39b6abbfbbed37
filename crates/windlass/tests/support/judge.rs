//! Everything accepted here must be accepted by libcrypto, with the same facts, and without an error that it would
//! remember.

use windlass::{RootStore, Timestamp, TrustAnchor, subject_hash_old};

use super::der::{INTEGER, Node};
use super::{libcrypto, quiet};

/// Returns whether the text is accepted here.
pub fn check(text: &[u8]) -> bool {
    let Ok(store) = RootStore::from_pem(text) else {
        return false;
    };
    let ours: Vec<&[u8]> = store.anchors().map(|anchor| anchor.der()).collect();
    let show = || String::from_utf8_lossy(text).into_owned();
    let theirs = libcrypto::load(text).unwrap_or_else(|| panic!("libcrypto refuses\n{}", show()));
    assert_eq!(ours, theirs, "{}", show());
    assert_eq!(ours.len(), libcrypto::load_count(text), "{}", show());
    for anchor in store.anchors() {
        quiet::check(anchor.der()).unwrap_or_else(|what| panic!("{what}\n{}", show()));
        assert_facts(anchor, show);
    }
    true
}

/// Requires libcrypto to say the same of a certificate. `show`: what the message of a failure ends with.
pub fn assert_facts(anchor: TrustAnchor<'_>, show: impl Fn() -> String) {
    let facts = libcrypto::facts(anchor.der()).unwrap();
    let generalized = |time: Timestamp| time.to_string().replace(['-', ':', ' '], "");
    assert_eq!(anchor.subject_hash().0, facts.subject_hash, "{}", show());
    assert_eq!(subject_hash_old(anchor.raw_subject()).0, facts.subject_hash_old, "{}", show());
    assert_eq!(anchor.raw_subject().as_bytes(), facts.subject, "{}", show());
    assert_eq!(anchor.raw_issuer().as_bytes(), facts.issuer, "{}", show());
    assert_eq!(Node::bytes(INTEGER, anchor.serial()).encode(), facts.serial, "{}", show());
    assert_eq!(anchor.subject_key_id(), facts.key_id.as_deref(), "{}", show());
    assert_eq!(anchor.spki(), facts.spki, "{}", show());
    assert_eq!(generalized(anchor.not_before()), facts.not_before, "{}", show());
    assert_eq!(generalized(anchor.not_after()), facts.not_after, "{}", show());
}
