//! Damaged places: whatever they contain, reading terminates, and the result can be used.

#[path = "../../windlass/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

use windlass::{Config, TrustCache};
use windlass_trust::{KeyUse, Purpose, TrustLocation, TrustStore};

/// Reads everything in a store.
fn look(store: &TrustStore) -> usize {
    let mut seen = 0;
    for number in 0..store.len() {
        let certificate = store.certificate(number).unwrap();
        seen += certificate.label().map_or(0, |label| label.len());
        seen += certificate.id().map_or(0, |id| id.len());
        seen += certificate.category() as usize + usize::from(certificate.validity().is_some());
        if let (Some(issuer), Some(serial)) = (certificate.issuer(), certificate.serial()) {
            assert!(store.by_issuer_and_serial(issuer, serial).contains(&number));
            assert!(!store.statements_by_issuer_and_serial(issuer, serial).is_empty());
        }
        if let Some(subject) = certificate.subject() {
            assert!(store.by_subject(subject).contains(&number));
        }
    }
    for number in 0..store.statements_end() {
        let Some(statement) = store.statement(number) else { continue };
        seen += Purpose::ALL.iter().map(|purpose| statement.verdict(*purpose) as usize).sum::<usize>();
        seen += KeyUse::ALL.iter().filter_map(|key_use| statement.key_use(*key_use)).count();
        seen += statement.sha1().map_or(0, |hash| usize::from(hash[0]));
    }
    seen + (0..store.stapled_len()).map(|number| store.stapled(number).unwrap().der().len()).sum::<usize>()
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    fs::read_to_string(path).unwrap()
}

/// One of each format.
fn sources() -> Vec<Vec<u8>> {
    let (rsa, p384) = (fixture("rsa.pem"), fixture("p384.pem"));
    let said = "trusted: true\nlabel: \"A%20name\"\nnss-server-distrust-after: \"240731000000Z\"\n";
    let octal = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let root = windlass::RootStore::from_pem(rsa.as_bytes()).unwrap();
    let anchor = root.anchors().next().unwrap();
    let serial = [&[2, anchor.serial().len() as u8], anchor.serial()].concat();
    let certdata = format!(
        "\nBEGINDATA\nCKA_CLASS CK_OBJECT_CLASS CKO_CERTIFICATE\nCKA_LABEL UTF8 \"x\"\n\
         CKA_VALUE MULTILINE_OCTAL\n{}\nEND\n\
         CKA_NSS_SERVER_DISTRUST_AFTER MULTILINE_OCTAL\n{}\nEND\nCKA_CLASS CK_OBJECT_CLASS CKO_NSS_TRUST\n\
         CKA_ISSUER MULTILINE_OCTAL\n{}\nEND\nCKA_SERIAL_NUMBER MULTILINE_OCTAL\n{}\nEND\n\
         CKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_TRUSTED_DELEGATOR\n",
        octal(anchor.der()),
        octal(b"240731000000Z"),
        octal(anchor.raw_issuer().as_bytes()),
        octal(&serial),
    );
    let trusted = p384.replace("BEGIN CERTIFICATE", "BEGIN TRUSTED CERTIFICATE").replace("END C", "END TRUSTED C");
    vec![
        format!("{rsa}{p384}").into_bytes(),
        anchor.der().to_vec(),
        format!("[p11-kit-object-v1]\n{said}{rsa}\n[p11-kit-object-v1]\nx-distrusted: true\n{p384}").into_bytes(),
        trusted.into_bytes(),
        certdata.into_bytes(),
    ]
}

#[test]
fn each_source_says_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let cache = TrustCache::new(Config::default(), None);
    for (source, (certificates, trusted)) in sources().into_iter().zip([(2, 2), (1, 1), (2, 1), (1, 1), (1, 1)]) {
        let path = directory.path().join("one");
        fs::write(&path, source).unwrap();
        let store = TrustLocation::new(path).load(&cache);
        assert_eq!(store.len(), certificates);
        let anchors = (0..store.len()).filter(|n| store.certificate(*n).unwrap().is_trusted()).count();
        assert_eq!(anchors, trusted);
        assert!(look(&store) > 0);
    }
}

#[test]
fn whatever_is_there_can_be_looked_at() {
    let mut rng = fastrand::Rng::with_seed(support::seed());
    let directory = tempfile::tempdir().unwrap();
    let (single, place) = (directory.path().join("one"), directory.path().join("place"));
    for folder in ["anchors", "blocklist"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    let cache = TrustCache::new(Config::default(), None);
    let (mut read, mut refused) = (0, 0);
    for round in 0..100 * support::factor() {
        for source in sources() {
            let mut bytes = source;
            for _ in 0..rng.usize(0..4) {
                let at = rng.usize(0..bytes.len());
                match rng.u8(0..5) {
                    0 => bytes[at] = rng.u8(..),
                    1 => bytes[at] ^= 1 << rng.u8(0..8),
                    2 => drop(bytes.drain(at..(at + rng.usize(1..40)).min(bytes.len()))),
                    3 => bytes.insert(at, rng.u8(..)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let folder = ["anchors", "blocklist", "."][round as usize % 3];
            fs::write(&single, &bytes).unwrap();
            fs::write(place.join(folder).join("file"), &bytes).unwrap();
            for path in [&single, &place] {
                let store = TrustLocation::new(path.clone()).load(&cache);
                look(&store);
                match store.fault() {
                    None => read += 1,
                    Some(_) => {
                        assert!((0..store.len()).all(|number| !store.certificate(number).unwrap().is_trusted()));
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}
