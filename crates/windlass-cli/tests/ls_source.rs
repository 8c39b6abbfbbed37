//! Which source `windlass ls` takes, and what it says of one that it can't list.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{bundle, fixture, listing_of as json, script, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn the_default_is_what_openssl_would_use() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    script(
        &root.join("openssl"),
        &format!("#!/bin/sh\n[ \"$*\" = 'version -d' ] && echo 'OPENSSLDIR: \"{}\"'\n", root.display()),
    );
    let with_openssl = || {
        let mut command = windlass();
        command.env("PATH", root).args(["ls", "--json"]);
        command
    };
    let source = |command: &mut assert_cmd::Command| {
        let output = command.assert().success().get_output().stdout.clone();
        let listing: Value = serde_json::from_slice(&output).unwrap();
        let source = &listing["source"];
        (source["path"].as_str().unwrap().to_owned(), source["reason"].as_str().unwrap().to_owned())
    };
    let text = |path: &Path| path.to_str().unwrap().to_owned();

    // Nothing there yet.
    let expected = contains("windlass: OpenSSL has no default source of trust here: there is no file")
        .and(contains("help: install"));
    with_openssl().assert().code(3).stdout("").stderr(expected);

    let hashed = root.join("certs");
    std::fs::create_dir(&hashed).unwrap();
    let hash = json(&fixture("rsa.pem"))["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
    std::fs::copy(fixture("rsa.pem"), hashed.join(format!("{hash}.0"))).unwrap();
    let cert_pem = root.join("cert.pem");
    let reason = format!("certs in OPENSSLDIR, which is what `openssl version -d` says; there is no file {cert_pem:?}");
    assert_eq!(source(&mut with_openssl()), (text(&hashed), reason));

    std::fs::copy(fixture("p384.pem"), &cert_pem).unwrap();
    let reason = "cert.pem in OPENSSLDIR, which is what `openssl version -d` says".to_owned();
    assert_eq!(source(&mut with_openssl()), (text(&cert_pem), reason));
    let also = format!("OpenSSL also looks up certificates in {}, by hash\n", hashed.display());
    windlass().env("PATH", root).arg("ls").assert().success().stdout(contains(also));

    let other = bundle(root, &["ed25519.pem"]);
    let mut named = with_openssl();
    assert_eq!(source(named.env("SSL_CERT_FILE", &other)), (text(&other), "SSL_CERT_FILE is set".to_owned()));

    // Set but empty counts as set (traps: X509_STORE_set_default_paths).
    let reason = "certs in OPENSSLDIR, which is what `openssl version -d` says; there is no file \"\"".to_owned();
    assert_eq!(source(with_openssl().env("SSL_CERT_FILE", "")), (text(&hashed), reason));

    let reason = "SSL_CERT_DIR is set; there is no file \"/no/such/file\"".to_owned();
    let directories = std::env::join_paths([Path::new("/no/such/directory"), &hashed]).unwrap();
    let mut both = with_openssl();
    both.env("SSL_CERT_FILE", "/no/such/file").env("SSL_CERT_DIR", directories);
    assert_eq!(source(&mut both), (text(&hashed), reason));
}

#[test]
fn a_missing_source_is_3() {
    let expected = "windlass: cannot list /no/such/file: No such file or directory\n  help: ";
    windlass().args(["ls", "/no/such/file"]).assert().code(3).stdout("").stderr(contains(expected));
    windlass()
        .args(["ls", "/dev/null"])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains("windlass: cannot list /dev/null"));
}

