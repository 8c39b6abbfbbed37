//! Stores with duplicates, with shared subjects, and with many certificates.

mod support;

use std::collections::{HashMap, HashSet};

use support::der::{self, Node};
use support::stores::{certificate, certificate_of, pem_of, template};
use support::{libcrypto, pem};
use windlass::{CanonicalName, DerFault, NameFault, RawName, RootStore, Unsupported};

const SUBJECT: usize = 5;

fn name(common_name: &str, tag: u8) -> Vec<u8> {
    der::common_name(tag, common_name.as_bytes())
}

fn canonical(common_name: &str) -> CanonicalName {
    CanonicalName::from_raw(RawName::from_der(&name(common_name, 0x0C)).unwrap()).unwrap()
}

fn store(certificates: &[Vec<u8>]) -> RootStore {
    RootStore::from_pem(&pem_of(certificates)).unwrap()
}

fn places(indices: impl Iterator<Item = windlass::AnchorIndex>) -> Vec<usize> {
    indices.map(|index| index.get()).collect()
}

#[test]
fn shared_subjects_and_duplicates() {
    let template = template();
    let make = |name: &str, tag, serial| certificate_of(&template, &self::name(name, tag), serial);
    let all = [
        make("Lonely", 0x0C, 1),
        make("Shared", 0x0C, 2),
        make("Twice", 0x0C, 3),
        // The same name to OpenSSL, in other bytes.
        make(" shared  ", 0x13, 4),
        make("Twice", 0x0C, 3),
        make("Shared", 0x0C, 2),
        make("Other", 0x0C, 5),
        make("SHARED", 0x16, 6),
        make("Twice", 0x0C, 3),
    ];
    let store = store(&all);
    assert_eq!(store.len(), 9);
    assert_eq!(store.len(), libcrypto::load_count(&pem_of(&all)));
    assert_eq!(places(store.by_subject(&canonical("shared"))), [1, 3, 5, 7]);
    assert_eq!(places(store.by_subject(&canonical("twice"))), [2, 4, 8]);
    assert_eq!(places(store.by_subject(&canonical("LONELY "))), [0]);
    assert_eq!(places(store.by_subject(&canonical("nobody"))), []);
    assert_eq!(places(store.by_subject(&canonical(""))), []);
    assert_eq!(places(store.shared_subjects().iter().copied()), [1, 3, 5, 7]);
    let duplicates: Vec<bool> = store.anchors().map(|anchor| anchor.is_duplicate()).collect();
    assert_eq!(duplicates, [false, false, false, false, true, true, false, false, true]);
    let key_id = store.anchors().next().unwrap().subject_key_id().unwrap();
    assert_eq!(places(store.by_key_id(key_id)), (0..9).collect::<Vec<_>>());
    assert_eq!(places(store.by_key_id(b"")), []);
    let raw = |text, tag| places(store.by_raw_subject(RawName::from_der(&name(text, tag)).unwrap()));
    assert_eq!([raw("Lonely", 0x0C), raw("Other", 0x0C)], [[0], [6]]);
    assert_eq!([raw(" shared  ", 0x13), raw("SHARED", 0x16)], [[3], [7]]);
    assert_eq!((raw("Shared", 0x0C), raw("Twice", 0x0C)), (vec![1, 5], vec![2, 4, 8]));
    assert_eq!(raw("Shared", 0x16), []);
}

#[test]
fn an_empty_subject_is_a_subject() {
    let mut root = template();
    root.children()[0].children()[SUBJECT] = Node::nodes(der::SEQUENCE, Vec::new());
    let store = store(&[root.encode()]);
    let empty = CanonicalName::from_raw(RawName::from_der(&[0x30, 0]).unwrap()).unwrap();
    assert_eq!(places(store.by_subject(&empty)), [0]);
    assert_eq!(store.anchors().next().unwrap().subject_hash(), empty.subject_hash());
}

