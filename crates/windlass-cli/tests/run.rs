//! `windlass run` without --stats: the program, and nothing but the program.

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use common::{clean_environment, script, stand_in, std_windlass, windlass, windlass_with_default_signals};
use predicates::prelude::*;

#[test]
fn the_exit_status_is_that_of_the_program() {
    for status in [0, 1, 2, 77, 125, 255] {
        windlass().args(["run", "--", "sh", "-c", &format!("exit {status}")]).assert().code(status).stderr("");
    }
}

#[test]
fn the_program_replaces_windlass() {
    let child = std_windlass().args(["run", "sh", "-c", "echo $$"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), pid.to_string());
}

#[test]
fn a_signal_that_ends_the_program_is_seen_outside() {
    for (name, number) in [("TERM", 15), ("KILL", 9), ("INT", 2)] {
        let status =
            windlass_with_default_signals().args(["run", "sh", "-c", &format!("kill -{name} $$")]).status().unwrap();
        assert_eq!(status.signal(), Some(number));
    }
}

#[test]
fn arguments_are_passed_untouched() {
    let arguments = ["", " ", "-x", "--stats", "--", "a b", "*", "ü", "--help"];
    let mut command = windlass();
    command.args(["run", "printf", "[%s]"]).args(arguments);
    command.assert().success().stdout("[][ ][-x][--stats][--][a b][*][ü][--help]").stderr("");
}

#[test]
fn the_program_keeps_the_name_it_was_called_by() {
    windlass().args(["run", "sh", "-c", "echo $0"]).assert().success().stdout("sh\n");
}

#[test]
fn standard_streams_pass_byte_for_byte() {
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for options in [&["run"][..], &["run", "--stats"]] {
        let assert = windlass().args(options).args(["--", "cat"]).write_stdin(bytes.clone()).assert().success();
        assert!(assert.get_output().stdout == bytes, "{options:?}");
    }
    let assert = windlass().args(["run", "sh", "-c", "cat >&2"]).write_stdin(bytes.clone()).assert().success();
    assert!(assert.get_output().stderr == bytes);
}

#[test]
fn the_library_comes_first_in_ld_preload_and_the_rest_is_kept() {
    let library = stand_in().to_str().unwrap();
    let show = ["run", "sh", "-c", "printf %s \"$LD_PRELOAD\""];
    windlass().args(show).assert().success().stdout(library.to_owned());
    for present in ["libm.so.6", "libm.so.6 libdl.so.2", "libm.so.6:libdl.so.2"] {
        let mut command = windlass();
        command.env("LD_PRELOAD", present).args(show);
        command.assert().success().stdout(format!("{library}:{present}")).stderr("");
    }
}

#[test]
fn the_library_is_not_added_twice() {
    let library = stand_in().to_str().unwrap();
    let twice = ["run", env!("CARGO_BIN_EXE_windlass"), "run", "sh", "-c", "printf %s \"$LD_PRELOAD\""];
    windlass().args(twice).assert().success().stdout(library.to_owned());
    let present = format!("libm.so.6 {library}");
    let mut command = windlass();
    command.env("LD_PRELOAD", &present).args(["run", "sh", "-c", "printf %s \"$LD_PRELOAD\""]);
    command.assert().success().stdout(present);
}

#[test]
fn the_rest_of_the_environment_is_untouched() {
    let assert = windlass()
        .env_remove("WINDLASS_STORE")
        .env("A", "1\n2")
        .env("EMPTY", "")
        .args(["run", "env", "-0"])
        .assert()
        .success();
    let output = assert.get_output().stdout.clone();
    let mut names: Vec<_> = output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
    names.sort();
    let expected = [
        String::from("A=1\n2"),
        String::from("EMPTY="),
        format!("LD_PRELOAD={}", stand_in().display()),
        format!("PATH={}", std::env::var("PATH").unwrap()),
        format!("WINDLASS_PRELOAD_LIBRARY={}", stand_in().display()),
    ];
    assert_eq!(names, expected.iter().map(String::as_bytes).collect::<Vec<_>>());
}

