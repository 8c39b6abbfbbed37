//! The system's bundle: everything read from it equals the data that libcrypto reads.

mod support;

use support::answers::check_by_search;
use support::judge::assert_facts;
use support::libcrypto;
use windlass::RootStore;

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
        assert_facts(anchor, String::new);
    }
}

#[test]
fn every_anchor_is_found_by_everything_it_is_indexed_by() {
    check_by_search(&RootStore::from_pem(&support::bundle()).unwrap());
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
