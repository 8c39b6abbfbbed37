//! Extensions, keys and signature algorithms: values that libcrypto can't decode must not be accepted here, because it
//! raises errors when it first decodes them. Each is changed at random, and compared with libcrypto.

mod support;

use fastrand::Rng;
use support::change::{change_node, edit};
use support::der::{BIT_STRING, Content, INTEGER, Node, OCTET_STRING, OID, SET, leaf, sequence};
use support::judge::check;
use support::{pem, smallest};
use windlass::{DerFault, RootStore, Unsupported};

const UTF8_STRING: u8 = 0x0C;
const IA5_STRING: u8 = 0x16;
const BMP_STRING: u8 = 0x1E;

fn tagged(tag: u8, nodes: impl Into<Vec<Node>>) -> Node {
    Node::nodes(tag, nodes.into())
}

/// A GeneralName of type directoryName.
fn directory_name() -> Node {
    let entry = sequence([leaf(OID, b"\x55\x04\x03"), leaf(UTF8_STRING, b"A name")]);
    tagged(0xA4, [sequence([Node::nodes(SET, vec![entry])])])
}

fn policy(oid: &[u8], qualifier: Node) -> Node {
    sequence([leaf(OID, oid), sequence([qualifier])])
}

/// Extensions that libcrypto decodes by itself, by the content of their OBJECT IDENTIFIER, with all of their possible
/// parts.
fn known() -> Vec<(Vec<u8>, Node)> {
    let id_ce = |arc: u8| vec![0x55, 0x1D, arc];
    let number = |n: u8| leaf(INTEGER, &[n]);
    let boolean = |value: u8| leaf(0x01, &[value]);
    let user = leaf(OID, b"\x2B\x06\x01\x04\x01\x82\x37\x14\x02\x03");
    let cps = b"\x2B\x06\x01\x05\x05\x07\x02\x01";
    let user_notice = b"\x2B\x06\x01\x05\x05\x07\x02\x02";
    let uri = |name: &[u8]| leaf(0x86, name);
    let full_name = |name: Node| tagged(0xA0, [tagged(0xA0, [name])]);
    vec![
        (id_ce(14), leaf(OCTET_STRING, b"identifier")),
        (id_ce(15), leaf(BIT_STRING, b"\x01\x06")),
        (id_ce(15), leaf(BIT_STRING, b"\x07\x06\x80")),
        (
            id_ce(17),
            sequence([
                leaf(0x81, b"a@example.org"),
                leaf(0x82, b"example.org"),
                uri(b"http://example.org/"),
                leaf(0x87, &[127, 0, 0, 1]),
                leaf(0x88, b"\x2A\x03"),
                directory_name(),
                tagged(0xA0, [user, tagged(0xA0, [leaf(UTF8_STRING, b"user")])]),
            ]),
        ),
        (id_ce(19), sequence([boolean(0xFF), number(3)])),
        (id_ce(19), sequence([boolean(0xFF)])),
        (id_ce(19), sequence([boolean(0)])),
        (id_ce(19), sequence([])),
        (
            id_ce(30),
            sequence([
                tagged(0xA0, [sequence([leaf(0x82, b"org")])]),
                tagged(0xA1, [sequence([directory_name()]), sequence([leaf(0x87, &[10, 0, 0, 0, 255, 0, 0, 0])])]),
            ]),
        ),
        (
            id_ce(31),
            sequence([
                sequence([full_name(uri(b"http://a/"))]),
                sequence([full_name(directory_name()), leaf(0x81, b"\x01\x06"), tagged(0xA2, [directory_name()])]),
            ]),
        ),
        (
            id_ce(32),
            sequence([
                sequence([leaf(OID, b"\x55\x1D\x20\x00")]),
                policy(b"\x2A\x03", sequence([leaf(OID, cps), leaf(IA5_STRING, b"http://a/")])),
                policy(
                    b"\x2A\x04",
                    sequence([
                        leaf(OID, user_notice),
                        sequence([
                            sequence([leaf(UTF8_STRING, b"A"), sequence([number(1), number(2)])]),
                            leaf(BMP_STRING, b"\0B"),
                        ]),
                    ]),
                ),
            ]),
        ),
        (id_ce(33), sequence([sequence([leaf(OID, b"\x2A\x03"), leaf(OID, b"\x2A\x04")])])),
        (id_ce(35), sequence([leaf(0x80, b"identifier"), tagged(0xA1, [directory_name()]), leaf(0x82, b"\x05")])),
        (id_ce(35), sequence([leaf(0x80, b"identifier")])),
        (id_ce(36), sequence([leaf(0x80, b"\0"), leaf(0x81, b"\x02")])),
        (
            id_ce(37),
            sequence([leaf(OID, b"\x2B\x06\x01\x05\x05\x07\x03\x01"), leaf(OID, b"\x2B\x06\x01\x05\x05\x07\x03\x02")]),
        ),
        (id_ce(54), number(1)),
        (b"\x60\x86\x48\x01\x86\xF8\x42\x01\x01".to_vec(), leaf(BIT_STRING, b"\x00\x07")),
    ]
}

