//! What comes from the definition of the command line: help, completions, manual pages.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::windlass;
use predicates::prelude::*;
use predicates::str::contains;

/// Those of `cache` have two words.
const SUBCOMMANDS: &[&str] = &[
    "run",
    "ls",
    "compile",
    "cache",
    "cache status",
    "cache clear",
    "doctor",
    "prune",
    "install",
    "uninstall",
    "trace",
    "top",
    "completions",
    "man",
];

/// The help of a subcommand.
fn help(name: &str) -> String {
    output(&name.split(' ').chain(["--help"]).collect::<Vec<_>>())
}

/// The name of its manual page and its snapshot.
fn page(name: &str) -> String {
    name.replace(' ', "-")
}

fn output(arguments: &[&str]) -> String {
    let assert = windlass().args(arguments).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Compares with a file of tests/snapshots; WINDLASS_BLESS=1 writes it instead.
fn assert_snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} changed; see it with WINDLASS_BLESS=1 and git diff. Now:\n{text}");
}

#[test]
fn help_is_as_recorded() {
    assert_snapshot("help.txt", &output(&["--help"]));
    assert_snapshot("help-short.txt", &output(&["-h"]));
    for name in SUBCOMMANDS {
        assert_snapshot(&format!("help-{}.txt", page(name)), &help(name));
    }
}

#[test]
fn every_help_has_examples_and_fits_a_hundred_columns() {
    let mut all = vec![output(&["--help"])];
    all.extend(SUBCOMMANDS.iter().map(|name| help(name)));
    for help in all {
        assert!(help.contains("\nExamples:\n  windlass "), "{help}");
        assert!(help.contains("\nExit status:\n    0  success\n    1  "), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(output(&["--version"]), format!("windlass {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_is_2() {
    windlass().assert().code(2).stderr(contains("Usage: windlass"));
    windlass().arg("no-such-subcommand").assert().code(2).stdout("");
    windlass().args(["ls", "--no-such-option"]).assert().code(2);
    windlass().args(["completions", "tcsh"]).assert().code(2).stderr(contains("possible values: bash, elvish, fish"));
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = output(&["completions", shell]);
        for word in SUBCOMMANDS.iter().flat_map(|name| name.split(' ')).chain(["stats", "json"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn the_completions_of_bash_work() {
    let script = output(&["completions", "bash"]);
    let line = format!(
        "{script}\nCOMP_WORDS=(windlass compl); COMP_CWORD=1; _windlass windlass compl windlass; echo \"${{COMPREPLY[*]}}\""
    );
    let syntax = Command::new("bash").arg("-n").arg("-c").arg(&script).output().unwrap();
    assert!(syntax.status.success() && syntax.stderr.is_empty(), "{}", String::from_utf8_lossy(&syntax.stderr));
    let completed = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    assert_eq!(
        String::from_utf8(completed.stdout).unwrap(),
        "completions\n",
        "{}",
        String::from_utf8_lossy(&completed.stderr)
    );
}

#[test]
fn manual_pages_are_made_for_the_command_and_its_subcommands() {
    let main = output(&["man"]);
    assert!(main.contains(".TH windlass 1") && main.contains("windlass\\-run(1)"), "{main}");
    for name in SUBCOMMANDS {
        let title = page(name);
        let page = output(&["man", &title]);
        assert!(page.contains(&format!(".TH windlass-{title} 1")), "{page}");
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
            assert!(
                page.contains(&format!(".SH {section}\n")) || page.contains(&format!(".SH \"{section}\"\n")),
                "{name}: {section}"
            );
        }
        assert!(page.contains(&format!("windlass {name}")), "{page}");
    }
    let run = output(&["man", "run"]);
    assert!(run.contains("windlass run [OPTIONS] [\\-\\-] PROGRAM [ARGS]..."), "{run}");
    assert!(run.contains(".SH \"EXIT STATUS\"\n"), "{run}");
    // A line of a page may not be taken for a request.
    assert!(!run.lines().any(|line| line.starts_with("..") || line.starts_with('\'')), "{run}");
}

#[test]
fn generated_text_works_in_a_pipe() {
    for arguments in [&["man", "run"][..], &["completions", "zsh"]] {
        let mut command = common::std_windlass();
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
    }
    windlass().args(["man", "no-such"]).assert().code(2).stderr(predicate::str::is_empty().not());
}
