//! Canonical names and both subject hashes against libcrypto's own.

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use support::der::{self, Entry, common_name};
use support::libcrypto::DecodedName;
use windlass::{CanonicalName, RawName, subject_hash_old};

const UTF8: u8 = 0x0C;
const NUMERIC: u8 = 0x12;
const PRINTABLE: u8 = 0x13;
const T61: u8 = 0x14;
const IA5: u8 = 0x16;
const UNIVERSAL: u8 = 0x1C;
const BMP: u8 = 0x1E;

/// Characters with a special treatment in canonicalisation, and some that only look like them.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => prop::char::range('a', 'e'),
        4 => prop::char::range('A', 'E'),
        4 => Just(' '),
        2 => prop::sample::select(vec![
            '\t', '\n', '\u{b}', '\u{c}', '\r', '\0', '\u{1f}', '\u{7f}',
            '@', '[', '`', '{', 'Z', 'z',
        ]),
        2 => prop::sample::select(vec![
            '\u{85}', '\u{a0}', 'É', 'é', 'ß', 'ÿ', '\u{ff}', '\u{80}',
            'İ', '\u{2003}', '\u{3000}',
        ]),
        1 => prop::sample::select(vec![
            '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', '\u{10ffff}', '\u{7ff}', '\u{800}', '😀',
        ]),
        1 => any::<char>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    vec(character(), 0..24).prop_map(String::from_iter)
}

/// A text in one of the types that are supported, as far as it fits.
fn encoded(text: &str, tag: u8) -> Option<Vec<u8>> {
    match tag {
        UTF8 => Some(text.as_bytes().to_vec()),
        PRINTABLE | IA5 | T61 => text.chars().map(|c| u8::try_from(c).ok()).collect(),
        BMP => text
            .chars()
            .map(|c| u16::try_from(u32::from(c)).ok().map(u16::to_be_bytes))
            .collect::<Option<Vec<_>>>()
            .map(|units| units.concat()),
        UNIVERSAL => Some(text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect()),
        _ => Some(text.as_bytes().to_vec()),
    }
}

fn tag() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![UTF8, NUMERIC, PRINTABLE, T61, IA5, UNIVERSAL, BMP])
}

fn oid() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::sample::select(vec![vec![0x55, 4, 3], vec![0x55, 4, 10], vec![0x55, 4, 6]]),
        1 => Just(vec![0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1]),
        1 => vec(1u8..0x80, 1..20),
        1 => Just(vec![0x88, 0x37, 0x81, 0x80, 0x80, 0x01]),
    ]
}

fn valid_entry() -> impl Strategy<Value = Entry> {
    (oid(), tag(), text()).prop_map(|(oid, tag, text)| match encoded(&text, tag) {
        Some(value) => (oid, tag, value),
        None => (oid, UTF8, text.into_bytes()),
    })
}

fn valid_name() -> impl Strategy<Value = Vec<Vec<Entry>>> {
    vec(prop_oneof![3 => vec(valid_entry(), 1), 1 => vec(valid_entry(), 1..5)], 0..6)
}

/// Any tag and any content.
fn wild_entry() -> impl Strategy<Value = Entry> {
    let value = prop_oneof![vec(any::<u8>(), 0..12), text().prop_map(String::into_bytes)];
    let oid = prop_oneof![3 => oid(), 1 => vec(any::<u8>(), 0..6)];
    (oid, prop_oneof![3 => tag(), 1 => 0u8..0x40], value)
}

fn canonical(der: &[u8]) -> Option<CanonicalName> {
    CanonicalName::from_raw(RawName::from_der(der).ok()?).ok()
}

