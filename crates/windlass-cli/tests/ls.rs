//! `windlass ls`: what is listed, and how it is marked.

mod common;

use std::path::Path;

use common::{assert_documented, bundle, fixture, listing_of as json, windlass};

const ALL: [&str; 7] = ["rsa.pem", "p384.pem", "ed25519.pem", "expired.pem", "future.pem", "escape.pem", "twin.pem"];

/// What the openssl command says about a certificate, to compare with.
fn openssl(certificate: &Path, option: &[&str]) -> String {
    let mut command = std::process::Command::new("openssl");
    command.args(["x509", "-noout", "-in"]).arg(certificate).args(option);
    let output = command.output().expect("openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_table_shows_and_marks_every_anchor() {
    let directory = tempfile::tempdir().unwrap();
    let source = bundle(directory.path(), &[&ALL[..], &["rsa.pem"]].concat());
    let digits =
        |name: &str| json(&fixture(name))["anchors"][0]["sha256_fingerprint"].as_str().unwrap()[..16].to_owned();
    let [rsa, p384, ed25519, expired, future, escape, twin] = ALL.map(digits);
    let expected = format!(
        "\
{} (cafile; named on the command line)

SUBJECT                   EXPIRES     KEY       SHA-256           NOTE
Rsa Root                  2099-12-31  RSA 2048  {rsa}  shares subject
Würzelzertifikat №1       2099-12-31  EC P-384  {p384}
Unit Without Common Name  2099-12-31  Ed25519   {ed25519}
Expired Root              2010-01-01  EC P-256  {expired}  expired
Future Root               2099-12-31  EC P-256  {future}  not yet valid
Red \\u{{1b}}[31m Root       2099-12-31  EC P-256  {escape}
Rsa Root                  2099-12-31  EC P-256  {twin}  shares subject
Rsa Root                  2099-12-31  RSA 2048  {rsa}  duplicate, shares subject

8 trust anchors, 1 duplicate, 1 expired, 1 not yet valid
",
        source.display()
    );
    windlass().arg("ls").arg(&source).assert().success().stdout(expected).stderr("");
}

#[test]
fn the_json_agrees_with_openssl() {
    for name in ALL {
        let path = fixture(name);
        let anchor = &json(&path)["anchors"][0];
        let fingerprint = openssl(&path, &["-fingerprint", "-sha256"]).to_lowercase().replace(':', "");
        assert!(fingerprint.ends_with(anchor["sha256_fingerprint"].as_str().unwrap()), "{name}");
        assert_eq!(anchor["subject_hash"], openssl(&path, &["-subject_hash"]), "{name}");
        let serial = openssl(&path, &["-serial"]).to_lowercase();
        let serial = serial.trim_start_matches("serial=");
        assert_eq!(anchor["serial"].as_str().unwrap().trim_start_matches("00"), serial, "{name}");
        let key_id = openssl(&path, &["-ext", "subjectKeyIdentifier"]).to_lowercase().replace(':', "");
        assert!(key_id.ends_with(anchor["subject_key_id"].as_str().unwrap()), "{name}");
        let dates = openssl(&path, &["-dates", "-dateopt", "iso_8601"]).replace(' ', "T");
        let expected = format!(
            "notBefore={}\nnotAfter={}",
            anchor["not_before"].as_str().unwrap(),
            anchor["not_after"].as_str().unwrap()
        );
        assert_eq!(dates, expected, "{name}");
        for (field, option) in [("subject", "-subject"), ("issuer", "-issuer")] {
            let theirs = openssl(&path, &[option, "-nameopt", "RFC2253,-esc_msb,utf8"]);
            assert_eq!(theirs, format!("{field}={}", anchor[field].as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn the_json_is_complete_and_documented() {
    let directory = tempfile::tempdir().unwrap();
    let source = bundle(directory.path(), &["rsa.pem", "rsa.pem", "expired.pem"]);
    let listing = json(&source);
    assert_eq!(listing["schema"], 1);
    assert_eq!(
        listing["source"],
        serde_json::json!({"kind": "cafile", "path": source.to_str(), "reason": "named on the command line"})
    );
    let summary = serde_json::json!({
        "anchors": 3, "distinct": 2, "duplicates": 1, "expired": 1, "not_ca": 0, "not_yet_valid": 0
    });
    assert_eq!(listing["summary"], summary);
    let [first, second, third] = listing["anchors"].as_array().unwrap().as_slice() else { panic!("three anchors") };
    assert_eq!(first["key"], serde_json::json!({"algorithm": "RSA", "bits": 2048, "curve": null}));
    assert_eq!(third["key"], serde_json::json!({"algorithm": "EC", "bits": null, "curve": "P-256"}));
    for (anchor, duplicate, expired) in [(first, false, false), (second, true, false), (third, false, true)] {
        assert_eq!(anchor["duplicate"], duplicate);
        assert_eq!(anchor["expired"], expired);
        assert_eq!(anchor["not_yet_valid"], false);
        assert_eq!(anchor["self_issued"], true);
        assert_eq!(anchor["shares_subject"], false);
    }
    assert_eq!(first["name"], "Rsa Root");

    assert_documented(&["ls"], &[&listing, &listing["source"], &listing["summary"], first, &first["key"]]);
}
