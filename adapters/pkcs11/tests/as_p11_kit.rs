//! The objects and attributes are those of p11-kit-trust for the same places.

mod support;

use std::path::Path;

use support::pki::{CA, Pki, der, write};
use support::{CERTIFICATE, EXTENSION, NSS_TRUST, ROOT_LIST, objects, open, ours, p11_kit};

/// Compares all objects that both have.
fn assert_same(place: &Path) {
    let place = place.to_str().unwrap();
    for class in [ROOT_LIST, CERTIFICATE, NSS_TRUST, EXTENSION] {
        let theirs = objects(&open(&p11_kit(), place), class);
        let ours = objects(&open(&ours(), place), class);
        assert_eq!(ours.len(), theirs.len(), "number of objects of class {class:#x} in {place}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            for (attribute, value) in theirs {
                if is_another_century(*attribute, value) {
                    continue;
                }
                assert_eq!(
                    &ours[attribute], value,
                    "attribute {attribute:#x} of class {class:#x} in {place}: {theirs:#x?}"
                );
            }
        }
    }
}

/// p11-kit takes the 70 of a UTCTime for 2070 (`century_for_two_digit_year`); by RFC 5280 (4.1.2.5.1) it is 1970.
fn is_another_century(attribute: u64, theirs: &str) -> bool {
    // "20", and a third digit of 5 and up.
    attribute == 0x110 && (53..=57).any(|digit| theirs.contains(&format!("year: [50, 48, {digit}")))
}

#[test]
fn the_bundle_of_the_machine() {
    assert_same(Path::new("/etc/ssl/certs/ca-certificates.crt"));
}

#[test]
fn certificates_of_all_kinds_in_one_file() {
    let pki = Pki::new();
    let mut bundle = String::new();
    for (name, subject, extensions) in [
        ("plain", "/O=One/CN=Plain", &[CA][..]),
        ("usage", "/CN=Usage/O=Two", &[CA, "keyUsage=critical,keyCertSign,cRLSign"]),
        ("purpose", "/O=Three/OU=Unit", &[CA, "extendedKeyUsage=serverAuth,emailProtection"]),
        ("leaf", "/O=Four", &["basicConstraints=CA:FALSE"]),
        ("any", "/C=DE", &[CA, "extendedKeyUsage=anyExtendedKeyUsage", "keyUsage=digitalSignature,encipherOnly"]),
        ("unicode", "/CN=Főtanúsítvány/O=Last", &[CA, "subjectKeyIdentifier=none"]),
    ] {
        bundle += &pki.certificate(name, subject, extensions);
    }
    write(&pki.path("place/bundle.pem"), &bundle);
    assert_same(&pki.path("place/bundle.pem"));
    write(&pki.path("place/der"), der(&bundle));
    assert_same(&pki.path("place/der"));
    // Certificates that not every OpenSSL would read.
    let odd = format!(
        "\u{FEFF}x -----BEGIN X-----\nYQ==\n-----END X-----{bundle}\
         -----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n{bundle}"
    );
    write(&pki.path("place/odd.pem"), &odd);
    assert_same(&pki.path("place/odd.pem"));
    write(&pki.path("place/text"), "no certificate\n");
    assert_same(&pki.path("place/text"));
    assert_same(&pki.path("nowhere"));
}

#[test]
fn what_openssl_reads_and_p11_kit_does_not() {
    let pki = Pki::new();
    // A UUID as a component of an object identifier: libtasn1 has 64 bits for one.
    let uuid = "2.25.329800735698586629295641978511506172918=ASN1:UTF8String:x";
    let bundle = pki.certificate("long", "/CN=Long", &[CA, uuid]) + &pki.certificate("plain", "/CN=Plain", &[CA]);
    write(&pki.path("bundle.pem"), &bundle);
    assert_same(&pki.path("bundle.pem"));
    assert_eq!(objects(&open(&ours(), pki.path("bundle.pem").to_str().unwrap()), CERTIFICATE).len(), 1);
}

#[test]
fn openssls_trusted_certificates() {
    let pki = Pki::new();
    pki.certificate("ca", "/CN=CA", &[CA]);
    for (number, options) in [
        &["-addtrust", "serverAuth", "-setalias", "An alias"][..],
        &["-addtrust", "serverAuth", "-addreject", "emailProtection"],
        &["-addreject", "serverAuth"],
        &["-addtrust", "serverAuth", "-addreject", "serverAuth"],
        &["-setalias", "nothing said"],
        &[],
    ]
    .into_iter()
    .enumerate()
    {
        let trusted = pki.trusted("ca", options);
        for directory in ["anchors", "blocklist", "."] {
            let place = pki.path(&format!("{number}-{directory}"));
            write(&place.join(directory).join("ca.pem"), &trusted);
            assert_same(&place);
        }
        write(&pki.path("one.pem"), &trusted);
        assert_same(&pki.path("one.pem"));
    }
}

#[test]
fn a_directory_with_everything() {
    let pki = Pki::new();
    let place = pki.path("place");
    let anchor = pki.certificate("anchor", "/CN=Anchor", &[CA]);
    let blocked = pki.certificate("blocked", "/CN=Blocked", &[CA]);
    let said = pki.certificate("said", "/CN=Said", &[CA]);
    let limited = pki.certificate("limited", "/CN=Limited", &[CA]);
    write(&place.join("anchors/a.pem"), &anchor);
    write(&place.join("anchors/also.der"), der(&limited));
    write(&place.join("blocklist/b.pem"), &blocked);
    write(&place.join("nothing.txt"), "nothing\n");
    write(&place.join("deeper/c.pem"), &anchor);
    let key = pki.path("limited.pub");
    let output = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-pubkey", "-in"])
        .arg(pki.path("limited.pem"))
        .output()
        .unwrap();
    write(&key, &output.stdout);
    let public_key = std::fs::read_to_string(key).unwrap();
    write(
        &place.join("said.p11-kit"),
        format!(
            "# comment\n[p11-kit-object-v1]\ntrusted: true\nlabel: \"A%20label\"\nnss-mozilla-ca-policy: true\n\
             nss-server-distrust-after: \"240731000000Z\"\nnss-email-distrust-after: false\nmodifiable: false\n{said}\n\
             [p11-kit-object-v1]\nclass: certificate\ncertificate-type: x-509\nx-distrusted: true\nlabel: \"gone\"\n\
             issuer: \"0%101%0e0%0c%06%03U%04%03%0c%05Other\"\nserial-number: \"%02%01%07\"\n\n\
             [p11-kit-object-v1]\nclass: x-certificate-extension\nobject-id: 2.5.29.37\nlabel: \"limit\"\n\
             value: \"0%13%06%03U%1d%25%04%0c0%0a%06%08%2b%06%01%05%05%07%03%01\"\n{public_key}\n"
        ),
    );
    assert_same(&place);
    // The same certificate in two places: the last one read counts for NSS.
    write(&place.join("blocklist/also-a.pem"), &anchor);
    assert_same(&place);
    // A damaged file is read as PEM.
    write(&place.join("anchors/damaged.p11-kit"), format!("[p11-kit-object-v1]\nnonsense\n{said}"));
    assert_same(&place);
}

#[test]
fn one_p11_kit_file_is_no_bundle() {
    let pki = Pki::new();
    let said = pki.certificate("said", "/CN=Said", &[CA]);
    write(&pki.path("distrusted.p11-kit"), format!("[p11-kit-object-v1]\nx-distrusted: true\n{said}"));
    assert_same(&pki.path("distrusted.p11-kit"));
}
