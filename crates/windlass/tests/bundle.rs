//! The system's bundle: everything read from it equals the data that libcrypto reads.

mod support;

use std::collections::BTreeMap;

use support::libcrypto;
use windlass::{CanonicalName, RootStore, SubjectHash, TrustAnchor, subject_hash_old};

fn generalized(time: windlass::Timestamp) -> String {
    time.to_string().replace(['-', ':', ' '], "")
}

#[test]
fn every_certificate_is_what_libcrypto_reads() {
    let pem = support::bundle();
    let store = RootStore::from_pem(&pem).unwrap();
    let theirs = support::certificates(&pem);
    assert!(theirs.len() > 100);
    assert_eq!(store.len(), theirs.len());
    assert_eq!(store.len(), libcrypto::load_count(&pem));
    assert_eq!(store.source_bytes(), pem.len() as u64);
    for (anchor, der) in store.anchors().zip(&theirs) {
        assert_eq!(anchor.der(), der);
        let facts = libcrypto::facts(der).unwrap();
        assert_eq!(anchor.raw_subject().as_bytes(), facts.subject);
        assert_eq!(anchor.raw_issuer().as_bytes(), facts.issuer);
        assert_eq!(anchor.serial(), &facts.serial[2..]);
        assert_eq!(anchor.spki(), facts.spki);
        assert_eq!(anchor.subject_key_id(), facts.key_id.as_deref());
        assert_eq!(generalized(anchor.not_before()), facts.not_before);
        assert_eq!(generalized(anchor.not_after()), facts.not_after);
        assert_eq!(anchor.subject_hash(), SubjectHash(facts.subject_hash));
        assert_eq!(subject_hash_old(anchor.raw_subject()), SubjectHash(facts.subject_hash_old));
    }
}

#[test]
fn every_anchor_is_found_by_everything_it_is_indexed_by() {
    let store = RootStore::from_pem(&support::bundle()).unwrap();
    let mut by_subject: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut by_key_id: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut by_raw_subject: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut by_serial: BTreeMap<[Vec<u8>; 2], Vec<usize>> = BTreeMap::new();
    let issued = |anchor: TrustAnchor<'_>| [anchor.raw_issuer().as_bytes().to_vec(), anchor.serial().to_vec()];
    for anchor in store.anchors() {
        let place = anchor.index().get();
        by_subject.entry(anchor.canonical_subject().to_vec()).or_default().push(place);
        by_raw_subject.entry(anchor.raw_subject().as_bytes().to_vec()).or_default().push(place);
        by_serial.entry(issued(anchor)).or_default().push(place);
        if let Some(id) = anchor.subject_key_id() {
            by_key_id.entry(id.to_vec()).or_default().push(place);
        }
    }
    for anchor in store.anchors() {
        let name = CanonicalName::from_raw(anchor.raw_subject()).unwrap();
        assert_eq!(name.as_bytes(), anchor.canonical_subject());
        let found: Vec<usize> = store.by_subject(&name).map(|index| index.get()).collect();
        assert_eq!(found, by_subject[anchor.canonical_subject()]);
        let found: Vec<usize> = store.by_raw_subject(anchor.raw_subject()).map(|index| index.get()).collect();
        assert_eq!(found, by_raw_subject[anchor.raw_subject().as_bytes()]);
        let found = store.by_issuer_and_serial(anchor.raw_issuer(), anchor.serial());
        assert_eq!(found.map(|index| index.get()).collect::<Vec<_>>(), by_serial[&issued(anchor)]);
        if let Some(id) = anchor.subject_key_id() {
            assert_eq!(store.by_key_id(id).map(|index| index.get()).collect::<Vec<_>>(), by_key_id[id]);
        }
    }
}

/// The fingerprint is compared with the usual command's output.
#[test]
fn fingerprints_are_those_of_the_openssl_command() {
    let pem = support::bundle();
    let store = RootStore::from_pem(&pem).unwrap();
    for anchor in store.anchors().take(3) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), anchor.der()).unwrap();
        let output = std::process::Command::new("openssl")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .args(["x509", "-inform", "DER", "-noout", "-fingerprint", "-sha256", "-in"])
            .arg(file.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let hex: Vec<String> = anchor.sha256_fingerprint().iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(text.trim().split_once('=').unwrap().1, hex.join(":"));
    }
}