/// If this crate has a canonical form, libcrypto has the same one.
fn assert_as_libcrypto(der: &[u8]) {
    let Some(ours) = canonical(der) else { return };
    let theirs = DecodedName::new(der).expect("libcrypto takes every name that this crate takes");
    assert_eq!(ours.subject_hash().0, theirs.hash());
    assert_eq!(subject_hash_old(RawName::from_der(der).unwrap()).0, theirs.hash_old());
    // The canonical form with its SEQUENCE is a name again, whose canonical form is itself. libcrypto compares whole
    // encodings, so this tells more than 32 bits of hash.
    let again = der::Node::bytes(der::SEQUENCE, ours.as_bytes()).encode();
    assert!(DecodedName::new(&again).unwrap().equals(&theirs));
    assert_eq!(canonical(&again), Some(ours));
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases * u32::try_from(support::factor()).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn supported_names_are_taken_and_hash_alike(rdns in valid_name()) {
        let der = der::name(&rdns);
        prop_assert!(canonical(&der).is_some());
        assert_as_libcrypto(&der);
    }

    #[test]
    fn whatever_is_taken_hashes_alike(rdns in vec(vec(wild_entry(), 0..3), 0..4)) {
        assert_as_libcrypto(&der::name(&rdns));
    }

    #[test]
    fn bytes_at_random_places(
        rdns in valid_name(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut der = der::name(&rdns);
        for (place, byte) in changes {
            let place = place.index(der.len());
            der[place] = byte;
        }
        assert_as_libcrypto(&der);
    }

    #[test]
    fn equal_if_and_only_if_libcrypto_says_so(a in text(), b in text(), tags in (tag(), tag()), same in any::<bool>()) {
        let b = if same { a.to_ascii_uppercase().replace(' ', "  ") } else { b };
        let name = |text: &str, tag| Some(common_name(tag, &encoded(text, tag)?));
        if let (Some(a), Some(b)) = (name(&a, tags.0), name(&b, tags.1)) {
            let theirs = DecodedName::new(&a).unwrap().equals(&DecodedName::new(&b).unwrap());
            prop_assert_eq!(canonical(&a).unwrap() == canonical(&b).unwrap(), theirs);
        }
    }
}

#[test]
fn the_empty_name_has_an_empty_form() {
    let name = canonical(&[0x30, 0]).unwrap();
    assert_eq!(name.as_bytes(), b"");
    assert_eq!(name.subject_hash().to_string(), "eea339da");
    assert_as_libcrypto(&[0x30, 0]);
}

#[test]
fn one_name_written_out() {
    let name = canonical(&common_name(PRINTABLE, b" \tFoo \n BAR ")).unwrap();
    assert_eq!(name.as_bytes(), b"\x31\x10\x30\x0e\x06\x03\x55\x04\x03\x0c\x07foo bar");
}

#[test]
fn entries_of_an_rdn_are_sorted_and_rdns_are_not() {
    let entry = |oid: u8, text: &str| (vec![0x55, 4, oid], UTF8, text.as_bytes().to_vec());
    let (a, b) = (entry(3, "a"), entry(10, "b"));
    let set = |entries: &[&Entry]| canonical(&der::name(&[entries.iter().map(|&e| e.clone()).collect()]));
    assert_eq!(set(&[&a, &b]), set(&[&b, &a]));
    assert_ne!(
        canonical(&der::name(&[vec![a.clone()], vec![b.clone()]])),
        canonical(&der::name(&[vec![b.clone()], vec![a.clone()]]))
    );
    for rdn in [
        vec![a.clone(), b.clone()],
        vec![b.clone(), a.clone()],
        vec![a.clone(), a],
        vec![entry(3, "aa"), entry(3, "a"), b],
    ] {
        assert_as_libcrypto(&der::name(&[rdn]));
    }
}

#[test]
fn every_length_of_a_length() {
    for len in [0, 1, 0x6F, 0x70, 0x7F, 0x80, 0xEF, 0xFF, 0x100, 0x1000, 0xFFF0, 0xFFFF, 0x10000, 0x7_0000] {
        for tag in [UTF8, T61] {
            let name = common_name(tag, &vec![b'x'; len]);
            assert!(canonical(&name).is_some(), "{len}");
            assert_as_libcrypto(&name);
        }
        // Each byte becomes two.
        let name = common_name(T61, &vec![0xE9; len]);
        assert!(canonical(&name).is_some(), "{len}");
        assert_as_libcrypto(&name);
    }
}

#[test]
fn the_largest_name() {
    // X509_NAME_MAX is 1 MiB for all of it; the headers around this value have 25 bytes.
    let whole = common_name(UTF8, &vec![b'X'; (1 << 20) - 25]);
    assert_eq!(whole.len(), 1 << 20);
    assert!(canonical(&whole).is_some());
    assert_as_libcrypto(&whole);
    let larger = common_name(UTF8, &vec![b'X'; (1 << 20) - 24]);
    assert!(DecodedName::new(&larger).is_none());
    assert!(canonical(&larger).is_none());
}

#[test]
fn what_is_not_taken() {
    let refused: &[(&str, Vec<u8>)] = &[
        ("nothing", vec![]),
        ("not a sequence", vec![0x31, 0]),
        ("trailing byte", vec![0x30, 0, 0]),
        ("indefinite length", vec![0x30, 0x80, 0, 0]),
        ("long form of a short length", vec![0x30, 0x81, 0]),
        ("empty RDN", vec![0x30, 2, 0x31, 0]),
        ("surrogate in BMPString", common_name(BMP, &[0xD8, 0, 0xDC, 0])),
        ("odd BMPString", common_name(BMP, &[0, 65, 0])),
        ("odd UniversalString", common_name(UNIVERSAL, &[0, 0, 0, 65, 0])),
        ("beyond Unicode", common_name(UNIVERSAL, &[0, 0x11, 0, 0])),
        ("surrogate in UTF-8", common_name(UTF8, &[0xED, 0xA0, 0x80])),
        ("five bytes of UTF-8", common_name(UTF8, &[0xF8, 0x88, 0x80, 0x80, 0x80])),
        ("overlong UTF-8", common_name(UTF8, &[0xC0, 0x80])),
        ("VisibleString", common_name(0x1A, b"x")),
        ("BIT STRING", common_name(0x03, &[0, 1])),
        ("constructed string", common_name(0x2C, &[0x0C, 1, b'x'])),
        ("empty OID", der::name(&[vec![(vec![], UTF8, b"x".to_vec())]])),
        ("cut OID", der::name(&[vec![(vec![0x55, 0x84], UTF8, b"x".to_vec())]])),
        ("padded OID", der::name(&[vec![(vec![0x55, 0x80, 4], UTF8, b"x".to_vec())]])),
    ];
    for (what, der) in refused {
        assert!(canonical(der).is_none(), "{what}");
    }
}
