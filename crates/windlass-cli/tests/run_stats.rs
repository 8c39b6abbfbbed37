//! `windlass run --stats`: the report.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{bundle, preload_library, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use windlass_counters::Stats;

const LABELS: [&str; 6] = [
    "openssl/processes",
    "openssl/certificates-registered",
    "openssl/certificates-parsed",
    "served/X509_STORE_set_default_paths",
    "bypass/unsupported-content",
    "later-adapter/something-new",
];

/// A line of shell that counts as a preload library would, in a process of its own: this test program again, told to
/// run nothing but [`counting_process`].
fn count(values: [u64; LABELS.len()]) -> String {
    let values: Vec<_> = values.iter().map(u64::to_string).collect();
    let program = std::env::current_exe().unwrap();
    format!("COUNT='{}' '{}' -q --exact counting_process >/dev/null", values.join(" "), program.display())
}

/// The process that [`count`] starts. It also shows, when run as a test, that nothing but a page is attached to.
#[test]
fn counting_process() {
    let Ok(values) = std::env::var("COUNT") else {
        assert!(Stats::attach(Path::new("/dev/null"), &LABELS).is_none());
        return;
    };
    let page = std::env::var_os("WINDLASS_STATS").expect("WINDLASS_STATS");
    let stats = Stats::attach(Path::new(&page), &LABELS).expect("a page of counters");
    for (slot, value) in values.split(' ').enumerate() {
        stats.add(slot, value.parse().unwrap());
    }
}

fn json(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

#[test]
fn the_table_tells_what_all_processes_did() {
    let both = format!("{}; {}", count([1, 150, 2, 1, 0, 0]), count([1, 300, 0, 2, 1, 7]));
    let expected = "\
windlass: 3 calls served and 1 bypassed in 2 processes
  2 of 450 certificates parsed, 448 saved
  served, by function
             3  X509_STORE_set_default_paths
  left to the program's own library, by reason
             1  unsupported-content
  OpenSSL
           450  certificates-registered
             2  certificates-parsed
  later-adapter
             7  something-new
";
    windlass().args(["run", "--stats", "--", "sh", "-c", &both]).assert().success().stdout("").stderr(expected);
}

#[test]
fn the_report_comes_after_everything_that_the_program_wrote() {
    let line = format!("{}; echo last >&2", count([1, 0, 0, 1, 0, 0]));
    let expected = "last\nwindlass: 1 call served and 0 bypassed in 1 process\n";
    windlass()
        .args(["run", "--stats", "sh", "-c", &line])
        .assert()
        .success()
        .stderr(predicate::str::starts_with(expected));
}

#[test]
fn the_json_has_every_counter() {
    let line = format!("{}; exit 3", count([1, 150, 2, 1, 0, 0]));
    let assert = windlass().args(["run", "--stats=json", "sh", "-c", &line]).assert().code(3);
    let expected = serde_json::json!({
        "schema": 1,
        "program": "sh",
        "exit_status": 3,
        "signal": null,
        "summary": {"processes": 1, "served": 1, "bypassed": 0, "certificates": 150, "parsed": 2, "saved": 148},
        "unreachable": null,
        "counters": {
            "openssl": {"processes": 1, "certificates-registered": 150, "certificates-parsed": 2},
            "served": {"X509_STORE_set_default_paths": 1},
            "bypass": {"unsupported-content": 0},
            "later-adapter": {"something-new": 0},
        },
    });
    assert_eq!(json(&assert.get_output().stderr), expected);
    assert_eq!(assert.get_output().stderr.iter().filter(|byte| **byte == b'\n').count(), 1);
}

#[test]
fn every_field_of_the_json_is_documented() {
    let help = windlass().args(["run", "--help"]).assert().success().get_output().stdout.clone();
    let help = String::from_utf8(help).unwrap();
    let assert = windlass().args(["run", "--stats=json", "true"]).assert().success();
    let report = json(&assert.get_output().stderr);
    let fields = report.as_object().unwrap().keys().chain(report["summary"].as_object().unwrap().keys());
    for field in fields {
        assert!(help.contains(field.as_str()), "{field}");
    }
}

#[test]
fn the_report_can_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("stats.json");
    let mut command = windlass();
    command.args(["run", "--stats=json", "--stats-file"]).arg(&file).args(["sh", "-c", "echo error >&2; exit 5"]);
    command.assert().code(5).stderr("error\n");
    assert_eq!(json(&std::fs::read(&file).unwrap())["exit_status"], 5);
}

/// Said before the program runs, not after.
#[test]
fn a_file_that_cannot_be_written_stops_the_run() {
    let mut command = windlass();
    command.args(["run", "--stats", "--stats-file=/no/such/directory/x", "echo", "ran"]);
    let expected = contains("cannot write /no/such/directory/x: No such file or directory\n  help: ");
    command.assert().code(125).stdout("").stderr(expected);
    let mut command = windlass();
    command.args(["run", "--stats", "--stats-file=/dev/full", "sh", "-c", "exit 6"]);
    command.assert().code(6).stderr(contains("No space left on device"));
}

