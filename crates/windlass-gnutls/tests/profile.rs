//! The profile must match the behaviour of libgnutls: it loads the same certificates in the same order, under the same
//! names, and writes to the audit log only if the profile says so. Real certificates, and some of rare forms, are
//! changed at random, as text, as bytes and as trees.
//!
//! `WINDLASS_TEST_FACTOR=100` runs a hundred times as many cases, `WINDLASS_TEST_SEED=n` runs others.

mod libgnutls;
#[path = "../../windlass/tests/support/mod.rs"]
mod support;

use fastrand::Rng;
use support::change::{CONTENTS, TAGS, change_node, edit};
use support::der::{self, Content, Node};
use support::pem;
use windlass::RootStore;
use windlass_gnutls::GnutlsProfile;

const BOOLEAN: u8 = 0x01;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const EXTENSIONS: u8 = 0xA3;
const ALTERNATIVE_NAMES: [u8; 2] = [17, 18];
const BASIC_CONSTRAINTS: u8 = 19;

const VALIDITY: usize = 4;
const SUBJECT: usize = 5;
const LAST: usize = 7;

/// Passes a PEM file to both. None if it is not read here, or is outside the profile.
fn check(text: &[u8]) -> Option<GnutlsProfile> {
    let store = RootStore::from_pem(text).ok()?;
    let profile = windlass_gnutls::profile(&store);
    if profile == GnutlsProfile::Outside {
        return None;
    }
    let show = || format!("{profile:?}\n{}", String::from_utf8_lossy(text));
    let ours = store.anchors().map(|anchor| libgnutls::Loaded {
        der: anchor.der().to_vec(),
        raw_subject: anchor.raw_subject().as_bytes().to_vec(),
        raw_issuer: anchor.raw_issuer().as_bytes().to_vec(),
    });
    assert_eq!(libgnutls::load(text), Ok(ours.collect()), "{}", show());
    let (count, lines) = libgnutls::trust(text);
    assert_eq!(count, store.len() as i32, "{}", show());
    // A name that GnuTLS can't convert to text (`gnutls_x509_crt_get_dn2`) is not logged.
    assert!(lines == 0 || profile == GnutlsProfile::Audited, "{lines} lines, {}", show());
    Some(profile)
}

/// A certificate with these extensions in place of its own: arc of 2.5.29, and value.
fn with_extensions(template: &Node, extensions: &[(u8, &[u8])]) -> Vec<u8> {
    let mut root = template.clone();
    let tbs = root.children()[0].children();
    tbs.truncate(LAST);
    let extension = |(arc, value): &(u8, &[u8])| {
        let oid = Node::bytes(der::OID, [0x55, 0x1D, *arc]);
        Node::nodes(der::SEQUENCE, vec![oid, Node::bytes(der::OCTET_STRING, *value)])
    };
    let list = Node::nodes(der::SEQUENCE, extensions.iter().map(extension).collect());
    tbs.push(Node::nodes(EXTENSIONS, vec![list]));
    root.encode()
}

fn template() -> Node {
    support::stores::template()
}

const OF_A_CA: &[u8] = b"\x30\x06\x01\x01\xFF\x02\x01\x03";

/// A GeneralNames with one of each type that occurs.
fn names() -> Vec<u8> {
    let printable = support::der::name(&[vec![(vec![0x55, 4, 10], 0x13, b"A, B + C".to_vec())]]);
    Node::nodes(
        der::SEQUENCE,
        vec![
            Node::bytes(0x81, b"ca@example.org"),
            Node::bytes(0x82, b"example.org"),
            Node::nodes(0xA4, vec![Node::parse(&printable)]),
            Node::bytes(0x86, b"https://example.org/"),
            Node::bytes(0x87, [10, 0, 0, 1]),
        ],
    )
    .encode()
}

/// Certificates of forms that few roots have.
fn rare() -> Vec<Vec<u8>> {
    let template = template();
    let names = names();
    let mut version_1 = template.clone();
    version_1.children()[0].children().truncate(LAST);
    version_1.children()[0].children().remove(0);
    let mut version_2 = template.clone();
    version_2.children()[0].children().truncate(LAST);
    *version_2.children()[0].children()[0].children() = vec![Node::bytes(der::INTEGER, [1])];
    let mut bare = template.clone();
    bare.children()[0].children().truncate(LAST);
    vec![
        version_1.encode(),
        version_2.encode(),
        bare.encode(),
        with_extensions(&template, &[(BASIC_CONSTRAINTS, OF_A_CA), (17, &names), (18, &names)]),
        with_extensions(&template, &[(18, &names), (BASIC_CONSTRAINTS, OF_A_CA)]),
        with_extensions(&template, &[(BASIC_CONSTRAINTS, b"\x30\0")]),
        with_extensions(&template, &[(17, &names)]),
    ]
}

fn samples() -> Vec<Vec<u8>> {
    let mut all = support::certificates(&support::bundle());
    all.sort_by_key(Vec::len);
    all.truncate(60);
    all.extend(rare());
    all
}

