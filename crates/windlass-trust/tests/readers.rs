//! Unusual files are read as by p11-kit-trust 0.24 to 0.26: distrust is never lost. Where p11-kit may see distrust and
//! this crate can't, nothing is trusted. adapters/pkcs11/tests/reader_mutation.rs compares both on thousands of places.

#[path = "../../windlass/tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

use support::{certificates, pem};
use windlass::{Config, TrustCache};
use windlass_trust::{DistrustAfter, Purpose, TrustLocation, Verdict};

const HEADER: &str = "[p11-kit-object-v1]\n";

/// One certificate.
fn der() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/rsa.pem");
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

/// For each certificate, whether it is trusted and whether it is distrusted; and whether everything could be read.
fn told(name: &str, file: impl AsRef<[u8]>) -> (Vec<(bool, bool)>, bool) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, file).unwrap();
    let store = TrustLocation::new(place.path().to_owned()).load(&TrustCache::new(Config::default(), None));
    let all = (0..store.len()).map(|number| store.certificate(number).unwrap());
    let all = all.map(|certificate| (certificate.is_trusted(), certificate.is_distrusted())).collect();
    (all, store.fault().is_none())
}

/// The same; None if something can't be read, in which case nothing is trusted.
fn read(name: &str, file: impl AsRef<[u8]>) -> Option<Vec<(bool, bool)>> {
    let (all, is_whole) = told(name, file);
    assert!(is_whole || all.iter().all(|(trusted, _)| !trusted));
    is_whole.then_some(all)
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
    // p11-kit stops at an object that it refuses, and keeps the earlier ones.
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
    // Words that another version may know, and values of the wrong type.
    for line in
        ["new-attribute: 1\n", "key-type: new-key\n", "trusted: 1\n", "x-distrusted: \"x\"\n", "1073742353: true\n"]
    {
        let file = format!("{HEADER}{line}{block}{HEADER}x-distrusted: true\n{block}");
        assert_eq!(read("anchors/x", &file), None, "{line}");
        assert!(told("anchors/x", &file).0.contains(&DISTRUSTED), "what can be read still takes trust away: {line}");
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
        // p11-kit reads nothing from these.
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
    let store = load();
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
        let store = load();
        let verdict = store.statement(store.statements_end() - 1).unwrap().verdict(Purpose::ServerAuth);
        (verdict, store.fault().is_none())
    };
    assert_eq!(staple(b"\x30\x13"), (Verdict::Unknown, true), "limited to e-mail");
    assert_eq!(staple(b"\x30\x81\x13"), (Verdict::Unknown, false), "BER");
}

/// The statements of a place with these files.
fn store(files: &[(&str, Vec<u8>)]) -> std::sync::Arc<windlass_trust::TrustStore> {
    let place = tempfile::tempdir().unwrap();
    for (name, file) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    TrustLocation::new(place.path().to_owned()).load(&TrustCache::new(Config::default(), None))
}

/// The verdict that NSS finds for the certificate.
fn for_nss(store: &windlass_trust::TrustStore, der: &[u8]) -> Option<Verdict> {
    let root = windlass::RootStore::from_pem(&pem(der)).unwrap();
    let anchor = root.anchors().next().unwrap();
    let serial = [&[2, anchor.serial().len() as u8], anchor.serial()].concat();
    let found = store.statements_by_issuer_and_serial(anchor.raw_issuer().as_bytes(), &serial);
    Some(store.statement(*found.first()?).unwrap().verdict(Purpose::ServerAuth))
}

#[test]
fn what_can_be_read_beside_a_fault_takes_trust_away_and_gives_none() {
    let (der, ber) = (der(), ber());
    let anchor = ("anchors/one.pem", pem(&der));
    let distrusted = ("blocklist/one.pem", pem(&der));
    let typo = ("anchors/a.p11-kit", format!("{HEADER}lable: \"x\"\ntrusted: true\n{}", text(&der)).into_bytes());
    let other = ("blocklist/a.der", ber);
    for (files, verdict) in [
        (vec![anchor.clone()], Verdict::Anchor),
        (vec![anchor.clone(), typo.clone()], Verdict::Unknown),
        (vec![anchor.clone(), other.clone()], Verdict::Unknown),
        (vec![anchor.clone(), distrusted.clone(), typo], Verdict::Distrusted),
        (vec![anchor, distrusted, other], Verdict::Distrusted),
    ] {
        let store = store(&files);
        assert_eq!(store.fault().is_some(), files.len() > 1, "{files:?}");
        assert_eq!(for_nss(&store, &der), Some(verdict));
    }
}

#[test]
fn an_issuer_or_number_that_is_said_to_be_empty() {
    let der = der();
    let emptied = |field: &str, more: &str| format!("{HEADER}{more}{field}: \"\"\n{}", text(&der)).into_bytes();
    for field in ["issuer", "serial-number"] {
        let blocked = ("blocklist/b.p11-kit", emptied(field, ""));
        assert_eq!(
            for_nss(&store(&[("anchors/a.pem", pem(&der)), blocked]), &der),
            Some(Verdict::Distrusted),
            "{field}"
        );
        let trusted = store(&[("a.p11-kit", emptied(field, "trusted: true\n"))]);
        assert_eq!(for_nss(&trusted, &der), Some(Verdict::Unknown), "nobody finds it with p11-kit: {field}");
    }
}