#[test]
fn a_report_that_nobody_attached_to_says_so_and_how_to_see_why() {
    let expected = contains("windlass: no process attached, so nothing was served\n")
        .and(contains("static, setuid, of another architecture"))
        .and(contains("LD_DEBUG=files windlass run -- true 'a b' 2>&1 | grep -E 'libcrypto|libgnutls|windlass'\n"));
    windlass().args(["run", "--stats", "true", "a b"]).assert().success().stderr(expected);
}

/// What Node.js is: dynamic, but with an OpenSSL of its own in the executable. The texts are those that such code has
/// in it.
#[test]
fn a_library_that_is_linked_in_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("linked");
    let source = "const char *texts[] = {\"OpenSSL 3.0.13 30 Jan 2024\", \"../deps/openssl/crypto/x509/by_file.c\"};
                  int main(int count, char **values) { return texts[count % 2][0] == 0; }";
    common::compile(source, &program, &[]);
    let reason = "OpenSSL 3.0.13 is part of the executable itself, so no library can replace it";
    let expected = format!("windlass: no process attached, so nothing was served\n  {reason}\n");
    windlass().args(["run", "--stats", "--"]).arg(&program).assert().success().stderr(expected);
    assert_eq!(unreachable(windlass().args(["run", "--stats=json", "--"]).arg(&program)), reason);
}

fn unreachable(command: &mut assert_cmd::Command) -> serde_json::Value {
    json(&command.assert().get_output().stderr)["unreachable"].clone()
}

#[test]
fn a_static_program_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("static");
    common::compile("int main(void) { return 8; }", &program, &["-static"]);
    let mut command = windlass();
    command.args(["run", "--stats", "--"]).arg(&program);
    command.assert().code(8).stderr(contains("  the program is statically linked, so no library can be preloaded\n"));
    assert!(unreachable(windlass().args(["run", "--stats=json", "--"]).arg(&program)).is_string());
}

#[test]
fn a_setuid_program_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("setuid");
    common::compile("int main(void) { return 0; }", &program, &[]);
    if is_root() {
        // Only root can give files away. Anybody else finds a setuid program of root's on every system.
        let nobody = Command::new("chown").arg("65534").arg(&program).status().unwrap();
        assert!(nobody.success());
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    } else {
        std::fs::remove_file(&program).unwrap();
        std::os::unix::fs::symlink("/bin/su", &program).unwrap();
    }
    let mut command = windlass();
    command.args(["run", "--stats=json", "--stats-file"]).arg(directory.path().join("report"));
    command.arg(&program).arg("--help").assert().success();
    let report = json(&std::fs::read(directory.path().join("report")).unwrap());
    assert_eq!(report["unreachable"], "the program is setuid, so the loader ignores LD_PRELOAD");
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

#[test]
fn a_switched_off_library_is_recognised() {
    let mut command = windlass();
    command.env("WINDLASS_DISABLE", "1").args(["run", "--stats=json", "true"]);
    assert_eq!(unreachable(&mut command), "WINDLASS_DISABLE is set, so the library does nothing");
    for value in ["", "0"] {
        let mut command = windlass();
        command.env("WINDLASS_DISABLE", value).args(["run", "--stats=json", "true"]);
        assert!(unreachable(&mut command).is_null(), "{value:?}");
    }
}

/// `run` below `run --stats` belongs to the same process tree.
#[test]
fn a_run_without_stats_keeps_the_counters_of_an_outer_one() {
    let inner = count([1, 0, 0, 5, 0, 0]);
    let mut command = windlass();
    command.args(["run", "--stats=json", "--", env!("CARGO_BIN_EXE_windlass"), "run", "sh", "-c", &inner]);
    assert_eq!(json(&command.assert().success().get_output().stderr)["summary"]["served"], 5);
}

#[test]
fn the_real_library_counts_what_a_real_program_does() {
    let directory = tempfile::tempdir().unwrap();
    let roots = bundle(directory.path(), &["rsa.pem", "p384.pem", "expired.pem"]);
    let program = "import ssl\nfor _ in range(4): ssl.create_default_context()\n";
    let mut command = windlass();
    command.env("WINDLASS_PRELOAD_LIBRARY", preload_library()).env("SSL_CERT_FILE", &roots);
    command.args(["run", "--stats=json", "--", "/usr/bin/python3", "-c", program]);
    let report = json(&command.assert().success().stdout("").get_output().stderr);
    let expected =
        serde_json::json!({"processes": 1, "served": 4, "bypassed": 0, "certificates": 12, "parsed": 0, "saved": 12});
    assert_eq!(report["summary"], expected, "{report}");
    assert_eq!(report["counters"]["cache"]["load"], 1, "{report}");
}

#[test]
fn a_program_that_leaves_the_process_group_is_waited_for() {
    for (program, expected) in [(&["timeout", "60", "sh", "-c", "exit 7"][..], 7), (&["setsid", "-w", "true"], 0)] {
        windlass().args(["run", "--stats", "--"]).args(program).assert().code(expected);
    }
}