#[test]
fn many_subjects_at_random() {
    let template = template();
    let mut rng = fastrand::Rng::with_seed(support::seed());
    for names in [1, 3, 40, 400] {
        let all: Vec<(String, Vec<u8>)> = (0..400)
            .map(|_| {
                let name = format!("CA {}", rng.u32(0..names));
                let der = certificate(&template, &name, rng.u32(0..3));
                (name, der)
            })
            .collect();
        let store = store(&all.iter().map(|(_, der)| der.clone()).collect::<Vec<_>>());
        let mut seen = HashSet::new();
        let mut different: HashMap<&str, HashSet<&[u8]>> = HashMap::new();
        for (anchor, (name, der)) in store.anchors().zip(&all) {
            assert_eq!(anchor.der(), der);
            assert_eq!(anchor.is_duplicate(), !seen.insert(der));
            different.entry(name).or_default().insert(der);
        }
        let of = |wanted: &str| {
            all.iter().enumerate().filter(|(_, (name, _))| name == wanted).map(|(place, _)| place).collect::<Vec<_>>()
        };
        for name in different.keys() {
            assert_eq!(places(store.by_subject(&canonical(name))), of(name));
        }
        let shared: Vec<usize> = all
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| different[name.as_str()].len() > 1)
            .map(|(place, _)| place)
            .collect();
        assert_eq!(places(store.shared_subjects().iter().copied()), shared);
    }
}

/// All of one subject, all of different ones, all the same.
#[test]
fn ten_thousand_certificates() {
    let template = template();
    let make = |n: u32, kind| match kind {
        0 => certificate(&template, "One for all", n),
        1 => certificate(&template, &format!("CA {n}"), n),
        _ => certificate(&template, "One for all", 0),
    };
    for kind in 0..3 {
        let mut text = Vec::new();
        for n in 0..10_000 {
            text.extend(pem(&make(n, kind)));
        }
        let store = RootStore::from_pem(&text).unwrap();
        assert_eq!(store.len(), 10_000);
        let name = canonical(if kind == 1 { "CA 9999" } else { "One for all" });
        assert_eq!(store.by_subject(&name).count(), if kind == 1 { 1 } else { 10_000 });
        assert_eq!(store.shared_subjects().len(), if kind == 0 { 10_000 } else { 0 });
        let duplicates = store.anchors().filter(|anchor| anchor.is_duplicate()).count();
        assert_eq!(duplicates, if kind == 2 { 9_999 } else { 0 });
        for anchor in store.anchors().step_by(1000) {
            assert_eq!(store.by_raw_subject(anchor.raw_subject()).count(), if kind == 1 { 1 } else { 10_000 });
        }
    }
}

#[test]
fn errors_tell_where() {
    let good = pem(&template().encode());
    let error = |text: &[u8]| RootStore::from_pem(text).unwrap_err();
    assert_eq!(error(b""), Unsupported::NoCertificate);
    assert_eq!(error(b"text\n"), Unsupported::NoCertificate);
    let mut bad = template();
    bad.children()[0].children()[0] = Node::nodes(0xA0, vec![Node::bytes(0x02, [3])]);
    let text = [good.as_slice(), &pem(&bad.encode())].concat();
    assert_eq!(error(&text), Unsupported::Certificate { certificate: 2, fault: DerFault::Version });
    assert_eq!(error(&text).to_string(), "certificate 2: an unusual version");
    let mut bad = template();
    bad.children()[0].children()[SUBJECT] = Node::parse(&name("x", 0x1A));
    let fault = DerFault::Name(NameFault::StringType);
    assert_eq!(error(&pem(&bad.encode())), Unsupported::Certificate { certificate: 1, fault });
    assert_eq!(error(&pem(&bad.encode())).label(), "name");
    let lines = good.iter().filter(|&&byte| byte == b'\n').count();
    let text = [good.as_slice(), b"-----BEGIN X509 CRL-----\n"].concat();
    assert_eq!(error(&text).to_string(), format!("line {}: a PEM block other than CERTIFICATE", lines + 1));
    assert_eq!(error(&text).label(), "pem-other-label");
    assert_eq!(error(b"\xEF\xBB\xBFx\n").label(), "pem-byte-order-mark");
}