#[test]
fn a_key_that_is_said_to_be_another_escapes_no_limit() {
    let der = der();
    let own = store(&[("anchors/a.pem", pem(&der))]);
    let key = quoted(own.certificate(0).unwrap().spki().unwrap());
    let no_ca = quoted(b"\x30\x09\x06\x03\x55\x1D\x13\x04\x02\x30\x00");
    let stapled = |key: &str| {
        format!("{HEADER}class: x-certificate-extension\nvalue: {no_ca}\npublic-key-info: {key}\n").into_bytes()
    };
    let said = |key: &str| format!("{HEADER}trusted: true\npublic-key-info: {key}\n{}", text(&der)).into_bytes();
    for (other, limited) in [("\"x\"", key.as_str()), ("\"x\"", "\"x\"")] {
        let store = store(&[("a.p11-kit", stapled(limited)), ("anchors/b.p11-kit", said(other))]);
        assert_eq!(store.certificate(0).unwrap().category(), windlass_trust::Category::OtherEntity, "{limited}");
        assert_eq!(for_nss(&store, &der), Some(Verdict::Trusted));
    }
}

#[test]
fn extensions_of_the_old_blocklist_allow_nothing() {
    let der = der();
    let key = quoted(store(&[("a.pem", pem(&der))]).certificate(0).unwrap().spki().unwrap());
    let [email, server] = [4, 1].map(|purpose| {
        let value =
            [&b"\x30\x13\x06\x03\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03"[..], &[purpose]]
                .concat();
        let value = quoted(&value);
        format!("{HEADER}class: x-certificate-extension\nvalue: {value}\npublic-key-info: {key}\n").into_bytes()
    });
    let limited = [("anchors/a.pem", pem(&der)), ("anchors/b", email)];
    assert_eq!(for_nss(&store(&limited), &der), Some(Verdict::Unknown));
    let old = [("anchors/a.pem", pem(&der)), ("blacklist/b", server)];
    assert_eq!(store(&old).stapled_len(), 0);
}

#[test]
fn a_file_by_the_name_of_a_directory_is_read_in_its_turn() {
    let der = der();
    let told = |files: &[(&str, Vec<u8>)]| {
        let store = store(files);
        let all = (0..store.len()).map(|number| store.certificate(number).unwrap().is_trusted());
        all.collect::<Vec<_>>()
    };
    assert_eq!(told(&[("anchors", pem(&der)), ("z.pem", pem(&der))]), [true, false]);
    assert_eq!(told(&[("anchors/z.pem", pem(&der)), ("a.pem", pem(&der))]), [false, true]);
}

#[test]
fn the_same_bytes_in_another_place_are_something_else() {
    let (der, place) = (der(), tempfile::tempdir().unwrap());
    let path = |name: &str| place.path().join(name);
    for (name, target) in [("anchors", "here"), ("blocklist", "there")] {
        fs::create_dir(path(name)).unwrap();
        std::os::unix::fs::symlink(path(target), path(name).join("c.pem")).unwrap();
    }
    fs::write(path("here"), pem(&der)).unwrap();
    let (location, cache) = (TrustLocation::new(place.path().to_owned()), TrustCache::new(Config::default(), None));
    assert_eq!(for_nss(&location.load(&cache), &der), Some(Verdict::Anchor));
    // Nothing of the three directories' names changes but one file outside of them; that file lies in the place itself.
    fs::rename(path("here"), path("there")).unwrap();
    assert_eq!(for_nss(&location.load(&cache), &der), Some(Verdict::Distrusted));
}

#[test]
fn what_lies_beside_a_malformed_field_still_takes_trust_away() {
    let block = text(&der());
    for line in ["certificate-category: \"abc\"\n", "trusted: \"abc\"\n", "nss-mozilla-ca-policy: \"%02\"\n"] {
        let (all, is_whole) = told("blocklist/x", format!("{HEADER}{line}{block}"));
        assert_eq!((all, is_whole), (vec![DISTRUSTED], false), "{line}");
    }
    let (all, is_whole) = told("x", format!("{HEADER}x-distrusted: \"%02\"\n{block}"));
    assert_eq!((all, is_whole), (vec![DISTRUSTED], false));
    let aux =
        text(&[&der()[..], b"\x30\x81\0"].concat()).replace("BEGIN ", "BEGIN TRUSTED ").replace("END ", "END TRUSTED ");
    for name in ["x", "blocklist/x"] {
        assert_eq!(told(name, &aux), (vec![DISTRUSTED], false), "{name}");
    }
    // p11-kit may take it for PEM.
    let (all, is_whole) = told("blocklist/x", format!("{HEADER}foo-bar: x-509\nserial-number: \"\"\n{block}"));
    assert!(!is_whole && all.iter().all(|one| *one == DISTRUSTED) && all.len() == 2);
}

#[test]
fn only_the_directory_blacklist_is_the_old_blocklist() {
    let der = der();
    let key = quoted(store(&[("a.pem", pem(&der))]).certificate(0).unwrap().spki().unwrap());
    let email = quoted(b"\x30\x13\x06\x03\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x04");
    let limit =
        format!("{HEADER}class: x-certificate-extension\nvalue: {email}\npublic-key-info: {key}\n").into_bytes();
    for name in ["blacklist", "anchors/blacklist"] {
        let store = store(&[("anchors/a.pem", pem(&der)), (name, limit.clone())]);
        assert_eq!(for_nss(&store, &der), Some(Verdict::Unknown), "{name}");
    }
}