/// Runs `change` this many times, and requires at least one in `share` results to be in the profile.
fn run(times: u64, seed: u64, share: u64, change: impl Fn(&mut Rng, &[Vec<u8>]) -> Vec<u8>) {
    let samples = samples();
    let mut rng = Rng::with_seed(support::seed() ^ seed);
    let times = times * support::factor();
    let inside = (0..times).filter(|_| check(&change(&mut rng, &samples)).is_some()).count() as u64;
    assert!(inside > times / share, "only {inside} of {times} were inside");
    assert!(inside < times, "all were inside");
}

#[test]
fn debians_roots_and_the_rare_ones() {
    assert_eq!(check(&support::bundle()), Some(GnutlsProfile::Plain));
    use GnutlsProfile::{Audited, Plain};
    let expected = [Plain, Plain, Audited, Plain, Plain, Audited, Audited];
    let rare = rare();
    for (der, expected) in rare.iter().zip(expected) {
        assert_eq!(check(&pem(der)), Some(expected), "{der:x?}");
        assert_eq!(libgnutls::trust(&pem(der)), (1, usize::from(expected == Audited)), "{der:x?}");
    }
    let both = [pem(&rare[0]), pem(&rare[2])].concat();
    assert_eq!(check(&both), Some(Audited));
}

#[test]
fn what_is_outside() {
    let template = template();
    let outside = |der: &[u8]| {
        let store = RootStore::from_pem(&pem(der)).unwrap_or_else(|error| panic!("{error}: {der:x?}"));
        assert_eq!(windlass_gnutls::profile(&store), GnutlsProfile::Outside, "{der:x?}");
    };
    let with_issuer_names = |names: &[u8]| {
        outside(&with_extensions(&template, &[(BASIC_CONSTRAINTS, OF_A_CA), (18, names)]));
    };
    // GnuTLS refuses these too.
    with_issuer_names(b"anything");
    with_issuer_names(b"\x30\x02\x81\0");
    with_issuer_names(b"\x30\x04\xA4\x02\x30\0");
    with_issuer_names(b"\x30\x06\xA4\x04\x30\x02\x31\0");
    with_issuer_names(b"\x30\x10\xA4\x0E\x30\x0C\x31\x0A\x30\x08\x06\x02\0\x80\x0C\x02CA");
    let mut other_algorithm = template.clone();
    let copy = other_algorithm.children()[0].children()[2].clone();
    other_algorithm.children()[1] = copy;
    other_algorithm.children()[1].children()[0] = Node::bytes(der::OID, b"\x2A\x03".as_slice());
    assert!(libgnutls::load(&pem(&other_algorithm.encode())).is_err());
    outside(&other_algorithm.encode());
    // The behaviour for these is unknown.
    with_issuer_names(b"\x30\x03\x88\x01\x2A");
    with_issuer_names(b"\x30\0");
    let mut before_1970 = template.clone();
    *before_1970.children()[0].children()[VALIDITY].children() =
        vec![Node::bytes(UTC_TIME, b"691231235959Z".as_slice()), Node::bytes(UTC_TIME, b"491231235959Z".as_slice())];
    outside(&before_1970.encode());
    let mut nameless = template.clone();
    nameless.children()[0].children()[SUBJECT] = Node::nodes(der::SEQUENCE, Vec::new());
    outside(&nameless.encode());
}

#[test]
fn changed_text() {
    run(4_000, 1, 30, |rng, samples| {
        let mut text = Vec::new();
        for _ in 0..rng.usize(1..=2) {
            if rng.bool() {
                text.extend_from_slice(b"# A comment\nwith: lines\n\n---- BEGIN CERTIFICATE END\n");
            }
            text.extend(pem(rng.choice(samples).unwrap()));
        }
        edit(rng, &mut text);
        text
    });
}

/// Moves, joins, splits and drops lines, changes their ends, and inserts lines with a meaning to GnuTLS.
#[test]
fn changed_lines() {
    run(4_000, 2, 20, |rng, samples| {
        let first = pem(rng.choice(samples).unwrap());
        let second = pem(rng.choice(samples).unwrap());
        let text = [b"comment\n".as_slice(), &first, b"\n", &second].concat();
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        let crlf = rng.u8(0..4) == 0;
        for line in lines.iter_mut().filter(|_| crlf) {
            line.pop();
            line.extend(b"\r\n");
        }
        for _ in 0..rng.usize(1..=2) {
            let place = rng.usize(0..lines.len());
            match rng.u8(0..6) {
                0 => drop(lines.remove(place)),
                1 => {
                    let other = rng.usize(0..lines.len());
                    lines.swap(place, other);
                }
                2 => {
                    let at = rng.usize(0..lines[place].len());
                    lines[place].insert(at, b'\n');
                }
                3 => drop(lines[place].pop()),
                4 => {
                    let ends: &[u8] = rng.choice([&b" "[..], b"\t", b"\r", b"\0", b"=", b"-", b"-----"]).unwrap();
                    let end = lines[place].len() - 1;
                    lines[place].splice(end..end, ends.iter().copied());
                }
                _ => {
                    let dashes = rng.choice(["-----", "----", "------", "x -----"]).unwrap();
                    let word = rng.choice(["BEGIN ", "END ", "BEGIN X509 ", "BEGIN", "END", "begin "]).unwrap();
                    let label = rng.choice(["CERTIFICATE", "CERTIFICATE REQUEST", "X509 CRL", "KEY", ""]).unwrap();
                    lines.insert(place, format!("{dashes}{word}{label}-----\n").into_bytes());
                }
            }
            if lines.is_empty() || lines.iter().any(Vec::is_empty) {
                break;
            }
        }
        lines.concat()
    });
}