/// Each form that no CA uses, one by one, although OpenSSL accepts some of them.
#[test]
fn what_is_not_taken() {
    let good = template();
    assert!(RootStore::from_pem(&pem(&good.encode())).is_ok());
    let refused = |what: &str, change: &dyn Fn(&mut Node)| {
        let mut root = good.clone();
        change(&mut root);
        assert!(RootStore::from_pem(&pem(&root.encode())).is_err(), "{what}");
    };
    fn tbs(root: &mut Node) -> &mut Vec<Node> {
        root.children()[0].children()
    }
    let explicit_version = |n: u8| Node::nodes(0xA0, vec![Node::bytes(0x02, [n])]);
    refused("explicit v1", &|root| tbs(root)[0] = explicit_version(0));
    refused("v4", &|root| tbs(root)[0] = explicit_version(3));
    refused("padded serial", &|root| tbs(root)[1] = Node::bytes(0x02, [0, 1]));
    refused("padded negative serial", &|root| tbs(root)[1] = Node::bytes(0x02, [0xFF, 0x80]));
    refused("empty serial", &|root| tbs(root)[1] = Node::bytes(0x02, []));
    refused("long form of a length", &|root| tbs(root)[1].length_padding = 1);
    refused("time without seconds", &|root| tbs(root)[4].children()[0] = Node::bytes(0x17, *b"2001010000Z"));
    refused("time with an offset", &|root| tbs(root)[4].children()[0] = Node::bytes(0x17, *b"200101000000+0100"));
    refused("three times", &|root| tbs(root)[4].children().push(Node::bytes(0x17, *b"200101000000Z")));
    refused("unique identifier", &|root| tbs(root).insert(7, Node::bytes(0x81, [0, 1])));
    refused("no extensions in the list", &|root| tbs(root)[7] = Node::nodes(0xA3, vec![Node::nodes(0x30, vec![])]));
    refused("something behind the extensions", &|root| tbs(root).push(Node::bytes(0x05, [])));
    refused("signature of seven bits", &|root| root.children()[2] = Node::bytes(0x03, [1, 2]));
    refused("empty signature", &|root| root.children()[2] = Node::bytes(0x03, [0]));
    refused("something behind the signature", &|root| root.children().push(Node::bytes(0x05, [])));
    refused("boolean parameters", &|root| root.children()[1].children().push(Node::bytes(0x01, [0xFF])));
    refused("NULL with content", &|root| root.children()[1].children().push(Node::bytes(0x05, [0])));
    refused("two parameters", &|root| {
        root.children()[1].children().extend([Node::bytes(0x05, []), Node::bytes(0x05, [])]);
    });
    let long_oid = [&[0x2A; 128][..], &[1]].concat();
    refused("long OID", &|root| root.children()[1].children()[0] = Node::bytes(0x06, long_oid.clone()));
    refused("odd BOOLEAN", &|root| {
        let extension = tbs(root)[7].children()[0].children()[0].children();
        let value = extension.pop().unwrap();
        extension.truncate(1);
        extension.extend([Node::bytes(0x01, [1]), value]);
    });
    refused("empty extension", &|root| {
        let extension = tbs(root)[7].children()[0].children()[0].children();
        *extension.last_mut().unwrap() = Node::bytes(0x04, []);
    });
    let mut trailing = good.encode();
    trailing.push(0);
    assert!(RootStore::from_pem(&pem(&trailing)).is_err());
}

/// A v1 certificate ends with its key.
#[test]
fn version_one() {
    let mut root = template();
    let tbs = root.children()[0].children();
    tbs.remove(0);
    tbs.truncate(6);
    let der = root.encode();
    let store = store(std::slice::from_ref(&der));
    assert_eq!(libcrypto::load(&pem(&der)), Some(vec![der]));
    assert_eq!(store.anchors().next().unwrap().subject_key_id(), None);
}

#[test]
fn what_is_shared_between_threads_can_be() {
    fn assert_shareable<T: Send + Sync + 'static>() {}
    assert_shareable::<RootStore>();
    assert_shareable::<windlass::TrustCache>();
    assert_shareable::<windlass::LoadError>();
}
