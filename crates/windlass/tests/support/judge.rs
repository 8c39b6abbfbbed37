//! Everything accepted here must be accepted by libcrypto, with the same facts, and without an error that it would
//! remember.

use windlass::RootStore;

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
        let facts = libcrypto::facts(anchor.der()).unwrap();
        assert_eq!(anchor.subject_hash().0, facts.subject_hash, "{}", show());
        assert_eq!(anchor.raw_subject().as_bytes(), facts.subject, "{}", show());
        assert_eq!(anchor.raw_issuer().as_bytes(), facts.issuer, "{}", show());
        assert_eq!(anchor.subject_key_id(), facts.key_id.as_deref(), "{}", show());
        assert_eq!(anchor.spki(), facts.spki, "{}", show());
        assert_eq!(anchor.not_after().to_string().replace(['-', ':', ' '], ""), facts.not_after, "{}", show());
    }
    true
}
