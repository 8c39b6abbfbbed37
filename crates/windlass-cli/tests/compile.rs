//! `windlass compile`: what is compiled, what is refused, and how that is said.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{assert_documented, bundle, fixture, json_of, std_windlass, windlass};
use predicates::prelude::*;
use predicates::str::contains;

/// A directory for sources, and one for compiled stores, which does not exist yet.
struct Scratch {
    directory: tempfile::TempDir,
    store: PathBuf,
}

impl Scratch {
    fn new() -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("stores");
        Scratch { directory, store }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn compile(&self) -> assert_cmd::Command {
        let mut command = windlass();
        command.env("WINDLASS_STORE", &self.store).arg("compile");
        command
    }

    /// The compiled stores that there are.
    fn stores(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.store) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "store")).collect()
    }
}

#[test]
fn a_source_is_compiled_once() {
    let place = Scratch::new();
    let source = bundle(place.path(), &["rsa.pem", "p384.pem", "rsa.pem"]);
    let row = |state: &str| contains(format!("{}  {state}        3  3 KiB\n", source.display()));
    place.compile().arg(&source).assert().success().stdout(row("written")).stderr("");
    let [store] = <[PathBuf; 1]>::try_from(place.stores()).unwrap();
    let (bytes, metadata) = (std::fs::read(&store).unwrap(), store.metadata().unwrap());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o644);
    assert_eq!(place.store.metadata().unwrap().permissions().mode() & 0o7777, 0o755);

    place.compile().arg(&source).assert().success().stdout(row("unchanged")).stderr("");
    assert_eq!(std::fs::read(&store).unwrap(), bytes);
    assert_eq!(store.metadata().unwrap().modified().unwrap(), metadata.modified().unwrap());

    // --store comes before WINDLASS_STORE.
    let other = place.path().join("other");
    place.compile().arg("--store").arg(&other).arg(&source).assert().success().stdout(row("written"));
    assert_eq!(std::fs::read(other.join(store.file_name().unwrap())).unwrap(), bytes);
}

