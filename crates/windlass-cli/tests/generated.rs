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

/// Compares with a file of tests/help; WINDLASS_BLESS=1 writes it instead.
fn assert_snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help").join(name);
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} changed; see it with WINDLASS_BLESS=1 and git diff. Now:\n{text}");
}

/// The words that lead to each help text, and the name of its file.
fn commands() -> Vec<(Vec<&'static str>, String)> {
    let subcommands = SUBCOMMANDS.iter().map(|name| (name.split(' ').collect(), page(name)));
    std::iter::once((Vec::new(), String::from("windlass"))).chain(subcommands).collect()
}

#[test]
fn help_is_as_recorded() {
    for (words, file) in commands() {
        assert_snapshot(&format!("{file}.txt"), &output(&[&words[..], &["--help"]].concat()));
        assert_snapshot(&format!("{file}-short.txt"), &output(&[&words[..], &["-h"]].concat()));
    }
}

#[test]
fn every_help_has_examples_and_fits_terminals() {
    for (words, file) in commands() {
        for (columns, width) in [(None, 100), (Some("80"), 80), (Some("100"), 100), (Some("200"), 100)] {
            for option in ["--help", "-h"] {
                let mut command = windlass();
                command.args(&words).arg(option).envs(columns.map(|columns| ("COLUMNS", columns)));
                let help = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
                for line in help.lines() {
                    assert!(line.chars().count() <= width, "{file} {option} {columns:?}: {line}");
                }
                if option == "--help" {
                    assert!(help.contains("\nExamples:\n  windlass "), "{help}");
                    assert!(help.contains("\nExit status:\n    0  success\n    1  "), "{help}");
                }
            }
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

/// What was refused is no usage.
#[test]
fn the_usage_of_a_conflict_is_that_of_the_subcommand() {
    let cases: [(&[&str], &str); 3] = [
        (&["doctor", "--json", "--sarif"], "doctor [OPTIONS]"),
        (&["prune", "--undo", "--list"], "prune [OPTIONS] [PATH]..."),
        (&["compile", "--check", "--force", "x"], "compile [OPTIONS] [SOURCE]..."),
    ];
    for (arguments, usage) in cases {
        let expected = contains("cannot be used with").and(contains(format!("\nUsage: windlass {usage}\n")));
        windlass().args(arguments).assert().code(2).stdout("").stderr(expected);
    }
}

/// The value of an option that needs an equals sign is taken for an argument without it.
#[test]
fn a_value_without_its_equals_sign_is_told() {
    let tip = |value: &str| contains(format!("tip: for a value, write '--undo={value}'\n"));
    let refused = |arguments: &[&str]| windlass().arg("prune").args(arguments).assert().code(2).stdout("");
    refused(&["--undo", "2026-11-24T01:41:29Z"]).stderr(tip("2026-11-24T01:41:29Z"));
    refused(&["--yes", "--undo", "a", "b"]).stderr(tip("a").and(contains("\nUsage: windlass prune [OPTIONS]")));
    for arguments in [&["--undo", "--list"][..], &["/tmp", "--undo"], &["--list", "x"], &["--undo", "\u{1b}[1m"]] {
        refused(arguments).stderr(contains("cannot be used with").and(contains("tip:").not()));
    }
}

#[test]
fn help_is_a_subcommand_too() {
    assert_eq!(output(&["help"]), output(&["--help"]));
    for name in SUBCOMMANDS {
        let words: Vec<_> = std::iter::once("help").chain(name.split(' ')).collect();
        assert_eq!(output(&words), help(name), "{name}");
    }
    assert_eq!(output(&["cache", "help", "clear"]), help("cache clear"));
    windlass().args(["help", "no-such"]).assert().code(2);
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = output(&["completions", shell]);
        for word in SUBCOMMANDS.iter().flat_map(|name| name.split(' ')).chain(["stats", "json", "version", "help"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        for hidden in ["measured-run", "under-windlass"] {
            assert!(!script.contains(hidden), "{shell}: {hidden} is nobody's business");
        }
    }
}

/// What Bash would offer for the last of these words.
fn completed(script: &str, path: &Path, words: &str) -> String {
    // The function that is registered, called as Bash calls it.
    let line = format!(
        "PATH={}\n{script}\nfunction=$(complete -p windlass); function=${{function#*-F }}; function=${{function%% *}}\n\
         COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         $function windlass \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        path.display()
    );
    let output = Command::new("bash").args(["--norc", "--noprofile", "-c", &line]).output().unwrap();
    assert!(output.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_completions_of_bash_work() {
    let script = output(&["completions", "bash"]);
    let syntax = Command::new("bash").arg("-n").arg("-c").arg(&script).output().unwrap();
    assert!(syntax.status.success() && syntax.stderr.is_empty(), "{}", String::from_utf8_lossy(&syntax.stderr));
    let programs = tempfile::tempdir().unwrap();
    common::script(&programs.path().join("zz-program"), "#!/bin/sh\n");
    let file = programs.path().join("zz-file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let cases = [
        ("windlass compl", "completions\n"),
        ("windlass run --stats-", "--stats-file\n"),
        ("windlass top --onc", "--once\n"),
        // A command, wherever it begins.
        ("windlass run zz-", "zz-program\n"),
        ("windlass run -- zz-", "zz-program\n"),
        ("windlass run --stats -- zz-", "zz-program\n"),
        ("windlass run --stats = json zz-", "zz-program\n"),
        ("windlass run --add-ca ca.pem --stats-file = x zz-", "zz-program\n"),
        ("windlass trace --compare = 3 --html page.html zz-", "zz-program\n"),
        // Its arguments are its own, and so are files of options.
        ("windlass run zz-program --add-", "\n"),
        ("windlass trace zz-program /no/such/fil", "\n"),
        ("windlass run -- --sta", "\n"),
    ];
    for (words, expected) in cases {
        assert_eq!(completed(&script, programs.path(), words), expected, "{words}");
    }
    let words = format!("windlass run zz-program {}", file.trim_end_matches("le"));
    assert_eq!(completed(&script, programs.path(), &words), format!("{file}\n"));
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
    assert!(run.contains("\\fBwindlass run\\fR [OPTIONS] [\\-\\-] PROGRAM [ARGS]..."), "{run}");
    assert!(run.contains(".SH \"EXIT STATUS\"\n"), "{run}");
    // A line of a page may not be taken for a request.
    assert!(!run.lines().any(|line| line.starts_with("..") || line.starts_with('\'')), "{run}");
}

/// Whoever shows a page breaks its lines; what they would not fit into could not be read.
#[test]
fn manual_pages_fit_any_width() {
    let directory = tempfile::tempdir().unwrap();
    let pages = std::iter::once(String::new()).chain(SUBCOMMANDS.iter().map(|name| page(name)));
    for name in pages {
        let arguments: Vec<_> = ["man", &name].into_iter().filter(|argument| !argument.is_empty()).collect();
        let roff = output(&arguments);
        assert!(!roff.contains("\n.nf"), "{name} has lines that can't be broken");
        for title in roff.lines().filter_map(|line| line.strip_prefix(".SH ")) {
            assert!(title.len() <= 40, "{name}: {title}");
        }
        let file = directory.path().join("page.1");
        std::fs::write(&file, &roff).unwrap();
        for width in [60, 80, 130] {
            let mut man = Command::new("man");
            man.args(["-l", "--warnings"]).arg(&file).env("MANWIDTH", width.to_string()).env("LC_ALL", "C.UTF-8");
            let shown = man.env("MANPAGER", "cat").output().expect("man (tests/prune/packages.txt)");
            assert!(shown.status.success() && shown.stderr.is_empty(), "{name}: {shown:?}");
            let text = String::from_utf8(shown.stdout).unwrap();
            assert!(text.contains("EXIT STATUS\n") && text.contains("SEE ALSO\n"), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{name} {width}: {line}");
            }
        }
    }
}

/// Each page leads to others, and each of these is there.
#[test]
fn manual_pages_know_each_other() {
    let all: Vec<_> = SUBCOMMANDS.iter().map(|name| format!("windlass-{}", page(name))).collect();
    let see_also = |arguments: &[&str]| {
        let roff = output(arguments).replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
        assert!(!roff.contains("windlass-help"), "{roff}");
        let line = roff.split(".SH \"SEE ALSO\"\n").nth(1).unwrap().lines().next().unwrap().to_owned();
        line.split(", ").map(|name| name.strip_suffix("(1)").unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(see_also(&["man"]).iter().all(|name| all.contains(name)));
    for name in &all {
        let others = see_also(&["man", &name["windlass-".len()..]]);
        assert_eq!(others[0], "windlass");
        assert!(
            others.len() > 1 && others[1..].iter().all(|other| all.contains(other) && other != name),
            "{name}: {others:?}"
        );
    }
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
