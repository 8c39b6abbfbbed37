//! Every query of a root store.

use windlass::{AnchorIndex, CanonicalName, Finding, RawName, RootStore, TrustAnchor};

/// A finding that depends on each certificate.
pub const FINDING: Finding =
    Finding { rules: 1, find: |store| store.anchors().map(|anchor| anchor.der().len()).sum::<usize>() as u8 };

/// Requires the same answer to every query suggested by the anchors themselves, and to some without a match.
pub fn assert_same(ours: &RootStore, theirs: &RootStore) {
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(ours.source_bytes(), theirs.source_bytes());
    assert_eq!(ours.shared_subjects(), theirs.shared_subjects());
    assert_eq!(ours.finding(&FINDING), theirs.finding(&FINDING));
    assert_eq!(ours.anchors().len(), theirs.anchors().len());
    for (our, their) in ours.anchors().zip(theirs.anchors()) {
        assert_eq!(our.index(), their.index());
        assert_eq!(fields(our), fields(their));
        assert_eq!(our.not_before(), their.not_before());
        assert_eq!(our.not_after(), their.not_after());
        assert_eq!(our.subject_hash(), their.subject_hash());
        assert_eq!(our.is_duplicate(), their.is_duplicate());
        assert_eq!(our.sha256_fingerprint(), their.sha256_fingerprint());
        assert_eq!(answers(ours, our), answers(theirs, our));
    }
    for store in [ours, theirs] {
        let nobody = RawName::from_der(NOBODY).unwrap();
        assert_eq!(store.by_subject(&CanonicalName::from_raw(nobody).unwrap()).count(), 0);
        assert_eq!(store.by_raw_subject(nobody).count(), 0);
        assert_eq!(store.by_issuer_and_serial(nobody, b"\x01").count(), 0);
        assert_eq!(store.by_key_id(b"nobody").count(), 0);
        assert_eq!(store.by_key_id(b"").count(), 0);
    }
}

/// Runs every query on a store that may come from a malicious file, and requires every anchor in an answer to exist.
pub fn ask_everything(store: &RootStore) {
    let exists = |index: &AnchorIndex| assert!(index.get() < store.len());
    for anchor in store.anchors() {
        answers(store, anchor).iter().flatten().for_each(exists);
        for field in fields(anchor) {
            assert!(field.len() <= anchor.der().len().max(anchor.canonical_subject().len()));
        }
        let _ = (anchor.is_duplicate(), anchor.not_before().to_string(), anchor.not_after().to_string());
        let _ = format!("{anchor:?}");
    }
    store.shared_subjects().iter().for_each(exists);
    let _ = store.finding(&FINDING);
}

/// CN=Nobody at all
const NOBODY: &[u8] = b"\x30\x18\x31\x16\x30\x14\x06\x03\x55\x04\x03\x0C\x0DNobody at all";

fn fields(anchor: TrustAnchor<'_>) -> [&[u8]; 7] {
    [
        anchor.der(),
        anchor.raw_subject().as_bytes(),
        anchor.raw_issuer().as_bytes(),
        anchor.canonical_subject(),
        anchor.serial(),
        anchor.spki(),
        anchor.subject_key_id().unwrap_or(b""),
    ]
}

/// The anchors with this one's subject, raw subject, issuer and serial number, and key id.
pub fn answers(store: &RootStore, anchor: TrustAnchor<'_>) -> [Vec<AnchorIndex>; 4] {
    let name = CanonicalName::from_raw(anchor.raw_subject());
    [
        name.map_or(Vec::new(), |name| store.by_subject(&name).collect()),
        store.by_raw_subject(anchor.raw_subject()).collect(),
        store.by_issuer_and_serial(anchor.raw_issuer(), anchor.serial()).collect(),
        anchor.subject_key_id().map_or(Vec::new(), |id| store.by_key_id(id).collect()),
    ]
}

/// Requires each query suggested by an anchor to find what a full search finds.
pub fn check_by_search(store: &RootStore) {
    let places = |wanted: &dyn Fn(TrustAnchor<'_>) -> bool| -> Vec<_> {
        store.anchors().filter(|anchor| wanted(*anchor)).map(|anchor| anchor.index()).collect()
    };
    for anchor in store.anchors() {
        assert_eq!(CanonicalName::from_raw(anchor.raw_subject()).unwrap().as_bytes(), anchor.canonical_subject());
        let [subject, raw, serial, key_id] = answers(store, anchor);
        assert_eq!(subject, places(&|other| other.canonical_subject() == anchor.canonical_subject()));
        assert_eq!(raw, places(&|other| other.raw_subject() == anchor.raw_subject()));
        assert_eq!(serial, places(&|o| o.raw_issuer() == anchor.raw_issuer() && o.serial() == anchor.serial()));
        if anchor.subject_key_id().is_some() {
            assert_eq!(key_id, places(&|other| other.subject_key_id() == anchor.subject_key_id()));
        }
        assert_eq!(anchor.is_duplicate(), places(&|other| other.der() == anchor.der())[0] != anchor.index());
    }
}