/// Extensions that libcrypto decodes only on request, and those that it decodes but this crate refuses.
const OTHERS: [&[u8]; 12] = [
    b"\x55\x1D\x12",                         // issuerAltName
    b"\x55\x1D\x10",                         // privateKeyUsagePeriod
    b"\x55\x1D\x2E",                         // freshestCRL
    b"\x2B\x06\x01\x05\x05\x07\x01\x01",     // authorityInfoAccess
    b"\x2B\x06\x01\x05\x05\x07\x01\x0B",     // subjectInfoAccess
    b"\x2B\x06\x01\x05\x05\x07\x01\x18",     // TLS feature
    b"\x2B\x65\x01\x04\x01",                 // SXNetID
    b"\x2A\x03\x04",                         // unknown
    b"\x2B\x06\x01\x05\x05\x07\x01\x07",     // IP address blocks
    b"\x2B\x06\x01\x05\x05\x07\x01\x08",     // autonomous system numbers
    b"\x2B\x06\x01\x05\x05\x07\x01\x0E",     // proxyCertInfo
    b"\x60\x86\x48\x01\x86\xF8\x42\x01\x0D", // Netscape comment
];

fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Node {
    let mut parts = vec![leaf(OID, oid)];
    if critical {
        parts.push(leaf(0x01, &[0xFF]));
    }
    parts.push(leaf(OCTET_STRING, value));
    sequence(parts)
}

/// The smallest certificate of the bundle with these extensions instead of its own.
fn certificate(sample: &[u8], extensions: Vec<Node>) -> Node {
    let mut root = Node::parse(sample);
    root.children()[0].children()[7].children()[0] = sequence(extensions);
    root
}

/// Those that are known, one for each OBJECT IDENTIFIER.
fn one_of_each(rng: &mut Rng) -> Vec<(Vec<u8>, Node)> {
    let mut all = known();
    rng.shuffle(&mut all);
    let mut seen = std::collections::HashSet::new();
    all.retain(|(oid, _)| seen.insert(oid.clone()));
    all
}

#[test]
fn all_usual_extensions_are_taken() {
    let sample = smallest();
    for (oid, value) in known() {
        for critical in [false, true] {
            let one = extension(&oid, critical, &value.encode());
            let text = pem(&certificate(&sample, vec![one]).encode());
            assert!(check(&text), "{oid:x?}: {:?}", RootStore::from_pem(&text).err());
        }
    }
    let mut rng = Rng::with_seed(support::seed());
    let all = one_of_each(&mut rng).iter().map(|(oid, value)| extension(oid, rng.bool(), &value.encode())).collect();
    assert!(check(&pem(&certificate(&sample, all).encode())));
}

#[test]
fn changed_values_of_extensions() {
    let sample = smallest();
    let mut rng = Rng::with_seed(support::seed());
    let known = known();
    let times = 12_000 * support::factor();
    let mut accepted = 0;
    for _ in 0..times {
        let (oid, value) = rng.choice(&known).unwrap();
        let mut value = value.clone();
        let mut bytes = if rng.bool() {
            for _ in 0..rng.usize(1..=2) {
                change_node(&mut rng, &mut value);
            }
            value.encode()
        } else {
            value.encode()
        };
        if !bytes.is_empty() && rng.u8(0..3) == 0 {
            edit(&mut rng, &mut bytes);
        }
        let changed = extension(oid, rng.bool(), &bytes);
        let root = certificate(&sample, vec![changed]);
        accepted += u64::from(check(&pem(&root.encode())));
    }
    assert!(accepted > times / 20 && accepted < times * 9 / 10, "{accepted} of {times}");
}

