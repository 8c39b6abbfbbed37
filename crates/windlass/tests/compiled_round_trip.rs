//! A compiled store that is read back gives the same answers as the store that was built from PEM.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use support::answers::{assert_same, check_by_search};
use support::child::in_child;
use support::der::{self, Node};
use support::stores::{self, Bench, COMPILED, certificate, certificate_of, image, pem_of, template};
use support::{judge, libcrypto, pem};
use windlass::compiled::{self, Overwrite};
use windlass::{CanonicalName, RootStore, Source};

#[test]
fn debians_bundle() {
    let bench = Bench::new();
    let bundle = support::bundle();
    let source = bench.source(&bundle);
    bench.compile(&source);
    assert_eq!(bench.expect(&source, &bundle), COMPILED);
    let store = bench.load(&source).unwrap();
    // And libcrypto, which has never seen our readers.
    let ders: Vec<&[u8]> = store.anchors().map(|anchor| anchor.der()).collect();
    assert_eq!(ders, libcrypto::load(&bundle).unwrap());
    store.anchors().for_each(|anchor| judge::assert_facts(anchor, String::new));
}

#[test]
fn shared_subjects_duplicates_and_one_alone() {
    let template = template();
    let [a, b, c, d] = [("A", 1), ("A", 2), (" a ", 3), ("B", 4)].map(|(name, n)| certificate(&template, name, n));
    let nameless = certificate_of(&template, &Node::nodes(der::SEQUENCE, Vec::new()).encode(), 5);
    let mut keyless = Node::parse(&d);
    keyless.children()[0].children().truncate(7);
    let keyless = keyless.encode();
    for certificates in [
        vec![&a],
        vec![&nameless],
        vec![&keyless],
        vec![&a, &a],
        vec![&a, &b],
        vec![&d, &a, &b, &a, &d, &keyless, &nameless, &c, &b, &nameless],
    ] {
        let bench = Bench::new();
        let text = pem_of(certificates);
        let source = bench.source(&text);
        bench.compile(&source);
        assert_eq!(bench.expect(&source, &text), COMPILED);
        check_by_search(&bench.load(&source).unwrap());
    }
}

#[test]
fn hashed_directories() {
    let template = template();
    let make = |name, serial| certificate(&template, name, serial);
    let bench = Bench::new();
    let certs = bench.path("certs");
    fs::create_dir(&certs).unwrap();
    fs::write(certs.join("00000002.0"), pem(&make("C", 1))).unwrap();
    fs::write(certs.join("00000001.0"), pem_of(&[make("A", 1), make("B", 1), make("A", 1)])).unwrap();
    fs::write(certs.join("00000001.1"), pem_of(&[make("A", 2)])).unwrap();
    fs::write(bench.path("elsewhere.pem"), pem(&make("D", 1))).unwrap();
    symlink("../elsewhere.pem", certs.join("ffffffff.0")).unwrap();
    fs::write(certs.join("00000003.1"), "behind a gap").unwrap();
    let text = pem_of(&[make("A", 1), make("B", 1), make("A", 1), make("A", 2), make("C", 1), make("D", 1)]);
    let source = Source::Capath(certs);
    let path = bench.compile(&source);
    assert_eq!(bench.expect(&source, &text), COMPILED);
    check_by_search(&bench.load(&source).unwrap());
    let description = compiled::inspect(&path).unwrap();
    assert_eq!((description.files, description.anchors), (4, 6));
    assert_eq!(description.source, source);
    assert_eq!(description.source_bytes, text.len() as u64);
    assert!(matches!(description.freshness(None), compiled::Freshness::Fresh));
}

#[test]
fn the_machines_own_directory() {
    let bench = Bench::new();
    let source = Source::Capath("/etc/ssl/certs".into());
    // Files of the machine's image have times that its builder wrote: in that case only the content decides.
    let image = compiled::compile(&source, None, None).unwrap();
    compiled::write(&bench.stores, &image, Overwrite::Forced).unwrap();
    let before = bench.counts();
    let ours = bench.load(&source).unwrap();
    if image.is_believed() {
        assert_eq!(bench.changed_since(&before), COMPILED);
    }
    let built = windlass::TrustCache::new(windlass::Config::default(), None).load(&source).unwrap();
    assert_same(&ours, &built);
}

const SECTIONS: usize = 9;

/// Where each section begins and ends.
fn sections(bytes: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    (0..SECTIONS)
        .map(|section| number(64 + 16 * section)..)
        .map(|start| &bytes[start])
        .zip(0..SECTIONS)
        .map(|(rest, section)| &rest[..number(72 + 16 * section)])
        .collect()
}

