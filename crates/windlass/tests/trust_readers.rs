//! What readers of trust make of odd files, as p11-kit-trust 0.24 to 0.26 does: distrust is never lost. Where p11-kit may see distrust
//! and this crate can't, the place can't be read. adapters/pkcs11/tests/reader_mutation.rs compares both on thousands of places.

mod support;

use std::fs;
use std::path::Path;

use support::{certificates, pem};
use windlass::trust::{DistrustAfter, Purpose, TrustLocation, Verdict};
use windlass::{Config, TrustCache};

const HEADER: &str = "[p11-kit-object-v1]\n";

/// One certificate.
fn der() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-cli/tests/fixtures/rsa.pem");
    certificates(&fs::read(path).unwrap()).remove(0)
}

/// The same with a length of five octets, which libtasn1 reads.
fn ber() -> Vec<u8> {
    let der = der();
    assert_eq!(der[..2], [0x30, 0x82]);
    [b"\x30\x85\0\0\0", &der[2..]].concat()
}

fn text(der: &[u8]) -> String {
    String::from_utf8(pem(der)).unwrap()
}

fn quoted(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// For each certificate whether it is trusted and whether it is distrusted; None if the place can't be read.
fn read(name: &str, file: impl AsRef<[u8]>) -> Option<Vec<(bool, bool)>> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, file).unwrap();
    let store = TrustLocation::new(place.path().to_owned()).load(&TrustCache::new(Config::default(), None)).ok()?;
    let all = (0..store.len()).map(|number| store.certificate(number).unwrap());
    Some(all.map(|certificate| (certificate.is_trusted(), certificate.is_distrusted())).collect())
}

const ANCHOR: (bool, bool) = (true, false);
const DISTRUSTED: (bool, bool) = (false, true);

#[test]
fn what_a_file_of_p11_kit_s_own_format_takes_away() {
    let der = der();
    let block = text(&der);
    for line in [
        "",
        "label:\n",
        "java-midp-security-domain: -1\n",
        "start-date: 99999999999999999999\n",
        "certificate-category: \n",
        "3: \"x\"\n",
        ": certificate\n",
    ] {
        let file = format!("{HEADER}x-distrusted: true\n{line}{block}");
        assert_eq!(read("anchors/x", &file), Some(vec![DISTRUSTED]), "{line}");
        assert_eq!(read("x", &file), Some(vec![DISTRUSTED]), "{line}");
    }
    // p11-kit stops at what it does not take, and has what was before.
    for object in [
        "class: profile\n",
        "label: \"no class\"\n",
        "class: certificate\ncertificate-type: x-509\nmodulus-bits: 1\n",
        "",
    ] {
        let file = |first: &str, then: &str| format!("{HEADER}{first}{HEADER}{then}");
        let distrusted = format!("x-distrusted: true\n{block}");
        assert_eq!(read("anchors/x", file(&distrusted, object)), Some(vec![DISTRUSTED]), "{object}");
        assert_eq!(read("anchors/x", file(object, &block)), Some(vec![]), "{object}");
    }
    // Words that another version may know, values of the wrong type.
    for line in
        ["new-attribute: 1\n", "key-type: new-key\n", "trusted: 1\n", "x-distrusted: \"x\"\n", "1073742353: true\n"]
    {
        assert_eq!(read("anchors/x", format!("{HEADER}x-distrusted: true\n{line}{block}")), None, "{line}");
    }
    // Damage that p11-kit finds as well makes it PEM.
    for line in ["no colon\n", "id: \"%gg\"\n", "[x\n"] {
        let file = format!("{HEADER}x-distrusted: true\n{line}{block}");
        assert_eq!(read("anchors/x", file), Some(vec![ANCHOR]), "{line}");
    }
    let named = format!("class: certificate\ncertificate-type: x-509\nvalue: {}\n", quoted(&ber()));
    assert_eq!(read("anchors/x", format!("{HEADER}{named}")), Some(vec![]));
    assert_eq!(read("blocklist/x", format!("{HEADER}{named}")), None);
    assert_eq!(read("anchors/x", format!("{HEADER}{named}x-distrusted: true\n")), None);
}

#[test]
fn certificates_that_are_not_der() {
    let (der, ber) = (der(), ber());
    let line = [&der[..], b"\n"].concat();
    let trusted = |der: &[u8]| text(der).replace("BEGIN ", "BEGIN TRUSTED ").replace("END ", "END TRUSTED ");
    for (name, file, expected) in [
        ("blocklist/b", der.clone(), Some(vec![DISTRUSTED])),
        ("blocklist/b", ber.clone(), None),
        ("blocklist/b", pem(&ber), None),
        ("anchors/b", ber.clone(), Some(vec![])),
        ("anchors/b", pem(&ber), Some(vec![])),
        // p11-kit reads nothing of these.
        ("blocklist/b", line, Some(vec![])),
        ("blocklist/b", der[..der.len() - 1].to_vec(), Some(vec![])),
        ("blocklist/b", b"0 text\n".to_vec(), Some(vec![])),
        // For OpenSSL it is trusted for what its trust settings say.
        ("b", trusted(&[&der[..], b"\x30\x00"].concat()).into_bytes(), Some(vec![DISTRUSTED])),
        ("b", trusted(&[&ber[..], b"\x30\x00"].concat()).into_bytes(), None),
        ("b", trusted(&[&der[..], b"\x30\x80\0\0"].concat()).into_bytes(), None),
    ] {
        assert_eq!(read(name, &file), expected, "{name} {}", file[..60.min(file.len())].escape_ascii());
    }
}

#[test]
fn blocks_as_p11_kit_finds_them() {
    let block = text(&der());
    let both = [&block[..block.len() - 1], &block[5..]].concat();
    assert_eq!(read("blocklist/b", both), Some(vec![DISTRUSTED; 2]));
    assert_eq!(read("blocklist/b", block.replace("\n-----END", "\n\0-----END")), Some(vec![]));
    assert_eq!(read("blocklist/b", format!("\0{block}")), Some(vec![]));
    assert_eq!(read("anchors/b", format!("{block}\0{block}")), Some(vec![ANCHOR]));
}

#[test]
fn days_and_extensions_that_can_t_be_read() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("anchors")).unwrap();
    let write =
        |lines: &str| fs::write(place.path().join("anchors/x"), format!("{HEADER}{lines}{}", text(&der()))).unwrap();
    let load = || TrustLocation::new(place.path().to_owned()).load(&TrustCache::new(Config::default(), None));
    write("nss-server-distrust-after: \"240230000000Z\"\nnss-email-distrust-after: true\n");
    let store = load().unwrap();
    let certificate = store.certificate(0).unwrap();
    let unreadable = |text: &[u8]| DistrustAfter::Unreadable { text: text.into() };
    assert_eq!(certificate.server_distrust_after(), Some(&unreadable(b"240230000000Z")));
    assert_eq!(certificate.email_distrust_after(), Some(&unreadable(&[1])));
    let (key, server) = (
        quoted(certificate.spki().unwrap()),
        b"\x06\x03\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x04",
    );
    let staple = |header: &[u8]| {
        let value = quoted(&[header, server].concat());
        write(&format!("class: x-certificate-extension\nvalue: {value}\npublic-key-info: {key}\n{HEADER}"));
        load().ok().map(|store| store.statement(store.statements_end() - 1).unwrap().verdict(Purpose::ServerAuth))
    };
    assert_eq!(staple(b"\x30\x13"), Some(Verdict::Unknown), "limited to e-mail");
    assert_eq!(staple(b"\x30\x81\x13"), None, "BER");
}
