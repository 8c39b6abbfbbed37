//! CRLs in a file: kept if they are wanted, and otherwise a reason to leave the file to the stock library.

mod support;

use std::path::Path;

use support::pem;
use windlass::der::{BIT_STRING, INTEGER, SEQUENCE, SET, UTC_TIME};
use windlass::{CanonicalName, Config, Contents, PemFault, RawName, RootStore, TrustCache, Unsupported};

fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let len = match content.len() {
        len @ 0..=0x7F => vec![len as u8],
        len => vec![0x82, (len >> 8) as u8, len as u8],
    };
    [&[tag][..], &len, &content].concat()
}

const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const ALGORITHM: [u8; 12] = [0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];

fn name(common_name: &str) -> Vec<u8> {
    let value = element(0x0C, &[common_name.as_bytes()]);
    element(SEQUENCE, &[&element(SET, &[&element(SEQUENCE, &[&COMMON_NAME, &value])])])
}

/// The parts of a CRL behind its issuer.
fn with(issuer: &str, rest: &[&[u8]]) -> Vec<u8> {
    let tbs = [&[INTEGER, 1, 1], &ALGORITHM[..], &name(issuer)].concat();
    let tbs = element(SEQUENCE, &[&tbs, &rest.concat()]);
    element(SEQUENCE, &[&tbs, &ALGORITHM, &element(BIT_STRING, &[&[0; 9]])])
}

fn time(text: &str) -> Vec<u8> {
    element(UTC_TIME, &[text.as_bytes()])
}

fn crl(issuer: &str) -> Vec<u8> {
    with(issuer, &[&time("260501000000Z"), &time("270101000000Z")])
}

fn block(der: &[u8]) -> String {
    String::from_utf8(pem(der)).unwrap().replace(" CERTIFICATE-", " X509 CRL-")
}

fn certificate(number: usize) -> String {
    String::from_utf8(pem(&support::certificates(&support::bundle())[number])).unwrap()
}

#[test]
fn kept_in_order_and_found_by_issuer() {
    let entry = element(SEQUENCE, &[&element(SEQUENCE, &[&[INTEGER, 1, 7], &time("260501000000Z")])]);
    let lists = [
        crl("One"),
        with("Two", &[&time("260501000000Z")]),
        with("one", &[&time("260501000000Z"), &time("270101000000Z"), &entry]),
        with(" ONE ", &[&time("260501000000Z"), &element(0xA0, &[&element(SEQUENCE, &[])])]),
    ];
    let [a, b, c, d] = lists.each_ref().map(|der| block(der));
    let text = format!("# comment\n{a}{}{b}{c}{}{d}", certificate(0), certificate(1));
    let store = RootStore::from_pem_with_crls(text.as_bytes()).unwrap();
    assert_eq!((store.len(), store.crl_count()), (2, 4));
    assert!(lists.iter().enumerate().all(|(place, der)| store.crl(place).unwrap().der() == der));
    assert!(store.crl(4).is_none());
    let of = |issuer: &str| {
        let name = name(issuer);
        let name = CanonicalName::from_raw(RawName::from_der(&name).unwrap()).unwrap();
        store.crls_by_issuer(&name).collect::<Vec<_>>()
    };
    assert_eq!(of("oNe"), [0, 2, 3]);
    assert_eq!(of("two"), [1]);
    assert!(of("three").is_empty());
    let (first, second) = (store.crl(0).unwrap(), store.crl(1).unwrap());
    assert_eq!(first.raw_issuer().as_bytes(), name("One"));
    assert_eq!(first.this_update().to_string(), "2026-05-01 00:00:00Z");
    assert_eq!(first.next_update().unwrap().to_string(), "2027-01-01 00:00:00Z");
    assert_eq!(second.next_update(), None);
}

#[test]
fn a_file_of_crls_alone() {
    let store = RootStore::from_pem_with_crls(block(&crl("One")).as_bytes()).unwrap();
    assert_eq!((store.len(), store.crl_count()), (0, 1));
    assert_eq!(store.anchors().count() + store.shared_subjects().len(), 0);
}

#[test]
fn not_kept_unless_wanted() {
    let text = format!("{}{}", certificate(0), block(&crl("One")));
    let refused = RootStore::from_pem(text.as_bytes()).unwrap_err();
    assert!(matches!(refused, Unsupported::Pem { fault: PemFault::OtherLabel, .. }), "{refused}");
    let store = RootStore::from_pem_with_crls(certificate(0).as_bytes()).unwrap();
    assert_eq!((store.len(), store.crl_count()), (1, 0));
}

#[test]
fn what_is_refused() {
    let whole = crl("One");
    let longer = [&whole[..], &[0]].concat();
    let now = time("260501000000Z");
    let behind = with("One", &[&now, &now, &element(0xA0, &[&[5, 0]]), &element(SEQUENCE, &[])]);
    let damaged: [(&str, Vec<u8>); 7] = [
        ("nothing", vec![]),
        ("cut off", whole[..whole.len() - 1].to_vec()),
        ("bytes behind it", longer),
        ("no date", with("One", &[])),
        ("no such date", with("One", &[&time("261301000000Z")])),
        ("parts out of order", behind),
        ("a certificate", support::certificates(&support::bundle()).remove(0)),
    ];
    for (what, der) in damaged {
        let text = format!("{}{}{}", certificate(0), block(&whole), block(&der));
        let refused = RootStore::from_pem_with_crls(text.as_bytes()).unwrap_err();
        let is_second = matches!(refused, Unsupported::Crl { crl: 2, .. });
        assert!(is_second || what == "nothing" && matches!(refused, Unsupported::Pem { .. }), "{what}: {refused}");
    }
    for other in ["TRUSTED CERTIFICATE", "X509 CERTIFICATE", "CRL", "PRIVATE KEY"] {
        let text = format!("{}{}", block(&whole), certificate(0).replace("CERTIFICATE", other));
        let refused = RootStore::from_pem_with_crls(text.as_bytes()).unwrap_err();
        assert!(matches!(refused, Unsupported::Pem { fault: PemFault::OtherLabel, .. }), "{other}: {refused}");
    }
    let wrong_end = block(&whole).replace("END X509 CRL", "END CERTIFICATE");
    assert!(RootStore::from_pem_with_crls(wrong_end.as_bytes()).is_err());
}

/// A source whose certificates are the same and whose CRLs are not has changed.
#[test]
fn another_crl_is_another_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.pem");
    let load = |cache: &TrustCache, text: &str| {
        std::fs::write(&path, text).unwrap();
        cache.load_cafile(Path::new(&path)).unwrap()
    };
    let cache = TrustCache::new(Config { contents: Contents::WithCrls, ..Config::default() }, None);
    let [bare, one, two] = [String::new(), block(&crl("One")), block(&crl("Two"))].map(|crl| certificate(0) + &crl);
    let states = [&bare, &one, &two, &bare].map(|text| load(&cache, text).crl(0).map(|crl| crl.der().to_vec()));
    assert_eq!(states, [None, Some(crl("One")), Some(crl("Two")), None]);
    // Read again and found the same: one store.
    assert!(std::sync::Arc::ptr_eq(&load(&cache, &one), &load(&cache, &one)));
}
