//! The GnuTLS profile in a compiled store: read from the file if the same rules computed it, otherwise computed again.

#[path = "../../windlass/tests/support/mod.rs"]
mod support;

use std::fs;

use support::stores::{Bench, COMPILED, certificate, pem_of, template};
use windlass::compiled::{self, Overwrite};
use windlass_gnutls::GnutlsProfile::{self, Audited, Outside, Plain};
use windlass_gnutls::{FINDING, profile};
use xxhash_rust::xxh3::xxh3_128;

const CHECKED_FROM: usize = 40;
const ANSWER: usize = 45;
const RULES: usize = 46;

fn seal(bytes: &mut [u8]) {
    let checksum = xxh3_128(&bytes[CHECKED_FROM..]);
    bytes[24..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn the_answer_is_believed_if_the_rules_are_the_same() {
    let bench = Bench::new();
    let template = template();
    let mut no_ca = template.clone();
    no_ca.children()[0].children().truncate(7);
    let mut nameless = template.clone();
    nameless.children()[0].children()[5].children().clear();
    let [no_ca, nameless] = [no_ca.encode(), nameless.encode()];
    let ca = certificate(&template, "CA", 1);
    let files: [(&[&Vec<u8>], GnutlsProfile); 4] =
        [(&[&ca], Plain), (&[&ca, &no_ca], Audited), (&[&nameless], Outside), (&[&no_ca, &nameless, &ca], Outside)];
    for (certificates, expected) in files {
        let pem = pem_of(certificates.iter().copied());
        let source = bench.source(&pem);
        let image = compiled::compile(&source, None, Some(&FINDING)).unwrap();
        let path = compiled::write(&bench.stores, &image, Overwrite::Forced).unwrap().path;
        let written = fs::read(&path).unwrap();
        assert_eq!(written[ANSWER], expected as u8);

        let ours = u16::from_le_bytes([written[RULES], written[RULES + 1]]);
        assert_eq!(ours, FINDING.rules);
        for rules in [0, ours, ours + 1, ours << 8, u16::MAX] {
            for answer in [Outside, Audited, Plain] {
                let mut bytes = written.clone();
                bytes[ANSWER] = answer as u8;
                bytes[RULES..RULES + 2].copy_from_slice(&rules.to_le_bytes());
                seal(&mut bytes);
                fs::write(&path, bytes).unwrap();
                let before = bench.counts();
                let store = bench.load(&source).unwrap();
                assert_eq!(bench.changed_since(&before), COMPILED);
                let wanted = if rules == ours { answer } else { expected };
                assert_eq!(profile(&store), wanted, "{answer:?} by rules {rules}");
            }
        }
        // Not a result of these rules: computed again.
        for answer in [3, 4, 0x80, 0xFF] {
            let mut bytes = written.clone();
            bytes[ANSWER] = answer;
            seal(&mut bytes);
            fs::write(&path, bytes).unwrap();
            assert_eq!(profile(&bench.load(&source).unwrap()), expected);
        }
        // No finding was requested when it was compiled.
        let image = compiled::compile(&source, None, None).unwrap();
        assert_eq!(image.bytes()[ANSWER..RULES + 2], [0; 3]);
        compiled::write(&bench.stores, &image, Overwrite::Forced).unwrap();
        assert_eq!(profile(&bench.load(&source).unwrap()), expected);
    }
}