/// Others may not read by the compiled store what they may not read by the source.
#[test]
fn a_private_source_stays_private() {
    let place = Scratch::new();
    let source = bundle(place.path(), &["rsa.pem"]);
    std::fs::set_permissions(&source, std::fs::Permissions::from_mode(0o640)).unwrap();
    place.compile().arg(&source).assert().success();
    assert_eq!(place.stores()[0].metadata().unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn the_defaults_of_this_machine_are_compiled_under_all_their_names() {
    let place = Scratch::new();
    let (report, status) = json_of(&place.store, &["compile".as_ref()]);
    assert_eq!(status, 0, "{report:#}");
    let find = |path: &str, kind: &str| {
        let rows = report["sources"].as_array().unwrap();
        rows.iter()
            .find(|row| row["path"] == path && row["kind"] == kind)
            .unwrap_or_else(|| panic!("{path}: {report:#}"))
    };
    let anchors = std::fs::read_to_string("/etc/ssl/certs/ca-certificates.crt").unwrap().matches("-----BEGIN").count();
    for path in ["/usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt"] {
        assert_eq!(find(path, "cafile")["anchors"], anchors, "{path}");
    }
    for path in ["/usr/lib/ssl/certs", "/etc/ssl/certs"] {
        find(path, "capath");
    }
    let (report, status) = json_of(&place.store, &["compile".as_ref(), "--check".as_ref()]);
    assert_eq!(status, 0, "{report:#}");
}

/// Programs find it by the name that they use.
#[test]
fn the_name_of_a_source_is_kept() {
    let place = Scratch::new();
    bundle(place.path(), &["rsa.pem"]);
    std::os::unix::fs::symlink("bundle.pem", place.path().join("link.pem")).unwrap();
    let mut command = place.compile();
    let output = command.current_dir(place.path()).args(["link.pem", "--json"]).assert().success().get_output().clone();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let here = place.path().canonicalize().unwrap();
    assert_eq!(report["sources"][0]["path"], here.join("link.pem").to_str().unwrap());
    let odd = format!("{}//./link.pem", here.display());
    let (report, _) = json_of(&place.store, &["compile".as_ref(), odd.as_ref()]);
    assert_eq!(report["sources"][0]["path"], odd);
    assert_eq!(place.stores().len(), 2);
}

#[test]
fn what_cannot_be_compiled_is_an_error_where_it_was_named() {
    let place = Scratch::new();
    let good = bundle(place.path(), &["rsa.pem"]);
    let missing = place.path().join("missing.pem");
    let expected = format!("windlass: cannot compile {0}: {0} does not exist\n  help: ", missing.display());
    place
        .compile()
        .arg(&missing)
        .assert()
        .code(3)
        .stderr(expected.clone() + "name a file of PEM certificates or a hashed directory that you may read\n");
    assert!(place.stores().is_empty());

    let damaged = place.path().join("damaged.pem");
    let text = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
    std::fs::write(&damaged, format!("{text}-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")).unwrap();
    let line = text.lines().count() + 1;
    let expected =
        format!("cannot compile {0}: {0}:{line}: a PEM block other than CERTIFICATE\n  help: ", damaged.display());
    place.compile().arg(&damaged).assert().code(4).stderr(contains(expected).and(contains(
        "programs use the source \
        itself",
    )));
    let empty = place.path().join("empty.pem");
    std::fs::write(&empty, "# none\n").unwrap();
    place.compile().arg(&empty).assert().code(4).stderr(contains("no certificate in it"));
    place.compile().arg(place.path()).assert().code(4).stderr(contains("no file in it is named by subject hash"));
    assert!(place.stores().is_empty());

    let hashed = place.path().join("hashed");
    std::fs::create_dir(&hashed).unwrap();
    std::os::unix::fs::symlink("gone.pem", hashed.join("0a1b2c3d.0")).unwrap();
    let expected =
        format!("cannot compile {}: its hash link 0a1b2c3d.0 is dangling\n  help: recreate the", hashed.display());
    place.compile().arg(&hashed).assert().code(3).stdout(contains("unreadable")).stderr(contains(expected));
    assert!(place.stores().is_empty());

    // The others are compiled all the same, and the first error is the status.
    let assert = place.compile().args([&missing, &good, &damaged]).assert().code(3);
    assert.stdout(contains(format!("{}   written", good.display()))).stderr(contains("damaged.pem:"));
    assert_eq!(place.stores().len(), 1);
}

#[test]
fn a_source_that_lost_most_of_its_anchors_is_refused() {
    let place = Scratch::new();
    let all = ["rsa.pem", "p384.pem", "ed25519.pem", "expired.pem"];
    let source = bundle(place.path(), &all);
    place.compile().arg(&source).assert().success();
    let before = std::fs::read(&place.stores()[0]).unwrap();

    bundle(place.path(), &all[..1]);
    let expected = contains(
        "holds 4 anchors, and only 1 would be left\n  help: if the source is correct: windlass compile --force",
    );
    place.compile().arg(&source).assert().code(6).stdout(contains("refused")).stderr(expected);
    assert_eq!(std::fs::read(&place.stores()[0]).unwrap(), before);
    let (report, status) = json_of(&place.store, &["compile".as_ref(), "--check".as_ref(), source.as_ref()]);
    assert_eq!((status, &report["sources"][0]["state"]), (5, &"stale".into()));

    place.compile().arg("--force").arg(&source).assert().success().stdout(contains("written"));
    assert_ne!(std::fs::read(&place.stores()[0]).unwrap(), before);

    // Half is not more than half.
    bundle(place.path(), &all);
    place.compile().arg(&source).assert().success();
    bundle(place.path(), &all[..2]);
    place.compile().arg(&source).assert().success();
}

#[test]
fn the_json_is_complete_and_documented() {
    let place = Scratch::new();
    let source = bundle(place.path(), &["rsa.pem", "expired.pem"]);
    let (report, status) = json_of(&place.store, &["compile".as_ref(), source.as_ref()]);
    assert_eq!(status, 0);
    assert_eq!((&report["schema"], &report["root"]), (&1.into(), &serde_json::Value::Null));
    assert_eq!(report["directory"], place.store.to_str().unwrap());
    let row = &report["sources"][0];
    let store = place.stores().remove(0);
    let expected = serde_json::json!({
        "kind": "cafile", "path": source, "reason": "named on the command line", "state": "written", "detail": null,
        "anchors": 2, "bytes": store.metadata().unwrap().len(), "store": store, "keys_not_decoded": 0,
    });
    assert_eq!(*row, expected);
    assert_documented(&["compile"], &[&report, &report["libcrypto"][0], row]);
    let help = windlass().args(["compile", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let states =
        ["written", "unchanged", "shrinks", "absent", "unreadable", "unsupported", "fresh", "fresh-by-content"];
    for state in states.iter().chain(&["stale", "missing", "unusable"]) {
        assert!(help.contains(&format!("\"{state}\"")), "{state}");
    }
}

#[test]
fn the_directory_must_be_one_that_readers_believe() {
    let place = Scratch::new();
    let source = bundle(place.path(), &["rsa.pem"]);
    std::fs::create_dir(&place.store).unwrap();
    std::fs::set_permissions(&place.store, std::fs::Permissions::from_mode(0o775)).unwrap();
    let expected =
        contains("others may write to it (mode 0775)").and(contains("help: the directory must belong to root"));
    place.compile().arg(&source).assert().code(1).stderr(expected);
    assert!(place.stores().is_empty());
    for value in ["", "relative"] {
        let mut command = windlass();
        command.env("WINDLASS_STORE", value).arg("compile").arg(&source);
        command.assert().code(1).stderr(contains("WINDLASS_STORE is set, but not to an absolute path\n  help: "));
    }
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    place.compile().arg("--store").arg(&file).arg(&source).assert().code(1).stderr(contains("help: "));
    place.compile().args(["--check", "--force"]).assert().code(2);
}

/// What a terminal would get, through script(1).
fn on_terminal(place: &Scratch, source: &Path) -> String {
    let mut command = std::process::Command::new("script");
    let line = format!("exec {} compile {}", env!("CARGO_BIN_EXE_windlass"), source.display());
    common::clean_environment(&mut command);
    command.env("WINDLASS_STORE", &place.store).args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn progress_is_for_terminals_and_for_what_takes_long() {
    let place = Scratch::new();
    let source = bundle(place.path(), &["rsa.pem"]);
    let erase = "\r\u{1b}[K";
    // On a busy machine one may take long by chance, but not all.
    assert!((0..100).any(|_| !on_terminal(&place, &source).contains(erase)));

    // A timestamp in the near future is waited for, unless it is past by the time that the command has started.
    let file = std::fs::File::options().append(true).open(&source).unwrap();
    let mut outputs = (0..30).map(|_| {
        file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(2)).unwrap();
        on_terminal(&place, &source)
    });
    let shown = format!("{erase}reading: {}", source.display());
    let output = outputs.find(|output| output.starts_with(&shown)).expect("progress");
    let (_, rest) = output.split_once(&shown).unwrap();
    let (_, table) = rest.rsplit_once(erase).unwrap();
    assert!(table.starts_with(&place.store.display().to_string()), "{table}");
    // One in the far future is not.
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(3600)).unwrap();
    let piped = std_windlass().env("WINDLASS_STORE", &place.store).arg("compile").arg(&source).output().unwrap();
    assert_eq!(String::from_utf8(piped.stderr).unwrap(), "");
    assert!(String::from_utf8(piped.stdout).unwrap().contains("so programs read it each time to compare"));
}