#[test]
fn the_same_bytes_each_time() {
    let bench = Bench::new();
    let source = bench.source(&support::bundle());
    let first = image(&source);
    assert_eq!(first.bytes(), image(&source).bytes());
    // In another process, whose hash maps have other keys.
    let copy = bench.path("copy");
    in_child(|| fs::write(&copy, image(&source).bytes()).unwrap());
    assert_eq!(first.bytes(), fs::read(&copy).unwrap());
    // Through the writer.
    assert_eq!(first.bytes(), fs::read(bench.compile(&source)).unwrap());
}

/// File systems list a directory in any order. The state of the files is the only thing that can tell two directories
/// apart.
#[test]
fn the_same_bytes_whatever_the_order_of_a_directory() {
    let bench = Bench::new();
    let template = template();
    let files: Vec<(String, Vec<u8>)> = (0..40)
        .map(|n| (format!("{:08x}.{}", n / 3, n % 3), pem(&certificate(&template, &format!("CA {}", n % 7), n % 5))))
        .collect();
    let fill = |path: &Path, files: &mut dyn Iterator<Item = &(String, Vec<u8>)>| {
        fs::create_dir(path).unwrap();
        files.for_each(|(name, text)| fs::write(path.join(name), text).unwrap());
        Source::Capath(path.to_owned())
    };
    let forward = image(&fill(&bench.path("certs-1"), &mut files.iter()));
    let backward = image(&fill(&bench.path("certs-2"), &mut files.iter().rev()));
    let (forward, backward) = (sections(forward.bytes()), sections(backward.bytes()));
    assert_eq!(
        forward.iter().map(|part| part.len()).sum::<usize>() + 64 + SECTIONS * 16,
        image(&Source::Capath(bench.path("certs-1"))).bytes().len()
    );
    assert_ne!(forward[1], backward[1]);
    assert_eq!(forward[2..], backward[2..]);
}

/// Few names, so that they are shared, in forms that OpenSSL takes for the same, and few serial numbers, so that there
/// are duplicates.
fn collection() -> impl Strategy<Value = Vec<(String, u8, u32)>> {
    let name = prop_oneof!["[ab]", " [ab] ", "[AB]", "[a-d]{2}", Just(String::new()), "\\PC{1,20}"];
    prop::collection::vec((name, prop_oneof![Just(0x0C), Just(0x13)], 0..3u32), 1..20)
}

#[test]
fn collections_at_random() {
    let template = template();
    let config =
        ProptestConfig { cases: 12 * support::factor() as u32, failure_persistence: None, ..Default::default() };
    // Several at a time, because a compiled store has to wait until its source is old enough.
    proptest!(config, |(collections in prop::collection::vec(collection(), 1..10))| {
        let bench = Bench::new();
        let sources: Vec<_> = collections.iter().enumerate().map(|(number, collection)| {
            let certificates: Vec<_> = collection.iter().map(|(name, tag, serial)| {
                let tag = if name.is_ascii() { *tag } else { 0x0C };
                certificate_of(&template, &der::common_name(tag, name.as_bytes()), *serial)
            }).collect();
            let text = pem_of(&certificates);
            let path = bench.path(&format!("{number}.pem"));
            fs::write(&path, &text).unwrap();
            (Source::Cafile(path), text)
        }).collect();
        for (source, text) in &sources {
            let Ok(built) = RootStore::from_pem(text) else {
                // A name of a form that is not supported.
                prop_assert!(compiled::compile(source, None, None).is_err());
                continue;
            };
            let image = image(source);
            assert_same(image.store(), &built);
            compiled::write(&bench.stores, &image, Overwrite::Guarded).unwrap();
            prop_assert_eq!(bench.expect(source, text), COMPILED);
            check_by_search(&bench.load(source).unwrap());
        }
    });
}

#[test]
fn names_of_other_forms_find_what_they_are() {
    let bench = Bench::new();
    let template = template();
    let text = pem_of(&[certificate(&template, "Some CA", 1), certificate(&template, "SOME  ca", 2)]);
    let source = bench.source(&text);
    bench.compile(&source);
    let store = bench.load(&source).unwrap();
    let name = stores::name(" some cA ");
    let name = windlass::RawName::from_der(&name).unwrap();
    assert_eq!(store.by_subject(&CanonicalName::from_raw(name).unwrap()).count(), 2);
    assert_eq!(store.by_raw_subject(name).count(), 0);
}
