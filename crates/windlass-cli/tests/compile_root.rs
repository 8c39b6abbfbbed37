//! `windlass compile --root`: for an image that is being built.

mod common;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{bundle, fixture, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// An image as Debian's ca-certificates makes it, with links that would lead to the building machine's own files, and
/// with one certificate.
struct Image(tempfile::TempDir);

impl Image {
    fn new() -> Image {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for directory in ["etc/ssl/certs", "usr/lib/ssl", "usr/share/ca-certificates", "var"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::copy(fixture("rsa.pem"), root.join("etc/ssl/certs/ca-certificates.crt")).unwrap();
        std::fs::copy(fixture("rsa.pem"), root.join("usr/share/ca-certificates/rsa.crt")).unwrap();
        symlink("/etc/ssl/certs/ca-certificates.crt", root.join("usr/lib/ssl/cert.pem")).unwrap();
        symlink("/etc/ssl/certs", root.join("usr/lib/ssl/certs")).unwrap();
        symlink("/usr/share/ca-certificates/rsa.crt", root.join("etc/ssl/certs/rsa.pem")).unwrap();
        let hash = common::listing_of(&fixture("rsa.pem"))["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
        symlink("rsa.pem", root.join("etc/ssl/certs").join(format!("{hash}.0"))).unwrap();
        Image(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn stores(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join("var/cache/windlass")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "store")).collect()
    }
}

fn compile(root: &Path) -> assert_cmd::Command {
    let mut command = windlass();
    command.args(["compile", "--root"]).arg(root);
    command
}

fn report(command: &mut assert_cmd::Command) -> Value {
    let output = command.arg("--json").assert().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

/// Path, state and number of anchors of each source that is not absent.
fn rows(report: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = report["sources"].as_array().unwrap().iter().filter(|row| row["state"] != "absent");
    rows.map(|row| (text(&row["path"]), text(&row["state"]), row["anchors"].as_u64().unwrap_or(0))).collect()
}

fn expected(state: &str) -> Vec<(String, String, u64)> {
    let paths = ["/usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt", "/usr/lib/ssl/certs", "/etc/ssl/certs"];
    paths.map(|path| (path.to_owned(), state.to_owned(), 1)).into()
}

#[test]
fn the_defaults_of_the_image_are_compiled_into_the_image() {
    let image = Image::new();
    let mut command = compile(image.path());
    let written = report(command.env("WINDLASS_STORE", "/no/such/directory").env("HOME", "/no/such/home"));
    assert_eq!(rows(&written), expected("written"), "{written:#}");
    assert_eq!(written["root"], image.path().to_str().unwrap());
    assert_eq!(image.stores().len(), 4);
    let checked = report(compile(image.path()).arg("--check"));
    assert_eq!(rows(&checked), expected("fresh"), "{checked:#}");
    // Nothing of this machine's paths is in a compiled store: it would be wrong in the image.
    for store in image.stores() {
        let bytes = std::fs::read(store).unwrap();
        let outside = image.path().to_str().unwrap().as_bytes();
        assert!(!bytes.windows(outside.len()).any(|window| window == outside));
    }
}

/// Copying gives every file a new identity.
#[test]
fn a_copied_image_is_fresh_by_content() {
    let image = Image::new();
    compile(image.path()).assert().success();
    let copy = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-rT").arg(image.path()).arg(copy.path()).status().unwrap();
    assert!(copied.success());
    let checked = report(compile(copy.path()).arg("--check"));
    assert_eq!(rows(&checked), expected("fresh-by-content"), "{checked:#}");

    std::fs::copy(fixture("p384.pem"), copy.path().join("usr/share/ca-certificates/rsa.crt")).unwrap();
    let output = compile(copy.path()).arg("--check").assert().code(5);
    output.stdout(contains("/etc/ssl/certs (directory)          stale"));
}

#[test]
fn links_of_the_image_do_not_lead_out_of_it() {
    let image = Image::new();
    let outside = tempfile::tempdir().unwrap();
    // As seen from the image, this is a directory within it.
    symlink(outside.path(), image.path().join("var/cache")).unwrap();
    compile(image.path()).assert().success();
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    let inside = image.path().join(outside.path().strip_prefix("/").unwrap()).join("windlass");
    assert_eq!(
        std::fs::read_dir(inside).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != ".lock").count(),
        4
    );

    // A source of this machine, reached by a link of the image, does not exist for it.
    let source = bundle(outside.path(), &["rsa.pem"]);
    symlink(&source, image.path().join("etc/app.pem")).unwrap();
    compile(image.path()).arg("/etc/app.pem").assert().code(3).stderr(contains("does not exist"));
    let up = PathBuf::from(format!("{}{}", "../".repeat(30), source.strip_prefix("/").unwrap().display()));
    symlink(up, image.path().join("etc/up.pem")).unwrap();
    compile(image.path()).arg("/etc/up.pem").assert().code(3).stderr(contains("does not exist"));
}

#[test]
fn paths_on_the_command_line_are_within_the_image() {
    let image = Image::new();
    let named = report(compile(image.path()).args(["--store", "/srv/trust", "etc/ssl/certs/ca-certificates.crt"]));
    assert_eq!(rows(&named), [("/etc/ssl/certs/ca-certificates.crt".into(), "written".into(), 1)]);
    let store = image.path().join("srv/trust");
    assert_eq!(named["directory"], store.to_str().unwrap());
    assert!(store.is_dir() && image.stores().is_empty());
    compile(&image.path().join("no-such")).assert().code(1).stderr(contains("no-such: not a directory\n  help: "));
}

/// Of default sources, what is not there or can't be compiled is no error, as long as something can.
#[test]
fn a_default_that_cannot_be_compiled_is_only_reported() {
    let image = Image::new();
    let file = image.path().join("etc/ssl/certs/ca-certificates.crt");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.clone() + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n").unwrap();
    let line = text.lines().count() + 1;
    let why = format!(
        "/etc/ssl/certs/ca-certificates.crt:{line}: a PEM block other than CERTIFICATE; programs use it directly, as \
         without Windlass\n"
    );
    let said = contains(why.clone()).and(contains("/etc/ssl/certs/ca-certificates.crt  unsupported"));
    let written = contains("/etc/ssl/certs (directory)          written            1");
    compile(image.path()).assert().success().stdout(said.and(written)).stderr("");
    assert_eq!(image.stores().len(), 2);
    // There is nothing to do about it, so there is nothing stale.
    compile(image.path()).arg("--check").assert().success().stdout(contains(why));

    std::fs::remove_dir_all(image.path().join("usr/share")).unwrap();
    std::fs::remove_dir_all(image.path().join("var/cache")).unwrap();
    compile(image.path()).assert().code(4).stderr(contains("nothing was compiled: no default source could be\n"));
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir_all(image.path().join("etc/ssl/certs")).unwrap();
    let nothing = contains("nothing was compiled: OpenSSL and GnuTLS have no default source of trust here\n  help: ");
    compile(image.path())
        .assert()
        .code(3)
        .stderr(nothing)
        .stdout(contains("/usr/lib/ssl/cert.pem               absent"));
    compile(image.path()).arg("--check").assert().success();
}

/// It is there, and OpenSSL uses what else is in it. Hook, units and package scripts rely on the status, which stays.
#[test]
fn a_default_directory_with_a_link_that_leads_nowhere_is_not_absent() {
    let image = Image::new();
    symlink("gone.pem", image.path().join("etc/ssl/certs/0a1b2c3d.0")).unwrap();
    let unreadable = contains("/etc/ssl/certs (directory)          unreadable\n");
    let said = "/etc/ssl/certs: its hash link 0a1b2c3d.0 is dangling; programs use it directly, as without Windlass\n";
    compile(image.path()).assert().success().stdout(unreadable.and(contains(said))).stderr("");
    assert_eq!(image.stores().len(), 2, "the bundle, by both of its names");
    compile(image.path()).arg("--check").assert().success().stdout(contains(said));

    std::fs::remove_file(image.path().join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    std::fs::remove_dir_all(image.path().join("var/cache")).unwrap();
    let nothing = contains("nothing was compiled: no default source could be read\n  help: ");
    compile(image.path()).assert().code(3).stderr(nothing);
    let named = "cannot compile /usr/lib/ssl/certs: its hash link 0a1b2c3d.0 is dangling\n  help: recreate the links: \
                 openssl rehash /usr/lib/ssl/certs\n";
    compile(image.path()).arg("/usr/lib/ssl/certs").assert().code(3).stderr(contains(named));
}

/// As in images without `openssl rehash`.
#[test]
fn a_default_directory_without_hashes_is_as_good_as_none() {
    let image = Image::new();
    let hashed = std::fs::read_dir(image.path().join("etc/ssl/certs")).unwrap().map(|entry| entry.unwrap().path());
    hashed.filter(|path| path.extension().is_some_and(|extension| extension == "0")).for_each(|path| {
        std::fs::remove_file(path).unwrap();
    });
    let absent = contains("/etc/ssl/certs (directory)          absent\n");
    let why = contains("/etc/ssl/certs: no file in it is named by subject hash (as 5ad8a5d6.0)\n");
    compile(image.path()).assert().success().stdout(absent.and(why)).stderr("");
    compile(image.path()).arg("--check").assert().success();
    compile(image.path()).arg("/etc/ssl/certs").assert().code(4);
}
