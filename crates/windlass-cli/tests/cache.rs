//! `windlass cache`: what is shown and what is removed.

mod common;

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{assert_documented, bundle, fixture, json_of, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn compile(store: &Path, source: &Path) -> PathBuf {
    let (report, status) = json_of(store, &["compile".as_ref(), source.as_os_str()]);
    assert_eq!(status, 0, "{report:#}");
    report["sources"][0]["store"].as_str().unwrap().into()
}

fn status(store: &Path) -> Value {
    let (status, code) = json_of(store, &["cache".as_ref(), "status".as_ref()]);
    assert_eq!(code, 0);
    status["directories"][0].clone()
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_state_of_each_store_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("stores");
    let source = bundle(directory.path(), &["rsa.pem", "p384.pem"]);
    let file = compile(&store, &source);
    let bytes = std::fs::read(&file).unwrap();
    let state = || {
        let status = status(&store);
        let found = status["stores"][0].clone();
        assert_eq!((&status["state"], &found["file"]), (&"present".into(), &file.to_str().unwrap().into()));
        (found["state"].as_str().unwrap().to_owned(), found["detail"].as_str().unwrap_or_default().to_owned())
    };
    let assert_state = |expected: &str, detail: &str| {
        let (state, said) = state();
        assert!(state == expected && said.contains(detail) && said.is_empty() == detail.is_empty(), "{state}: {said}");
    };
    assert_state("fresh", "");
    let touched = std::fs::File::options().append(true).open(&source).unwrap();
    touched.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_state("fresh-by-content", "identity of the files has changed");
    bundle(directory.path(), &["rsa.pem"]);
    assert_state("stale", "bundle.pem has changed");
    mode(&file, 0o666);
    assert_state("distrusted", "others may write to it (mode 0666)");
    mode(&file, 0o644);
    std::fs::write(&file, &bytes[..40]).unwrap();
    assert_state("malformed", "40 bytes long instead of");
    std::fs::write(&file, "no compiled store").unwrap();
    assert_state("malformed", "not a compiled store");
    // The version follows the eight bytes by which the format is known.
    let mut other = bytes.clone();
    other[8] += 1;
    std::fs::write(&file, other).unwrap();
    assert_state("other-version", &format!("of version {}", windlass::compiled::VERSION + 1));
    let shown =
        contains(format!("{}  ", file.file_name().unwrap().to_str().unwrap())).and(contains("  other version\n"));
    windlass().env("WINDLASS_STORE", &store).args(["cache", "status"]).assert().success().stdout(shown);
}

#[test]
fn a_directory_that_is_not_believed_is_shown_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("stores");
    compile(&store, &fixture("rsa.pem"));
    mode(&store, 0o777);
    let found = status(&store);
    assert_eq!((&found["state"], &found["stores"][0]["state"]), (&"distrusted".into(), &"distrusted".into()));
    let why = contains(format!("1. {0} (not trusted: others may write to it (mode 0777))\n", store.display()));
    windlass().env("WINDLASS_STORE", &store).args(["cache", "status"]).assert().success().stdout(why);

    std::fs::remove_dir_all(&store).unwrap();
    assert_eq!(status(&store)["state"], "absent");
    std::fs::write(&store, "").unwrap();
    assert_eq!(status(&store)["state"], "unreadable");
}

#[test]
fn the_directories_are_shown_in_order() {
    let home = tempfile::tempdir().unwrap();
    let shown = |variables: &[(&str, &OsStr)]| {
        let mut command = windlass();
        let assert = command
            .env_remove("WINDLASS_STORE")
            .envs(variables.iter().copied())
            .args(["cache", "status"])
            .assert()
            .success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    let path = home.path().display();
    // Nobody is led to a directory by a home or a cache: what is there may have been written by many.
    for variables in [
        &[("HOME", home.path().as_os_str())][..],
        &[("HOME", "/no".as_ref()), ("XDG_CACHE_HOME", home.path().as_os_str())],
    ] {
        let by_home = shown(variables);
        assert!(by_home.starts_with("1. /var/cache/windlass") && !by_home.contains("\n2. "), "{by_home}");
    }
    let only = shown(&[("HOME", home.path().as_os_str()), ("WINDLASS_STORE", home.path().as_os_str())]);
    assert_eq!(only, format!("1. {path} (empty)\nWINDLASS_STORE is set: no other directory is used\n"));
    let none = shown(&[("WINDLASS_STORE", "".as_ref())]);
    assert_eq!(none, "WINDLASS_STORE is set, but not to an absolute path: no directory is used\n");
}

#[test]
fn clearing_removes_stores_and_leftovers_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("stores");
    let clear = || {
        let mut command = windlass();
        command.env("WINDLASS_STORE", &store).args(["cache", "clear"]);
        command
    };
    let nothing = format!("{}: nothing to remove\n", store.display());
    clear().assert().success().stdout(nothing.clone());
    assert!(!store.exists());

    let file = compile(&store, &fixture("rsa.pem"));
    let (leftover, foreign) = (store.join(".new-1"), store.join("notes.txt"));
    std::fs::write(&leftover, "").unwrap();
    std::fs::write(&foreign, "").unwrap();
    let removed = format!("removed {}\nremoved {}\n", file.display(), leftover.display());
    clear().assert().success().stdout(removed).stderr("");
    assert!(!file.exists() && !leftover.exists() && foreign.exists());
    clear().assert().success().stdout(nothing);

    compile(&store, &fixture("rsa.pem"));
    mode(&store, 0o777);
    clear().assert().code(1).stderr(contains("cannot clear").and(contains("others may write to it")));
    assert!(file.exists());
}

#[test]
fn the_json_is_complete_and_documented() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("stores");
    let source = bundle(directory.path(), &["rsa.pem", "rsa.pem"]);
    let file = compile(&store, &source);
    let (all, _) = json_of(&store, &["cache".as_ref(), "status".as_ref()]);
    let found = &all["directories"][0]["stores"][0];
    assert_eq!(
        (&all["schema"], &found["kind"], &found["path"]),
        (&1.into(), &"cafile".into(), &source.to_str().unwrap().into())
    );
    assert_eq!((&found["anchors"], &found["files"]), (&2.into(), &1.into()));
    assert_eq!(found["bytes"], file.metadata().unwrap().len());
    assert_eq!(found["source_bytes"], source.metadata().unwrap().len());
    let written = found["written"].as_str().unwrap();
    assert!(written.len() == 20 && written.ends_with('Z') && &written[10..11] == "T", "{written}");
    assert!(found["age_seconds"].as_u64().unwrap() < 3600);
    assert_documented(&["cache", "status"], &[&all, &all["directories"][0], found]);
    let help = windlass().args(["cache", "status", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let states = ["present", "absent", "distrusted", "unreadable", "fresh", "fresh-by-content", "stale", "malformed"];
    for state in states.iter().chain(&["other-version"]) {
        assert!(help.contains(&format!("\"{state}\"")), "{state}");
    }

    let (cleared, status) = json_of(&store, &["cache".as_ref(), "clear".as_ref()]);
    let expected = serde_json::json!({"schema": 1, "directory": store, "removed": [file], "leftovers": []});
    assert_eq!((cleared.clone(), status), (expected, 0));
    assert_documented(&["cache", "clear"], &[&cleared]);
}

#[test]
fn a_wrong_command_line_is_2() {
    windlass().arg("cache").assert().code(2);
    windlass().args(["cache", "status", "extra"]).assert().code(2);
    windlass().args(["cache", "refresh"]).assert().code(2);
}
