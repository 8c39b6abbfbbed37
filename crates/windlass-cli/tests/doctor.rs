//! `windlass doctor` as a command: its output, its exit statuses, its documents. What each check finds is tested beside
//! the check.

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use common::{assert_documented, fixture, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// An image with one certificate, as bundle and in a hashed directory.
struct Image(tempfile::TempDir);

impl Image {
    fn healthy() -> Image {
        let image = Image(tempfile::tempdir().unwrap());
        for directory in ["etc/ssl/certs", "usr/lib/ssl"] {
            std::fs::create_dir_all(image.0.path().join(directory)).unwrap();
        }
        symlink("/etc/ssl/certs", image.path("usr/lib/ssl/certs")).unwrap();
        std::fs::copy(fixture("rsa.pem"), image.path("etc/ssl/certs/rsa.pem")).unwrap();
        std::fs::copy(fixture("rsa.pem"), image.path("etc/ssl/certs/ca-certificates.crt")).unwrap();
        let hash = common::listing_of(&fixture("rsa.pem"))["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
        symlink("rsa.pem", image.path(&format!("etc/ssl/certs/{hash}.0"))).unwrap();
        image
    }

    fn path(&self, inside: &str) -> std::path::PathBuf {
        self.0.path().join(inside)
    }

    /// A warning: OpenSSL reads a file of somebody's own too.
    fn with_warning(self) -> Image {
        std::fs::copy(fixture("rsa.pem"), self.path("usr/lib/ssl/cert.pem")).unwrap();
        self
    }

    /// As Debian delivers it: OpenSSL reads the bundle too, and one of the roots of package ca-certificates has
    /// expired.
    fn delivered(self) -> Image {
        symlink("/etc/ssl/certs/ca-certificates.crt", self.path("usr/lib/ssl/cert.pem")).unwrap();
        self.with_expired();
        std::fs::create_dir_all(self.path("usr/share/ca-certificates/mozilla")).unwrap();
        std::fs::copy(fixture("expired.pem"), self.path("usr/share/ca-certificates/mozilla/old.crt")).unwrap();
        std::fs::create_dir_all(self.path("var/lib/dpkg/info")).unwrap();
        let list = "/.\n/usr/share/ca-certificates/mozilla/old.crt\n";
        std::fs::write(self.path("var/lib/dpkg/info/ca-certificates.list"), list).unwrap();
        self
    }

    /// Adds an expired certificate to the bundle and to the directory.
    fn with_expired(&self) {
        let bundle = self.path("etc/ssl/certs/ca-certificates.crt");
        let text =
            std::fs::read_to_string(&bundle).unwrap() + &std::fs::read_to_string(fixture("expired.pem")).unwrap();
        std::fs::write(bundle, text).unwrap();
        std::fs::copy(fixture("expired.pem"), self.path("etc/ssl/certs/expired.pem")).unwrap();
        let listing = common::listing_of(&fixture("expired.pem"));
        let hash = listing["anchors"][0]["subject_hash"].as_str().unwrap().to_owned();
        symlink("expired.pem", self.path(&format!("etc/ssl/certs/{hash}.0"))).unwrap();
    }

    /// An error: the bundle ends in a bad block.
    fn with_error(self) -> Image {
        let text = std::fs::read_to_string(fixture("rsa.pem")).unwrap() + "-----BEGIN CERTIFICATE-----\n";
        std::fs::write(self.path("etc/ssl/certs/ca-certificates.crt"), text).unwrap();
        self
    }

    fn doctor(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = windlass();
        command.arg("doctor").arg("--root").arg(self.0.path()).args(arguments);
        command
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.doctor(arguments).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn text(arguments: &[&str]) -> String {
    let assert = windlass().args(arguments).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// The names of all checks.
fn checks() -> Vec<String> {
    let list: Value = serde_json::from_str(&text(&["doctor", "--list", "--json"])).unwrap();
    assert_eq!(list["schema"], 1);
    list["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_exit_status_tells_the_worst() {
    Image::healthy().doctor(&[]).assert().code(0).stdout(contains("0 errors, 0 warnings"));
    Image::healthy().with_warning().doctor(&[]).assert().code(7).stdout(contains("warning double-load"));
    Image::healthy().with_warning().with_error().doctor(&[]).assert().code(8).stdout(contains("error bundle-dropped"));
    // Notes do not count.
    let image = Image::healthy();
    std::fs::copy(fixture("doctor/leaf.pem"), image.path("etc/ssl/certs/leaf.pem")).unwrap();
    std::fs::write(
        image.path("etc/ssl/certs/ca-certificates.crt"),
        ["rsa.pem", "doctor/leaf.pem"].map(|name| std::fs::read_to_string(fixture(name)).unwrap()).concat(),
    )
    .unwrap();
    image.doctor(&["--check", "not-ca"]).assert().code(0).stdout(contains("note not-ca"));
}

#[test]
fn a_machine_as_the_distribution_delivers_it_has_no_fault() {
    let image = Image::healthy().delivered();
    let report = image.json(&["--json", "--no-measure"]);
    let severities = |id: &str| -> Vec<String> {
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap();
        let findings = check["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["severity"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((severities("double-load"), severities("expired")), (vec!["note".into()], vec!["note".into()]));
    image.doctor(&["--no-measure"]).assert().code(0).stdout(contains("0 errors, 0 warnings, 2 notes"));
    image.doctor(&["--no-measure", "--fail-on", "note"]).assert().code(7);
    let log = image.json(&["--sarif", "--no-measure"]);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["level"] == "note") && results.len() == 2, "{results:?}");
    // The same certificate, of somebody else.
    std::fs::write(image.path("var/lib/dpkg/info/ca-certificates.list"), "/.\n").unwrap();
    image.doctor(&["--no-measure"]).assert().code(7).stdout(contains("warning expired"));
}

#[test]
fn checks_can_be_skipped() {
    let image = Image::healthy().with_warning();
    let report = image.json(&["--json", "--no-measure", "--skip", "double-load", "--skip", "expired,not-ca"]);
    let ids: Vec<_> = report["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    let skipped = ["double-load", "expired", "not-ca", "processes"];
    assert_eq!(ids, checks().iter().filter(|id| !skipped.contains(&&***id)).collect::<Vec<_>>());
    image.doctor(&["--skip", "double-load"]).assert().code(0);
    image.doctor(&["--skip", "no-such"]).assert().code(2).stdout("").stderr(contains("double-load, bundle-differs, "));
    let none = image.doctor(&["--check", "expired", "--skip", "expired"]).assert().code(2).stdout("");
    none.stderr(contains("no check is left to run"));
}

#[test]
fn what_a_baseline_has_is_not_new() {
    let image = Image::healthy().with_warning();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("accepted.json");
    let file = file.to_str().unwrap();
    image.doctor(&["--write-baseline", file]).assert().code(0).stdout(contains("warning double-load"));
    let written = std::fs::read(file).unwrap();
    let document: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!((&document["schema"], &document["findings"][0]["check"]), (&1.into(), &"double-load".into()));
    assert_documented(&["doctor"], &[&document, &document["findings"][0]]);
    // Costs and counts differ from run to run, and are not in it.
    image.doctor(&["--write-baseline", file, "--no-measure"]).assert().code(0);
    assert_eq!(std::fs::read(file).unwrap(), written);

    let known = image.doctor(&["--baseline", file]).assert().code(0);
    known.stdout(contains("double-load").not()).stdout(contains("0 warnings, 0 notes; 1 in the baseline"));
    let report = image.json(&["--json", "--baseline", file]);
    assert_eq!((&report["summary"]["known"], &report["summary"]["warnings"]), (&1.into(), &0.into()));
    let log = image.json(&["--sarif", "--baseline", file]);
    assert_eq!(log["runs"][0]["results"][0]["suppressions"][0]["kind"], "external");

    image.with_expired();
    image.doctor(&["--baseline", file]).assert().code(7).stdout(contains("warning expired"));
    let log = image.json(&["--sarif", "--baseline", file]);
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    let suppressed: Vec<_> = results.map(|result| result["suppressions"].as_array().unwrap().len()).collect();
    assert!(suppressed.len() > 1 && suppressed[1..].iter().all(|count| *count == 0), "{suppressed:?}");
    assert_eq!(suppressed[0], 1);

    let missing = image.doctor(&["--baseline", "/nonexistent"]).assert().code(1).stdout("");
    missing.stderr(contains("cannot read the baseline /nonexistent: No such file or directory\n  help: create it:"));
    image.doctor(&["--write-baseline", "/nonexistent/a"]).assert().code(1).stdout("");
    image.doctor(&["--write-baseline", file, "--baseline", file]).assert().code(2);
    std::fs::write(file, "{}").unwrap();
    image.doctor(&["--baseline", file]).assert().code(1).stderr(contains("missing field `schema`"));
}

#[test]
fn what_the_exit_status_counts_can_be_chosen() {
    let status = |image: &Image, severity: &str, code| {
        image.doctor(&["--no-measure", "--fail-on", severity]).assert().code(code);
    };
    let warning = Image::healthy().with_warning();
    status(&warning, "error", 0);
    status(&warning, "warning", 7);
    let error = Image::healthy().with_error();
    status(&error, "error", 8);
    status(&error, "note", 8);
    // A note: a link that is not named by hash.
    let note = Image::healthy();
    symlink("nowhere", note.path("etc/ssl/certs/old.pem")).unwrap();
    status(&note, "warning", 0);
    status(&note, "note", 7);
    // There may be an error in what could not be looked at.
    std::fs::File::create(warning.path("etc/ssl/certs/00000000.0")).unwrap().set_len(1 << 30).unwrap();
    status(&warning, "error", 9);
    status(&warning, "warning", 7);
}

/// What a remedy says is done on this machine, and its paths are the image's.
#[test]
fn remedies_for_an_image_are_meant_for_the_image() {
    let image = Image::healthy().with_warning().with_error();
    symlink("nowhere", image.path("etc/ssl/certs/01234567.0")).unwrap();
    std::fs::create_dir_all(image.path("etc/profile.d")).unwrap();
    std::fs::write(image.path("etc/profile.d/a.sh"), "export GIT_SSL_NO_VERIFY=1\n").unwrap();
    let report = image.json(&["--json", "--no-measure"]);
    let findings = report["checks"].as_array().unwrap().iter().flat_map(|check| check["findings"].as_array().unwrap());
    let remedies: Vec<_> = findings.map(|finding| finding["remedy"].as_str().unwrap()).collect();
    assert!(remedies.len() >= 4, "{remedies:?}");
    let root = format!("`windlass prune --root {} ", image.0.path().display());
    for remedy in &remedies {
        assert!(remedy.starts_with("inside the image: ") || remedy.starts_with(&root), "{remedy}");
    }
    assert!(remedies.iter().any(|remedy| remedy.starts_with(&root)));
}

#[test]
fn an_image_has_no_running_programs_to_look_at() {
    let report = Image::healthy().json(&["--json"]);
    let ids: Vec<_> = report["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    let expected: Vec<_> = checks().into_iter().filter(|id| id != "processes").collect();
    assert_eq!(ids, expected);
    assert_eq!(report["summary"]["checks"], expected.len());
    Image::healthy()
        .doctor(&["--check", "processes"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("examines running processes, and an image has none"));
}

#[test]
fn an_empty_directory_is_no_healthy_image() {
    let empty = Image(tempfile::tempdir().unwrap());
    empty.doctor(&[]).assert().code(9).stdout(contains("nothing was found to examine"));
    // One whose programs have OpenSSL, which trusts nothing.
    std::fs::create_dir_all(empty.path("usr/lib/x86_64-linux-gnu")).unwrap();
    std::fs::write(empty.path("usr/lib/x86_64-linux-gnu/libcrypto.so.3"), "").unwrap();
    empty.doctor(&["--fail-on", "error"]).assert().code(8).stdout(contains("error no-default-source"));
}

#[test]
fn what_can_not_be_looked_at_has_a_status_of_its_own() {
    let image = Image::healthy();
    // A sparse file, larger than what is read.
    std::fs::File::create(image.path("etc/ssl/certs/ca-certificates.crt")).unwrap().set_len(1 << 30).unwrap();
    let report = image.json(&["--json", "--check", "expired"]);
    assert_eq!(report["not_seen"][0]["path"], "/etc/ssl/certs/ca-certificates.crt");
    assert_eq!(report["not_seen"][0]["why"], "larger than 64 MiB");
    image.doctor(&["--check", "expired"]).assert().code(9).stdout(contains("1 thing could not be examined"));
}

#[test]
fn a_wrong_command_line_is_2() {
    windlass()
        .args(["doctor", "--check", "no-such"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("double-load, bundle-differs, "));
    windlass()
        .args(["doctor", "--explain", "no-such"])
        .assert()
        .code(2)
        .stderr(contains("double-load, bundle-differs, "));
    windlass().args(["doctor", "--json", "--sarif"]).assert().code(2);
    windlass().args(["doctor", "--list", "--check", "expired"]).assert().code(2);
    windlass()
        .args(["doctor", "--root", "/nonexistent"])
        .assert()
        .code(1)
        .stderr(contains("cannot examine --root /nonexistent"));
}

#[test]
fn only_the_named_checks_run() {
    let image = Image::healthy().with_warning().with_error();
    let report =
        image.json(&["--json", "--no-measure", "--check", "expired", "--check", "double-load", "--check", "expired"]);
    let ids: Vec<_> = report["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["double-load", "expired"]);
    assert_eq!(report, image.json(&["--json", "--no-measure", "--check", "expired,double-load"]), "with commas");
    assert_eq!(report["summary"]["checks"], 2);
    assert_eq!(report["summary"]["errors"], 0);
}

#[test]
fn costs_are_measured_unless_that_is_switched_off() {
    let image = Image::healthy().with_warning();
    let cost = |arguments: &[&str]| image.json(arguments)["checks"][0]["findings"][0]["cost"].clone();
    assert!(cost(&["--json", "--check", "double-load", "--no-measure"]).is_null());
    let measured = cost(&["--json", "--check", "double-load"]);
    assert!(measured["nanoseconds"].as_u64().unwrap() > 0 && measured["runs"].as_u64().unwrap() >= 3, "{measured}");
    assert_eq!(measured["per"], "context");
    assert!(measured["library"].as_str().unwrap().starts_with("OpenSSL "), "{measured}");
    image.doctor(&["--check", "double-load"]).assert().stdout(contains("cost:   measured: "));
    image.doctor(&["--check", "double-load", "--no-measure"]).assert().stdout(contains("cost:").not());
}

#[test]
fn all_fields_of_the_json_are_documented() {
    let report = Image::healthy().with_warning().json(&["--json"]);
    assert_eq!(report["schema"], 1);
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["id"] == "double-load").unwrap();
    let finding = &found["findings"][0];
    let image = Image::healthy();
    std::fs::File::create(image.path("etc/ssl/certs/ca-certificates.crt")).unwrap().set_len(1 << 30).unwrap();
    let not_seen = &image.json(&["--json"])["not_seen"][0].clone();
    assert_documented(&["doctor"], &[&report, &report["summary"], found, finding, &finding["cost"], not_seen]);
}

#[test]
fn what_strangers_wrote_does_not_reach_the_terminal() {
    let image = Image::healthy();
    let name = "etc/ssl/certs/\u{1b}[31mred.pem";
    symlink("/nonexistent", image.path(name)).unwrap();
    let output = image.doctor(&["--check", "dangling-links"]).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(!output.contains('\u{1b}') && output.contains("\\u{1b}[31mred.pem -> /nonexistent"), "{output}");
}

#[test]
fn nor_does_it_in_json_or_in_errors() {
    let image = Image::healthy();
    let name = "\u{9b}31m\u{202e}red.pem";
    symlink("/nonexistent", image.path(&format!("etc/ssl/certs/{name}"))).unwrap();
    for format in ["--json", "--sarif"] {
        let output = image.doctor(&["--check", "dangling-links", format]).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert!(!output.contains(['\u{9b}', '\u{202e}']) && output.contains(r"\u009b31m\u202ered.pem"), "{output}");
        let parsed: Value = serde_json::from_str(&output).unwrap();
        assert!(parsed.to_string().contains(name), "for programs nothing changes");
    }
    let output = windlass().args(["doctor", "--root", "/nonexistent/\u{1b}[31m"]).output().unwrap();
    let output = String::from_utf8(output.stderr).unwrap();
    assert!(!output.contains('\u{1b}') && output.contains(r"/nonexistent/\u{1b}[31m: "), "{output}");
}

#[test]
fn hostile_files_are_survived() {
    let image = Image::healthy();
    let certs = |name: &str| image.path(&format!("etc/ssl/certs/{name}"));
    std::fs::write(certs("00000000.0"), vec![0_u8; 1 << 20]).unwrap();
    std::fs::write(certs("00000001.0"), "-----BEGIN CERTIFICATE-----\n".repeat(20_000)).unwrap();
    std::fs::create_dir(certs("00000002.0")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(certs("00000003.0")).status().unwrap();
    assert!(made.success());
    symlink("../../../../../../../etc/passwd", certs("00000004.0")).unwrap();
    symlink("/dev/zero", certs("00000005.0")).unwrap();
    // Certificates cut short at every place that matters, and bytes of them changed.
    let pem = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    for (number, length) in (4..body.len()).step_by(76).enumerate() {
        let cut = &body[..length / 4 * 4];
        std::fs::write(
            certs(&format!("1{number:07x}.0")),
            format!("-----BEGIN CERTIFICATE-----\n{cut}\n-----END CERTIFICATE-----\n"),
        )
        .unwrap();
        let mut changed = body.clone();
        changed.replace_range(length..=length, if &body[length..=length] == "A" { "B" } else { "A" });
        std::fs::write(
            certs(&format!("2{number:07x}.0")),
            format!("-----BEGIN CERTIFICATE-----\n{changed}\n-----END CERTIFICATE-----\n"),
        )
        .unwrap();
    }
    let report = image.json(&["--json"]);
    assert!(report["summary"]["warnings"].as_u64().unwrap() > 0);
    image.doctor(&[]).assert().code(7).stderr("");
}

#[test]
fn every_check_explains_itself_and_is_in_the_documentation() {
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let documentation = std::fs::read_to_string(documentation).unwrap();
    let rows = documentation.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id.to_owned()).collect();
    let checks = checks();
    assert_eq!(
        documented,
        checks.iter().cloned().collect::<BTreeSet<_>>(),
        "docs/doctor.md lists other checks than there are"
    );
    let list = text(&["doctor", "--list"]);
    for id in &checks {
        assert!(list.lines().any(|line| line.starts_with(&format!("{id} "))), "{id}");
        let explanation = text(&["doctor", "--explain", id]);
        assert!(explanation.starts_with(&format!("{id} (")) && explanation.lines().count() > 4, "{explanation}");
        // Title and severity in the documentation are those of the check.
        let title = explanation
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ");
        let severity = explanation.split(['(', ')']).nth(1).unwrap();
        assert!(
            documentation.contains(&format!("| `{id}` | {severity} | {title} |")),
            "| `{id}` | {severity} | {title} |"
        );
    }
}

/// On this machine's own files, with `openssl` as the judge: how many certificates of the bundle have expired, and
/// which names of the directory are not the hash of what they lead to.
#[test]
fn the_word_about_this_machine_is_that_of_openssl() {
    let openssl = |arguments: &[&str], path: &Path| {
        let output = std::process::Command::new("openssl")
            .arg("x509")
            .arg("-noout")
            .args(arguments)
            .arg("-in")
            .arg(path)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let report = windlass()
        .args(["doctor", "--json", "--no-measure", "--check", "expired", "--check", "hash-link-stale"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let told = |check: &str, path: &str| -> usize {
        let checks = report["checks"].as_array().unwrap();
        let findings = checks.iter().find(|found| found["id"] == check).unwrap()["findings"].as_array().unwrap();
        let findings = findings.iter().filter(|finding| finding["path"] == path);
        findings.map(|finding| finding["facts"].as_array().unwrap().len()).sum()
    };
    let directory = Path::new("/etc/ssl/certs");
    let text = std::fs::read_to_string(directory.join("ca-certificates.crt")).expect("package ca-certificates");
    let part = tempfile::NamedTempFile::new().unwrap();
    let mut expired = 0;
    for block in text.split_inclusive("-----END CERTIFICATE-----").filter(|block| block.contains("BEGIN CERTIFICATE")) {
        std::fs::write(part.path(), block).unwrap();
        expired += usize::from(!openssl(&["-checkend", "0"], part.path()).0);
    }
    assert_eq!(told("expired", "/etc/ssl/certs/ca-certificates.crt"), expired);
    let mut stale = 0;
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((hash, number)) = name.split_once('.').filter(|(hash, _)| hash.len() == 8) else { continue };
        if number.parse::<u32>().is_ok() && path.exists() {
            stale += usize::from(!openssl(&["-hash", "-subject_hash_old"], &path).1.lines().any(|line| line == hash));
        }
    }
    assert_eq!(told("hash-link-stale", "/etc/ssl/certs"), stale);
}

/// The examples of the manual page, as they stand there. `--root /mnt/image` is given an image, `>` a file.
#[test]
fn the_examples_of_the_manual_page_run() {
    let page = text(&["man", "doctor"]);
    assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains("the worst finding is an error"));
    let help = text(&["doctor", "--help"]);
    let examples = help.split("Examples:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let image = Image::healthy();
    let directory = tempfile::tempdir().unwrap();
    let mut count = 0;
    for example in examples.lines() {
        let roff = example.trim().replace('-', "\\-");
        assert!(page.contains(&roff), "{roff}");
        let line = example.trim().replace("/mnt/image", image.0.path().to_str().unwrap());
        let line = line.replacen("windlass", env!("CARGO_BIN_EXE_windlass"), 1);
        let mut shell = std::process::Command::new("sh");
        common::clean_environment(&mut shell);
        let output = shell.arg("-c").arg(&line).current_dir(directory.path()).output().unwrap();
        // What it finds is the machine's own.
        assert!(matches!(output.status.code(), Some(0 | 7 | 8 | 9)), "{line}: {output:?}");
        assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        count += 1;
    }
    assert!(count >= 6, "{examples}");
    let log = std::fs::read(directory.path().join("windlass.sarif")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&log).unwrap()["version"], "2.1.0");
}