#[test]
fn an_unsupported_source_is_4_and_the_place_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
    let lines = good.lines().count();
    let cases = [
        ("empty", String::new(), "empty: no certificate in it"),
        ("crl", format!("{good}-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"), "crl:"),
        ("bytes", good.replacen("MII", "MI!", 1), "a line that is not plain base64"),
        // A certificate that is none, after one that is: the line of its block is named.
        ("second", format!("{good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "second:"),
    ];
    for (name, text, place) in cases {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let place = match name {
            "crl" | "second" => format!("{place}{}: ", lines + 1),
            _ => place.to_owned(),
        };
        for options in [&["ls"][..], &["ls", "--json"]] {
            let assert = windlass().args(options).arg(&path).assert().code(4).stdout("");
            let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
            let start = format!("windlass: cannot list {} (named on the command line): ", path.display());
            assert!(message.starts_with(&start), "{message}");
            for part in [
                &place,
                "\n  help: Windlass reads plain CERTIFICATE blocks",
                "\n  help: OpenSSL's view: openssl storeutl",
            ] {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
    }
}

/// `openssl rehash` removes and creates links: it is no advice for /tmp.
#[test]
fn rehash_is_advised_only_for_what_looks_like_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let advised = |is_store| {
        let rehash = format!("help: create these names: openssl rehash {}\n", path.display());
        let other = "help: name a file of PEM certificates or a hashed directory\n";
        let (wanted, unwanted) = if is_store { (&*rehash, other) } else { (other, &*rehash) };
        let expected = contains("no file in it is named by subject hash").and(contains(wanted));
        windlass().arg("ls").arg(path).assert().code(4).stdout("").stderr(expected.and(contains(unwanted).not()));
    };
    advised(false);
    std::fs::copy(fixture("rsa.pem"), path.join("notes.txt")).unwrap();
    std::fs::write(path.join("junk.pem"), "junk\n").unwrap();
    let two = ["rsa.pem", "p384.pem"].map(|name| std::fs::read_to_string(fixture(name)).unwrap()).concat();
    std::fs::write(path.join("bundle.pem"), two).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(path.join("fifo.pem")).status().unwrap();
    assert!(fifo.success());
    advised(false);
    // OpenSSL doesn't reach the second file of a hash without the first.
    std::os::unix::fs::symlink("gone.pem", path.join("5ad8a5d6.1")).unwrap();
    advised(true);
    std::fs::remove_file(path.join("5ad8a5d6.1")).unwrap();
    std::fs::copy(fixture("rsa.pem"), path.join("ca.crt")).unwrap();
    advised(true);
    // Anyone may have put it there.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o1777)).unwrap();
    advised(false);
}

#[test]
fn a_hashed_directory_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    for (name, number) in [("rsa.pem", 0), ("p384.pem", 0), ("twin.pem", 1)] {
        let hash = json(&fixture(name))["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
        std::fs::copy(fixture(name), directory.path().join(format!("{hash}.{number}"))).unwrap();
    }
    std::fs::copy(fixture("expired.pem"), directory.path().join("not-hashed.pem")).unwrap();
    let listing = json(directory.path());
    assert_eq!(listing["source"]["kind"], "capath");
    assert_eq!(listing["summary"]["anchors"], 3);
    assert!(listing["anchors"].as_array().unwrap().iter().all(|anchor| anchor["name"] != "Expired Root"));
}

/// People have certificates in DER, and the help names it.
#[test]
fn a_certificate_in_der_is_listed_as_the_same_in_pem() {
    let folder = tempfile::tempdir().unwrap();
    let der = folder.path().join("my-ca.der");
    let mut openssl = std::process::Command::new("openssl");
    openssl.args(["x509", "-outform", "DER", "-in"]).arg(common::fixture("rsa.pem")).arg("-out").arg(&der);
    assert!(openssl.status().unwrap().success());
    let (of_der, of_pem) = (common::listing_of(&der), common::listing_of(&common::fixture("rsa.pem")));
    assert_eq!(of_der["anchors"], of_pem["anchors"]);
    std::fs::write(&der, &std::fs::read(&der).unwrap()[..200]).unwrap();
    windlass().arg("ls").arg(&der).assert().code(4).stdout("");
}

#[test]
fn a_leaf_is_not_called_a_trust_anchor() {
    let leaf = common::fixture("doctor/leaf.pem");
    let listing = common::listing_of(&leaf);
    assert_eq!((&listing["summary"]["not_ca"], &listing["anchors"][0]["ca"]), (&1.into(), &false.into()));
    let table = windlass().arg("ls").arg(&leaf).assert().success();
    table.stdout(contains("\n1 certificate of no CA\n")).stdout(contains("no CA\n"));
    let folder = tempfile::tempdir().unwrap();
    let both = common::bundle(folder.path(), &["rsa.pem", "doctor/leaf.pem"]);
    windlass().arg("ls").arg(both).assert().success().stdout(contains("\n1 trust anchor and 1 certificate of no CA\n"));
}
