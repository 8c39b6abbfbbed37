//! Public keys and parameters of signature algorithms: values that libcrypto can't decode must not be accepted here,
//! because each version reports that in its own way, and some only once. Keys are changed at random, and compared with
//! libcrypto.

mod support;

use fastrand::Rng;
use support::change::{change_node, edit};
use support::der::{BIT_STRING, INTEGER, Node, OID, leaf, sequence};
use support::judge::check;
use support::{pem, smallest};

const NULL: u8 = 0x05;

const RSA: &[u8] = b"\x2A\x86\x48\x86\xF7\x0D\x01\x01\x01";
const PSS: &[u8] = b"\x2A\x86\x48\x86\xF7\x0D\x01\x01\x0A";
const EC: &[u8] = b"\x2A\x86\x48\xCE\x3D\x02\x01";
const DSA: &[u8] = b"\x2A\x86\x48\xCE\x38\x04\x01";
const ED25519: &[u8] = b"\x2B\x65\x70";
const ED448: &[u8] = b"\x2B\x65\x71";
const X25519: &[u8] = b"\x2B\x65\x6E";
const P256: &[u8] = b"\x2A\x86\x48\xCE\x3D\x03\x01\x07";
const P384: &[u8] = b"\x2B\x81\x04\x00\x22";
const P521: &[u8] = b"\x2B\x81\x04\x00\x23";
const SECP256K1: &[u8] = b"\x2B\x81\x04\x00\x0A";

fn spki(algorithm: &[u8], parameters: Option<Node>, key: &[u8]) -> Node {
    let mut identifier = vec![leaf(OID, algorithm)];
    identifier.extend(parameters);
    let key = [&[0], key].concat();
    sequence([sequence(identifier), leaf(BIT_STRING, &key)])
}

/// The smallest certificate of the bundle with another key.
fn with_key(spki: Node) -> Vec<u8> {
    let mut root = Node::parse(&smallest());
    root.children()[0].children()[6] = spki;
    pem(&root.encode())
}

fn rsa_key() -> Node {
    let modulus = [&[0x00, 0xC1][..], &[0x5B; 127]].concat();
    sequence([leaf(INTEGER, &modulus), leaf(INTEGER, &[1, 0, 1])])
}

#[test]
fn usual_keys_are_taken() {
    let null = || Some(leaf(NULL, b""));
    assert!(check(&with_key(spki(RSA, null(), &rsa_key().encode()))));
    // The points are not on their curves, which the code under test can't detect.
    for (curve, size) in [(P256, 32), (P384, 48), (P521, 66)] {
        let point = [&[4][..], &vec![1; 2 * size]].concat();
        let named = || Some(leaf(OID, curve));
        assert!(check(&with_key(spki(EC, named(), &point))));
        assert!(!check(&with_key(spki(EC, named(), &point[1..]))));
        let compressed = [&[2][..], &vec![1; size]].concat();
        assert!(!check(&with_key(spki(EC, named(), &compressed))));
        assert!(!check(&with_key(spki(EC, null(), &point))));
        assert!(!check(&with_key(spki(EC, None, &point))));
    }
    for (algorithm, size) in [(ED25519, 32), (ED448, 57)] {
        assert!(check(&with_key(spki(algorithm, None, &vec![1; size]))));
        assert!(!check(&with_key(spki(algorithm, null(), &vec![1; size]))));
        assert!(!check(&with_key(spki(algorithm, None, &vec![1; size + 1]))));
    }
}

#[test]
fn every_algorithm_with_every_curve() {
    let keys = [rsa_key().encode(), [&[4][..], &[1; 64]].concat(), vec![1; 32]];
    for algorithm in [RSA, PSS, EC, DSA, ED25519, ED448, X25519, b"\x2A\x03"] {
        let curves = [P256, P384, P521, SECP256K1, b"\x2A\x03"].map(|oid| Some(leaf(OID, oid)));
        let others = [None, Some(leaf(NULL, b"")), Some(sequence([]))];
        for parameters in curves.into_iter().chain(others) {
            for key in &keys {
                check(&with_key(spki(algorithm, parameters.clone(), key)));
            }
        }
    }
}

#[test]
fn changed_rsa_keys() {
    let mut rng = Rng::with_seed(support::seed());
    let times = 4_000 * support::factor();
    let mut accepted = 0;
    for _ in 0..times {
        let mut key = rsa_key();
        change_node(&mut rng, &mut key);
        let mut bytes = key.encode();
        if rng.u8(0..4) == 0 {
            edit(&mut rng, &mut bytes);
        }
        let spki = spki(RSA, Some(leaf(NULL, b"")), &bytes);
        accepted += u64::from(check(&with_key(spki)));
    }
    assert!(accepted > times / 20 && accepted < times * 9 / 10, "{accepted} of {times}");
}

/// RSASSA-PSS with SHA-2 of this many bytes, for digest and mask, and this salt.
fn pss(digest: u8, salt: u8) -> Node {
    let sha = |n: u8| {
        let oid = [&b"\x60\x86\x48\x01\x65\x03\x04\x02"[..], &[n]].concat();
        sequence([leaf(OID, &oid), leaf(NULL, b"")])
    };
    let mgf1 = leaf(OID, b"\x2A\x86\x48\x86\xF7\x0D\x01\x01\x08");
    sequence([
        leaf(OID, PSS),
        sequence([
            Node::nodes(0xA0, vec![sha(digest)]),
            Node::nodes(0xA1, vec![sequence([mgf1, sha(digest)])]),
            Node::nodes(0xA2, vec![leaf(INTEGER, &[salt])]),
        ]),
    ])
}

#[test]
fn changed_parameters_of_a_signature() {
    let text = |algorithm: Node| {
        let mut root = Node::parse(&smallest());
        root.children()[0].children()[2] = algorithm.clone();
        root.children()[1] = algorithm;
        pem(&root.encode())
    };
    for (digest, salt) in [(1, 32), (2, 48), (3, 64)] {
        assert!(check(&text(pss(digest, salt))));
        assert!(!check(&text(pss(digest, salt + 1))));
    }
    let mut rng = Rng::with_seed(support::seed());
    for _ in 0..2_000 * support::factor() {
        let mut algorithm = pss(1, 32);
        change_node(&mut rng, &mut algorithm);
        check(&text(algorithm));
    }
}
