//! `windlass ls` on terminals, in pipes and on full disks.

mod common;

use std::process::Stdio;

use common::{bundle, fixture, std_windlass, windlass};

#[test]
fn the_table_fits_the_width() {
    for (columns, subject) in [
        ("200", "Unit Without Common Name"),
        ("69", "Unit Without Common Name"),
        ("68", "Unit Without Common Na…"),
        ("60", "Unit Without C…"),
        ("10", "Unit Withou…"),
    ] {
        let assert = windlass().env("COLUMNS", columns).arg("ls").arg(fixture("ed25519.pem")).assert().success();
        let output = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        let row = output.lines().nth(3).unwrap();
        assert!(row.starts_with(&format!("{subject}  2099")), "{columns}: {output}");
    }
}

/// What a terminal would get, through script(1).
fn on_terminal(environment: &[(&str, &str)]) -> String {
    let mut command = std::process::Command::new("script");
    let line = format!("exec {} ls {}", env!("CARGO_BIN_EXE_windlass"), fixture("expired.pem").display());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(["-qec", &line, "/dev/null"]);
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    assert!(on_terminal(&[("TERM", "xterm")]).contains("\u{1b}[31mExpired Root"));
    for plain in [
        on_terminal(&[("TERM", "xterm"), ("NO_COLOR", "1")]),
        on_terminal(&[("TERM", "dumb")]),
        String::from_utf8(
            std_windlass().env("TERM", "xterm").arg("ls").arg(fixture("expired.pem")).output().unwrap().stdout,
        )
        .unwrap(),
    ] {
        assert!(plain.contains("Expired Root") && !plain.contains('\u{1b}'), "{plain}");
    }
    assert!(on_terminal(&[("TERM", "xterm"), ("NO_COLOR", "")]).contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let source = bundle(directory.path(), &["rsa.pem"; 200]);
    for option in ["--json", "--"] {
        let mut child = std_windlass()
            .arg("ls")
            .arg(option)
            .arg(&source)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{option}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn output_that_cannot_be_written_is_1() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std_windlass().arg("ls").arg(fixture("rsa.pem")).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "windlass: standard output: No space left on device\n");
}