#[test]
fn changed_nodes_of_a_certificate() {
    run(6_000, 3, 20, |rng, samples| {
        let mut root = Node::parse(rng.choice(samples).unwrap());
        for _ in 0..rng.usize(1..=2) {
            change_node(rng, &mut root);
        }
        pem(&root.encode())
    });
}

/// Every pair of tag and content at every place of the tree: one in sixteen, or all with a factor of sixteen.
#[test]
fn every_tag_and_content_at_every_place() {
    let sample = samples().remove(0);
    let places = Node::parse(&sample).count();
    let mut rng = Rng::with_seed(support::seed());
    let mut inside = 0;
    for place in 0..places {
        for tag in TAGS {
            for content in CONTENTS {
                if rng.u64(0..16) >= support::factor() {
                    continue;
                }
                let mut root = Node::parse(&sample);
                *root.at(place) = Node::bytes(tag, content);
                inside += usize::from(check(&pem(&root.encode())).is_some());
            }
        }
    }
    assert!(inside > 10, "{inside}");
}

/// The values of the extensions that GnuTLS looks into are bytes to a tree of the certificate.
#[test]
fn changed_values_of_extensions() {
    let (template, names) = (template(), names());
    run(6_000, 4, 20, |rng, _| {
        let mut names = Node::parse(&names);
        let mut constraints = Node::parse(OF_A_CA);
        let arc = rng.choice(ALTERNATIVE_NAMES).unwrap();
        match rng.u8(0..8) {
            0 => constraints.children()[0] = Node::bytes(BOOLEAN, [rng.u8(..)]),
            1 => change_node(rng, &mut constraints),
            2 => drop(names.children().remove(rng.usize(0..5))),
            _ => change_node(rng, &mut names),
        }
        pem(&with_extensions(&template, &[(arc, &names.encode()), (BASIC_CONSTRAINTS, &constraints.encode())]))
    });
}

/// An OBJECT IDENTIFIER with parts of all sizes.
fn object_identifier(rng: &mut Rng) -> Vec<u8> {
    let mut content = Vec::new();
    for _ in 0..rng.usize(1..30) {
        let most = if rng.u8(0..4) == 0 { 12 } else { 2 };
        for _ in 1..rng.usize(1..=most) {
            content.push(rng.u8(0x81..));
        }
        content.push(rng.u8(..0x80));
    }
    content
}

/// Wherever libtasn1 makes a text of an OBJECT IDENTIFIER.
#[test]
fn object_identifiers_and_times() {
    run(6_000, 5, 20, |rng, samples| {
        let mut root = Node::parse(rng.choice(samples).unwrap());
        let oid = object_identifier(rng);
        let tbs = root.children()[0].children();
        let start = tbs.len().min(LAST) - 6;
        match rng.u8(0..5) {
            0 => {
                tbs[start + 1].children()[0] = Node::bytes(der::OID, oid.as_slice());
                root.children()[1].children()[0] = Node::bytes(der::OID, oid.as_slice());
            }
            place @ 1..=2 => {
                let name = der::name(&[vec![(oid, 0x0C, b"value".to_vec())]]);
                tbs[start + if place == 1 { 2 } else { 4 }] = Node::parse(&name);
            }
            3 => {
                let [from, to] = [(); 2].map(|()| rng.u32(1900..3000));
                let time = |year: u32| match rng.choice([UTC_TIME, GENERALIZED_TIME]).unwrap() {
                    UTC_TIME => Node::bytes(UTC_TIME, format!("{:02}0228235959Z", year % 100).as_bytes()),
                    _ => Node::bytes(GENERALIZED_TIME, format!("{year}0101000000Z").as_bytes()),
                };
                *tbs[start + 3].children() = [from, to].map(time).into();
            }
            _ => {
                if let Some(Content::Nodes(explicit)) = tbs.get_mut(LAST).map(|node| &mut node.content) {
                    let extensions = explicit[0].children();
                    let place = rng.usize(0..extensions.len());
                    extensions[place].children()[0] = Node::bytes(der::OID, oid);
                }
            }
        }
        pem(&root.encode())
    });
}