/// Services of systemd start with SIGPIPE ignored, commands of a shell with its default; Rust changes it for itself.
#[test]
fn the_disposition_of_sigpipe_is_handed_on() {
    let ignored = |start: &str, options: &str| {
        let windlass = env!("CARGO_BIN_EXE_windlass");
        let line = format!("{start} exec {windlass} run {options} -- grep SigIgn /proc/self/status");
        let output = shell(&line);
        let mask = output.split_whitespace().nth(1).expect("a mask").to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << 12) != 0
    };
    for options in ["", "--stats"] {
        assert!(!ignored("", options), "default, {options}");
        assert!(ignored("trap '' PIPE;", options), "ignored, {options}");
    }
}

#[test]
fn a_closed_standard_stream_stays_closed() {
    let windlass = env!("CARGO_BIN_EXE_windlass");
    for options in ["", "--stats"] {
        let line =
            format!("exec {windlass} run {options} -- sh -c '[ -e /proc/$$/fd/0 ] && echo open || echo closed' <&-");
        assert_eq!(shell(&line), "closed\n");
        let line = line.replace("<&-", "</dev/null");
        assert_eq!(shell(&line), "open\n");
    }
}

/// The output of a line of shell, which may change what windlass is given.
fn shell(line: &str) -> String {
    let mut shell = std::process::Command::new("sh");
    clean_environment(&mut shell);
    String::from_utf8(shell.arg("-c").arg(line).output().unwrap().stdout).unwrap()
}

#[test]
fn a_missing_program_is_127() {
    let expected = predicate::str::contains("windlass: cannot run no-such-program: no such program in PATH\n  help: ");
    for options in [&["run"][..], &["run", "--stats"]] {
        windlass().args(options).arg("no-such-program").assert().code(127).stderr(expected.clone());
    }
    windlass().args(["run", "/no/such/program"]).assert().code(127).stderr(predicate::str::contains("no such file"));
    windlass().args(["run", ""]).assert().code(127);
}

#[test]
fn a_program_that_may_not_be_executed_is_126() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plain");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let expected = predicate::str::contains("Permission denied\n  help: make it executable");
    // What helps is what comes behind the options, of whichever command.
    for command in ["run", "trace"] {
        let ends = predicate::str::ends_with(format!("before it: -- sh {}\n", file.display()));
        windlass().arg(command).arg(&file).assert().code(126).stderr(expected.clone().and(ends));
    }
    windlass()
        .arg("run")
        .arg(directory.path())
        .assert()
        .code(126)
        .stderr(predicate::str::contains("it is a directory"));
    // Found in PATH, as execvp(3): nothing better comes.
    windlass().env("PATH", directory.path()).args(["run", "plain"]).assert().code(126).stderr(expected);
}

#[test]
fn a_script_whose_interpreter_is_missing_is_127() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script");
    script(&file, "#!/no/such/interpreter\n");
    for options in [&["run"][..], &["run", "--stats"]] {
        let assert = windlass().args(options).arg(&file).assert().code(127);
        assert.stderr(predicate::str::contains("interpreter"));
    }
}

/// execvp(3): a file without `#!` is given to the shell.
#[test]
fn a_script_without_an_interpreter_line_runs_in_the_shell() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script");
    script(&file, "echo \"$1\"; exit 9\n");
    for options in [&["run"][..], &["run", "--stats"]] {
        windlass().args(options).arg(&file).arg("a b").assert().code(9).stdout("a b\n");
    }
}

#[test]
fn path_is_searched_in_order() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(first.path().join("tool"), "not executable").unwrap();
    script(&second.path().join("tool"), "#!/bin/sh\necho second\n");
    let path = std::env::join_paths([first.path(), second.path()]).unwrap();
    windlass().env("PATH", path).args(["run", "tool"]).assert().success().stdout("second\n");
}

#[test]
fn options_are_known_and_a_program_is_needed() {
    windlass().args(["run", "--no-such-option", "true"]).assert().code(2);
    windlass().arg("run").assert().code(2);
    windlass().args(["run", "--stats=xml", "true"]).assert().code(2);
    windlass().args(["run", "--stats-file=x", "true"]).assert().code(2).stderr(predicate::str::contains("--stats"));
}
