//! Machines that set one of these variables.

use super::*;
use crate::testing::{Image, fixture};

/// The findings if /etc/environment has this line.
fn said(image: &Image, line: &str) -> Vec<(Severity, String)> {
    image.write("etc/environment", line);
    let told = |finding: Finding| (finding.severity, finding.what);
    image.findings(&CHECK).into_iter().map(told).collect()
}

#[test]
fn what_trusts_the_same_is_silent() {
    let image = Image::healthy();
    for line in [
        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        "SSL_CERT_DIR=/usr/lib/ssl/certs",
        "REQUESTS_CA_BUNDLE=/etc/ssl/certs",
        "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
        "CURL_CA_BUNDLE=",
        "GIT_SSL_CAINFO=$HOME/ca.pem",
    ] {
        assert_eq!(said(&image, line), [], "{line}");
    }
}

#[test]
fn nowhere_empty_and_bad() {
    let image = Image::healthy();
    image.write("srv/empty.pem", "");
    image.write("srv/bad.pem", &(fixture("rsa.pem") + "-----BEGIN CERTIFICATE-----\n"));
    std::fs::create_dir(image.path("srv/no-hashes")).unwrap();
    let cases = [
        ("SSL_CERT_FILE=/nonexistent.pem", Severity::Error, "leads nowhere"),
        ("SSL_CERT_FILE=", Severity::Error, "is set to an empty value, which disables the default"),
        ("SSL_CERT_DIR=/nonexistent:/also", Severity::Error, "leads to no directory"),
        ("SSL_CERT_DIR=/srv/no-hashes", Severity::Error, "leads to no certificate that is named by hash"),
        ("NODE_EXTRA_CA_CERTS=/nonexistent", Severity::Warning, "leads nowhere: nothing is added"),
        ("CURL_CA_BUNDLE=/srv/empty.pem", Severity::Error, "holds no certificate"),
        (
            "AWS_CA_BUNDLE=/srv/bad.pem",
            Severity::Error,
            "holds a bad block, and OpenSSL loads all of a file or nothing",
        ),
        (
            "SSL_CERT_DIR=/etc/ssl/certs:/gone",
            Severity::Note,
            "names a directory that does not exist, beside the system's",
        ),
        ("GIT_SSL_CAINFO=/etc/ssl/certs", Severity::Error, "is a directory, not a file of certificates"),
        ("PIP_CERT=ca.pem", Severity::Warning, "is a relative path"),
    ];
    for (line, severity, end) in cases {
        assert_eq!(said(&image, line), [(severity, format!("{line} {end}"))]);
    }
}

#[test]
fn elsewhere_is_a_note_with_the_difference() {
    let image = Image::healthy();
    image.write("srv/own.pem", &fixture("ed25519.pem"));
    image.write("etc/profile.d/ca.sh", "\nexport REQUESTS_CA_BUNDLE=/srv/own.pem\n");
    image.write("etc/systemd/system/app.service", "[Service]\nEnvironment=REQUESTS_CA_BUNDLE=/srv/own.pem\n");
    let finding = image.finding(&CHECK);
    assert_eq!((finding.severity, finding.line), (Severity::Note, Some(2)));
    let facts: Vec<_> = finding.facts.shown.iter().map(String::as_str).collect();
    assert_eq!(
        facts,
        [
            "set in /etc/profile.d/ca.sh, line 2",
            "set in /etc/systemd/system/app.service, line 2",
            "read by Python's requests, and pip",
            "certificates there: 1",
            "only there: 1",
            "only among the system's: 2",
        ]
    );
}

#[test]
fn a_directory_is_read_once_however_often_it_is_named() {
    let image = Image::healthy();
    for number in 0..20 {
        image.link(&format!("srv-{number}"), "/etc/ssl/certs");
        std::fs::create_dir(image.path(&format!("own-{number}"))).unwrap();
    }
    let names = |name: &str, count: usize| (0..count).map(|n| format!("/{name}-{n}")).collect::<Vec<_>>().join(":");
    let often = vec!["/srv-0"; 500].join(":");
    for line in [often, names("srv", 20)] {
        assert_eq!(said(&image, &format!("SSL_CERT_DIR={line}")), [], "{line}");
    }
    assert_eq!(said(&image, &format!("SSL_CERT_DIR={}", names("own", 16))).len(), 1);
    image.write("etc/environment", &format!("SSL_CERT_DIR={}", names("own", 17)));
    let outcome = image.outcome(&CHECK);
    assert!(outcome.findings.is_empty());
    assert!(outcome.unseen.shown()[0].why.contains("more than 16 directories"), "{:?}", outcome.unseen);
}

#[test]
fn what_one_user_names_uses_up_nothing_of_another() {
    let image = Image::healthy();
    image.write("etc/passwd", "a:x:1:1::/home/a:/bin/sh\nb:x:2:2::/home/b:/bin/sh\n");
    let mut profile = String::new();
    for number in 0..4 {
        image.write(&format!("srv/{number}.pem"), &"#\n".repeat(3 << 20));
        profile += &format!("SSL_CERT_FILE=/srv/{number}.pem\n");
    }
    image.write("home/a/.profile", &profile);
    image.write("home/b/.profile", "GIT_SSL_CAINFO=/srv/own.pem\nSSL_CERT_FILE=/srv/3.pem\n");
    image.write("srv/own.pem", &fixture("ed25519.pem"));
    let outcome = image.outcome(&CHECK);
    let unseen: Vec<_> = outcome.unseen.shown().iter().map(|unseen| unseen.path.to_str().unwrap()).collect();
    assert_eq!(unseen, ["/srv/2.pem"], "{:?}", outcome.unseen);
    assert_eq!(outcome.unseen.shown()[0].why, TOO_MUCH);
    assert_eq!(outcome.findings.len(), 4);
    assert_eq!(outcome.findings[3].path.as_deref(), Some("/home/b/.profile".as_ref()));
}

#[test]
fn a_fifo_is_not_opened() {
    let image = Image::healthy();
    let made = std::process::Command::new("mkfifo").arg(image.path("fifo")).status().unwrap();
    assert!(made.success());
    let found = said(&image, "SSL_CERT_FILE=/fifo");
    assert_eq!(found[0].0, Severity::Warning);
}