/// Every byte of every value with every bit flipped, and the value cut there.
#[test]
fn every_bit_of_every_value() {
    let sample = smallest();
    let mut accepted = 0;
    for (oid, value) in known() {
        let value = value.encode();
        for place in 0..value.len() {
            for bit in 0..8 {
                let mut changed = value.clone();
                changed[place] ^= 1 << bit;
                let root = certificate(&sample, vec![extension(&oid, false, &changed)]);
                accepted += usize::from(check(&pem(&root.encode())));
            }
            let cut = extension(&oid, false, &value[..place]);
            assert!(!check(&pem(&certificate(&sample, vec![cut]).encode())), "{oid:x?}");
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

/// Every node of every value left out, and every node twice.
#[test]
fn every_node_of_every_value() {
    let sample = smallest();
    let mut accepted = 0;
    for (oid, value) in known() {
        for place in 0..value.count() {
            let children = match &value.clone().at(place).content {
                Content::Nodes(nodes) => nodes.len(),
                Content::Bytes(_) => 0,
            };
            for child in 0..children {
                let mut without = value.clone();
                without.at(place).children().remove(child);
                let mut twice = value.clone();
                let nodes = twice.at(place).children();
                nodes.insert(child, nodes[child].clone());
                for changed in [without, twice] {
                    let one = extension(&oid, false, &changed.encode());
                    accepted += usize::from(check(&pem(&certificate(&sample, vec![one]).encode())));
                }
            }
        }
    }
    assert!(accepted > 20, "{accepted}");
}

/// Any extension with the value of any other.
#[test]
fn values_of_other_extensions() {
    let sample = smallest();
    let known = known();
    let all = known.iter().map(|(oid, _)| oid.as_slice()).chain(OTHERS);
    for oid in all {
        for (_, value) in &known {
            for critical in [false, true] {
                let one = extension(oid, critical, &value.encode());
                check(&pem(&certificate(&sample, vec![one]).encode()));
            }
        }
        check(&pem(&certificate(&sample, vec![extension(oid, false, b"x")]).encode()));
    }
}

#[test]
fn lists_of_extensions() {
    let sample = smallest();
    let mut rng = Rng::with_seed(support::seed());
    let times = 3_000 * support::factor();
    let mut accepted = 0;
    for _ in 0..times {
        let mut list: Vec<Node> =
            one_of_each(&mut rng).iter().map(|(oid, value)| extension(oid, rng.bool(), &value.encode())).collect();
        list.truncate(rng.usize(1..=list.len()));
        for oid in OTHERS {
            if rng.u8(0..8) == 0 {
                list.push(extension(oid, rng.bool(), b"anything"));
            }
        }
        if rng.u8(0..3) == 0 {
            let again = rng.choice(&list).unwrap().clone();
            list.push(again);
        }
        accepted += u64::from(check(&pem(&certificate(&sample, list).encode())));
    }
    assert!(accepted > times / 20 && accepted < times * 9 / 10, "{accepted} of {times}");
}

fn fault(root: &Node) -> DerFault {
    match RootStore::from_pem(&pem(&root.encode())) {
        Err(Unsupported::Certificate { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_refused_is_told() {
    let sample = smallest();
    let one = |oid: &[u8], value: &[u8]| fault(&certificate(&sample, vec![extension(oid, false, value)]));
    // A path length that is negative, one for no CA, no key usage at all, no purpose, no policy.
    assert_eq!(one(b"\x55\x1D\x13", b"\x30\x06\x01\x01\xFF\x02\x01\xFF"), DerFault::Integer);
    assert_eq!(one(b"\x55\x1D\x13", b"\x30\x03\x02\x01\x01"), DerFault::TrailingBytes);
    assert_eq!(one(b"\x55\x1D\x0F", b"\x03\x02\x00\x00"), DerFault::ExtensionValue);
    assert_eq!(one(b"\x55\x1D\x0F", b"\x03\x01\x00"), DerFault::BitString);
    assert_eq!(one(b"\x55\x1D\x25", b"\x30\x00"), DerFault::ExtensionValue);
    assert_eq!(one(b"\x55\x1D\x20", b"\x30\x00"), DerFault::ExtensionValue);
    assert_eq!(one(OTHERS[10], b"\x30\x00"), DerFault::RareExtension);
    let twice = extension(OTHERS[0], false, b"\x30\x00");
    assert_eq!(fault(&certificate(&sample, vec![twice.clone(), twice])), DerFault::DuplicateExtension);
    let many = (0..33).map(|n| extension(&[0x2A, n], false, b"x")).collect();
    assert_eq!(fault(&certificate(&sample, many)), DerFault::ManyExtensions);
    // Extensions are of version 3.
    let mut root = Node::parse(&sample);
    root.children()[0].children()[0] = tagged(0xA0, [leaf(INTEGER, &[1])]);
    assert_eq!(fault(&root), DerFault::TrailingBytes);
}
