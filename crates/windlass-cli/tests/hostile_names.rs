//! Names of files are chosen by strangers. No output of any subcommand lets them drive a terminal, and JSON means the
//! same to programs.

mod common;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{fixture, windlass};
use serde_json::Value;

/// A control sequence of C1, one of C0, a text direction, and a letter that stays.
const NAME: &str = "\u{9b}31m\u{1b}[1m\u{202e}\u{2066}ü";
const IN_JSON: &str = r"\u009b31m\u001b[1m\u202e\u2066ü";
const IN_TEXT: &str = r"\u{9b}31m\u{1b}[1m\u{202e}\u{2066}ü";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A path with the name in it.
    fn path(&self, end: &str) -> PathBuf {
        self.0.path().join(format!("{NAME}{end}"))
    }

    fn bundle(&self) -> PathBuf {
        std::fs::copy(fixture("rsa.pem"), self.path(".pem")).unwrap();
        self.path(".pem")
    }

    fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = windlass();
        command.env("WINDLASS_STORE", self.path("-stores")).env("WINDLASS_PRELOAD_LIBRARY", common::stand_in());
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// As text, it shows the name escaped; standard error has it at least nowhere as it is.
    fn text(&self, arguments: &[&str], path: &Path) -> String {
        let output = self.command(arguments).arg(path).output().unwrap();
        let (text, error) = (harmless(output.stdout), harmless(output.stderr));
        assert!(text.contains(IN_TEXT) || error.contains(IN_TEXT), "{arguments:?}: {text}{error}");
        text + &error
    }

    /// As JSON, it has the name escaped, and programs get it as it is.
    fn json(&self, arguments: &[&str], path: &Path) {
        let output = self.command(arguments).arg(path).output().unwrap();
        let (text, error) = (harmless(output.stdout), harmless(output.stderr));
        assert!(text.contains(IN_JSON), "{arguments:?}: {text}{error}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value.to_string().contains(&Value::from(NAME).to_string().trim_matches('"').to_owned()), "{value}");
    }
}

/// The text, in which nothing drives a terminal.
fn harmless(bytes: Vec<u8>) -> String {
    let text = String::from_utf8(bytes).unwrap();
    let bad = |character: char| (character.is_control() && character != '\n') || "\u{202e}\u{2066}".contains(character);
    assert!(!text.contains(bad), "{text:?}");
    text
}

#[test]
fn ls() {
    let folder = Folder::new();
    let source = folder.bundle();
    folder.text(&["ls"], &source);
    folder.json(&["ls", "--json"], &source);
    folder.text(&["ls"], &folder.path("-missing"));
}

#[test]
fn compile_and_cache() {
    let folder = Folder::new();
    let source = folder.bundle();
    folder.text(&["compile"], &source);
    folder.json(&["compile", "--json"], &source);
    folder.json(&["compile", "--check", "--json"], &source);
    folder.text(&["compile", "--check"], &folder.path("-missing"));
    let without = |arguments: &[&str], escaped: &str| {
        let output = folder.command(arguments).output().unwrap();
        let text = harmless(output.stdout) + &harmless(output.stderr);
        assert!(text.contains(escaped), "{arguments:?}: {text}");
    };
    without(&["cache", "status"], IN_TEXT);
    without(&["cache", "status", "--json"], IN_JSON);
    without(&["cache", "clear", "--json"], IN_JSON);
    folder.text(&["compile"], &source);
    without(&["cache", "clear"], IN_TEXT);
}

#[test]
fn prune() {
    let folder = Folder::new();
    let directory = folder.path("-certs");
    std::fs::create_dir(&directory).unwrap();
    std::fs::copy(fixture("rsa.pem"), directory.join("rsa.pem")).unwrap();
    symlink("rsa.pem", directory.join("01234567.0")).unwrap();
    symlink(format!("{NAME}-gone.pem"), directory.join("01234567.1")).unwrap();
    symlink("gone.pem", directory.join(format!("{NAME}.pem"))).unwrap();
    let text = folder.text(&["prune", "--dry-run"], &directory);
    assert!(text.matches(IN_TEXT).count() >= 3, "{text}");
    folder.json(&["prune", "--dry-run", "--json"], &directory);
    folder.text(&["prune", "--dry-run"], &folder.path("-missing"));
}

#[test]
fn install_and_uninstall() {
    let folder = Folder::new();
    let root = folder.path("-root");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    folder.text(&["install", "--dry-run", "--root"], &root);
    for subcommand in ["install", "uninstall"] {
        folder.json(&[subcommand, "--dry-run", "--json", "--root"], &root);
        folder.text(&[subcommand, "--dry-run", "--root"], &folder.path("-missing"));
    }
}

#[test]
fn top() {
    let folder = Folder::new();
    let source = folder.bundle();
    folder.json(&["top", "--once", "--json", "--watch"], &source);
    folder.text(&["top", "--once", "--watch"], &folder.path("-missing"));
}

#[test]
fn run() {
    let folder = Folder::new();
    let program = folder.path(".sh");
    common::script(&program, "exit 0");
    let output = folder.command(&["run", "--stats=json", "--"]).arg(&program).output().unwrap();
    let error = harmless(output.stderr);
    assert!(error.contains(IN_JSON), "{error}");
    assert_eq!(serde_json::from_str::<Value>(&error).unwrap()["program"], program.to_str().unwrap());
    folder.text(&["run", "--stats", "--"], &program);
    folder.text(&["run", "--"], &folder.path("-missing"));
    let added = folder.bundle();
    let output = folder.command(&["run", "--stats", "--add-ca"]).arg(&added).args(["--", "true"]).output().unwrap();
    harmless(output.stderr);
    let output =
        folder.command(&["run", "--stats=json", "--add-ca"]).arg(&added).args(["--", "true"]).output().unwrap();
    assert!(harmless(output.stderr).contains(IN_JSON));
}

/// What they report is tested beside them.
#[test]
fn trace_and_doctor_errors() {
    let folder = Folder::new();
    folder.text(&["trace", "--"], &folder.path("-missing"));
    folder.text(&["doctor", "--baseline"], &folder.path("-missing"));
    folder.text(&["doctor", "--root"], &folder.path("-missing"));
}
