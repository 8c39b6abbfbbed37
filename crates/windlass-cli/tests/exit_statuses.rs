//! One mistake has one exit status, whichever subcommand it is made with.

mod common;

use std::path::Path;
use std::process::Stdio;

use common::windlass;

/// How the command ends with these arguments, in a folder with `junk.pem` (no certificate), and with a stand-in for
/// each library.
fn status(folder: &Path, arguments: &str) -> (i32, String) {
    let mut command = windlass();
    command.current_dir(folder).env("WINDLASS_STORE", folder.join("stores"));
    command.env("WINDLASS_PRELOAD_LIBRARY", common::stand_in()).env("WINDLASS_TRACE_LIBRARY", common::stand_in());
    let output = command.args(arguments.split(' ')).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_mistake_has_the_same_status_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("junk.pem"), "junk\n").unwrap();
    let table: [(&str, i32, &[&str]); 7] = [
        (
            "a source is missing",
            3,
            &["ls /no", "compile /no", "compile --check /no", "prune --dry-run /no", "top --once --watch /no"],
        ),
        ("a source holds something else", 4, &["ls junk.pem", "compile junk.pem", "compile --check junk.pem"]),
        (
            "the command line is not understood",
            2,
            &[
                "no-such",
                "ls --no-such",
                "run",
                "trace",
                "doctor --check no-such",
                "doctor --skip no-such",
                "trace --fail-if no-such -- true",
                "man no-such",
                "completions no-such",
            ],
        ),
        (
            "a root directory is missing",
            1,
            &[
                "doctor --root /no",
                "compile --root /no",
                "prune --root /no --dry-run",
                "install --root /no --dry-run",
                "uninstall --root /no --dry-run",
            ],
        ),
        (
            "a root directory is a file",
            1,
            &[
                "doctor --root junk.pem",
                "compile --root junk.pem",
                "prune --root junk.pem --dry-run",
                "install --root junk.pem --dry-run",
                "uninstall --root junk.pem --dry-run",
            ],
        ),
        ("a program is missing", 127, &["run -- /no", "trace -- /no"]),
        (
            "a file is missing, or can't be written, before the program",
            125,
            &["run --add-ca /no -- true", "run --stats --stats-file=/no/x -- true", "trace --json /no/x -- true"],
        ),
    ];
    for (mistake, expected, all) in table {
        for arguments in all {
            let (found, error) = status(folder.path(), arguments);
            assert_eq!(found, expected, "{mistake}: windlass {arguments}: {error}");
            assert!(!error.is_empty(), "{mistake}: windlass {arguments} says nothing");
        }
    }
}

/// Also help is output that somebody may wait for.
#[test]
fn output_that_cannot_be_written_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let all = [
        "--help",
        "-h",
        "--version",
        "help run",
        "ls --help",
        "ls",
        "man",
        "completions bash",
        "doctor --list",
        "cache status",
        "compile --check",
        "prune --list",
        "prune --dry-run",
        "install --dry-run",
        "trace --output - -- true",
    ];
    for arguments in all {
        let mut command = common::std_windlass();
        command.current_dir(folder.path()).env("WINDLASS_STORE", folder.path().join("stores"));
        command.env("WINDLASS_PRELOAD_LIBRARY", common::stand_in()).env("WINDLASS_TRACE_LIBRARY", common::stand_in());
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let child = command.args(arguments.split(' ')).stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
        let output = child.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "windlass {arguments}: {error}");
        assert!(error.contains("standard output: No space left on device"), "windlass {arguments}: {error}");
    }
}
