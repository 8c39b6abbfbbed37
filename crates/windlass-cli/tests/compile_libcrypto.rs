//! `windlass compile` with a libcrypto that has objections, and without any.

mod common;

use std::path::{Path, PathBuf};

use common::{bundle, windlass};
use predicates::prelude::*;
use predicates::str::contains;

/// A libcrypto that accepts everything, but for what the variable STAND_IN says. It is told apart by its default paths.
const STAND_IN: &str = r#"
#include <stdlib.h>
#include <string.h>
static const char *wish(void) { const char *wish = getenv("STAND_IN"); return wish ? wish : ""; }
struct x509 { long length; unsigned char *der; };
unsigned long OpenSSL_version_num(void) { return strcmp(wish(), "libressl") ? 0x40000000L : 0x20000000L; }
const char *OpenSSL_version(int what) { return "OpenSSL 4.0.0 stand-in"; }
const char *X509_get_default_cert_file(void) { return getenv("STAND_IN_FILE"); }
const char *X509_get_default_cert_dir(void) { return "/no/such/directory"; }
struct x509 *d2i_X509(struct x509 **out, const unsigned char **in, long length) {
    if (!strcmp(wish(), "refuse")) return 0;
    struct x509 *x509 = malloc(sizeof *x509);
    x509->length = length;
    x509->der = malloc(length);
    memcpy(x509->der, *in, length);
    *in += length;
    return x509;
}
int i2d_X509(const struct x509 *x509, unsigned char **out) {
    if (out) { memcpy(*out, x509->der, x509->length); if (!strcmp(wish(), "other")) **out ^= 1; }
    return (int)x509->length;
}
void X509_free(struct x509 *x509) { free(x509->der); free(x509); }
void *X509_get0_pubkey(const struct x509 *x509) { return 0; }
unsigned long X509_subject_name_hash(const struct x509 *x509) { return strtoul(getenv("STAND_IN_HASH"), 0, 16); }
/* Nothing is loaded with it: that is for the doctor. */
void *X509_STORE_new(void) { return 0; }
void X509_STORE_free(void *store) {}
int X509_STORE_load_locations(void *store, const char *file, const char *directory) { return 0; }
int X509_STORE_add_cert(void *store, struct x509 *x509) { return 0; }
unsigned long ERR_peek_error(void) { return 0; }
const char *ERR_reason_error_string(unsigned long code) { return 0; }
void ERR_clear_error(void) {}
"#;

struct Scratch {
    directory: tempfile::TempDir,
    source: PathBuf,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch::with("libcrypto.so.4")
    }

    /// With the stand-in under this name.
    fn with(name: &str) -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let libraries = directory.path().join("libraries");
        std::fs::create_dir(&libraries).unwrap();
        common::compile(STAND_IN, &libraries.join(name), &["-shared", "-fPIC"]);
        let source = bundle(directory.path(), &["rsa.pem"]);
        Scratch { directory, source }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn compile(&self, wish: &str) -> assert_cmd::Command {
        let hash = common::listing_of(&self.source)["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
        let mut command = windlass();
        command.env("LD_LIBRARY_PATH", self.path().join("libraries"));
        command.env("STAND_IN", wish).env("STAND_IN_HASH", hash).env("STAND_IN_FILE", &self.source);
        command.env("WINDLASS_STORE", self.path().join("stores")).arg("compile");
        command
    }

    fn is_written(&self) -> bool {
        std::fs::read_dir(self.path().join("stores")).is_ok_and(|mut entries| {
            entries.any(|entry| entry.unwrap().file_name().to_str().unwrap().ends_with(".store"))
        })
    }
}

#[test]
fn every_libcrypto_has_to_accept_every_certificate() {
    let place = Scratch::new();
    for (wish, objection) in [("refuse", "it can't be decoded"), ("other", "it encodes to other bytes")] {
        let expected = format!("OpenSSL 4.0.0 stand-in does not accept certificate 1: {objection}\n");
        place.compile(wish).arg(&place.source).assert().code(4).stderr(contains(expected));
        assert!(!place.is_written(), "{wish}");
    }
    let mut command = place.compile("");
    command.env("STAND_IN_HASH", "1234").arg(&place.source).assert().code(4).stderr(contains("is 00001234, and not "));
    assert!(!place.is_written());

    let by_both = contains("accepted by OpenSSL 4.0.0 stand-in and OpenSSL 3.");
    let keys = contains("libcrypto can't use the public key of 1 certificates in it");
    place.compile("").arg(&place.source).assert().success().stdout(by_both.and(keys));
    assert!(place.is_written());
}

#[test]
fn the_last_libcrypto_is_asked_too() {
    let place = Scratch::with("libcrypto.so.1.1");
    place
        .compile("refuse")
        .arg(&place.source)
        .assert()
        .code(4)
        .stderr(contains("OpenSSL 4.0.0 stand-in does not accept"));
    assert!(!place.is_written());
    let by_both = contains("accepted by OpenSSL 3.").and(contains(" and OpenSSL 4.0.0 stand-in"));
    place.compile("").arg(&place.source).assert().success().stdout(by_both);
}

#[test]
fn the_default_file_is_that_of_each_libcrypto() {
    let place = Scratch::new();
    let own = contains(place.source.to_str().unwrap()).and(contains("/usr/lib/ssl/cert.pem"));
    place.compile("").arg("--check").assert().code(5).stdout(own);
    place.compile("libressl").arg("--check").assert().stdout(contains(place.source.to_str().unwrap()).not());
}

#[test]
fn without_libcrypto_nothing_is_compiled() {
    let place = Scratch::new();
    for name in ["libcrypto.so.4", "libcrypto.so.3", "libcrypto.so.1.1"] {
        std::fs::write(place.path().join("libraries").join(name), "").unwrap();
    }
    let expected =
        contains("cannot compile: no libcrypto was found that could check the certificates\n  help: install");
    place.compile("").arg(&place.source).assert().code(1).stderr(expected);
    assert!(!place.is_written());
}
