//! Variables that make programs trust something other than the system's certificates.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::doctor::bundle::Contents;
use crate::doctor::certificate::Fingerprint;
use crate::doctor::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::doctor::directory::Directory;
use crate::doctor::environment::variables::Kind;
use crate::doctor::environment::{self, Setting};
use crate::doctor::machine::{Machine, Target};
use crate::doctor::measure::{Cost, is_ours};

pub const CHECK: Check = Check {
    id: "environment-overrides",
    title: "environment variables by which programs trust something else than the system's certificates",
    severity: Severity::Error,
    explanation: "SSL_CERT_FILE, SSL_CERT_DIR, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS, GIT_SSL_CAINFO and others name a file or \
        a directory of trusted certificates. If nothing is there, or nothing that can be read, such programs refuse every server; \
        curl and git say that the file is missing, OpenSSL's default paths say nothing. If it is another source than the system's, what is \
        added to or removed from the system's certificates does not reach these programs: that is a note, as it is often meant.\n\nIt is looked \
        at in the environment of the doctor, in files for logins and shells (/etc/environment, /etc/profile and the like, of the \
        system and of users), in systemd's units and the files they name, and in the environments of running processes: as root all, else \
        one's own. Processes of containers have paths of their own and are not meant. Values that are not known before they are expanded \
        ($HOME/ca.pem) are passed over. Variables that name a source of the system itself are no finding.\n\nThe cost is that of loading the \
        file into a fresh store.",
    run,
};

/// All files that are named so, together. Whose they are is not known.
const MAX_TOTAL: u64 = 64 << 20;
const MAX_FILE: u64 = 8 << 20;

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let settings = environment::collect(machine, outcome);
    let judge = Judge { machine, left: Cell::new(MAX_TOTAL), system: system(machine) };
    for setting in &settings.all {
        match judge.judge(setting) {
            Ok(None) => {}
            Ok(Some(verdict)) => outcome.found(finding(setting, verdict)),
            Err(unseen) => outcome.not_seen(unseen),
        }
    }
}

fn system(machine: &Machine<'_>) -> BTreeSet<Fingerprint> {
    let sources = machine.sources();
    let of_bundles = sources.bundles.iter().flat_map(|bundle| bundle.contents.fingerprints());
    of_bundles.chain(sources.directories.iter().flat_map(Directory::fingerprints)).collect()
}

/// What is wrong with a value.
struct Verdict {
    severity: Severity,
    what: &'static str,
    /// Why it matters, if not for what is usual with the variable.
    reason: Option<&'static str>,
    facts: Vec<String>,
    cost: Option<Cost>,
}

struct Judge<'a> {
    machine: &'a Machine<'a>,
    left: Cell<u64>,
    system: BTreeSet<Fingerprint>,
}

impl Judge<'_> {
    fn judge(&self, setting: &Setting) -> Result<Option<Verdict>, Unseen> {
        let path = setting.path();
        let kind = setting.variable.kind;
        if matches!(kind, Kind::Switch(_)) || setting.value.is_empty() && setting.variable.may_be_empty() {
            return Ok(None);
        }
        if setting.value.is_empty() {
            return Ok(Some(Verdict::of(Severity::Error, "is set to nothing, which stands in the way of the default")));
        }
        if kind == Kind::Directories {
            return self.directories(path);
        }
        if path.is_relative() {
            // Whoever is in another directory reads another file.
            let verdict = Verdict::of(Severity::Warning, "is a relative path");
            return Ok(Some(Verdict { reason: Some("in each directory it names another file, or none"), ..verdict }));
        }
        match (self.machine.look(path)?, kind) {
            (Target::Nothing | Target::Dangling, Kind::MoreCertificates) => {
                Ok(Some(Verdict::of(Severity::Warning, "leads nowhere: nothing is added")))
            }
            (Target::Nothing | Target::Dangling, _) => Ok(Some(Verdict::of(Severity::Error, "leads nowhere"))),
            (Target::Directory, Kind::Directory | Kind::FileOrDirectory) => self.directories(path),
            (Target::Directory, _) => {
                Ok(Some(Verdict::of(Severity::Error, "is a directory, not a file of certificates")))
            }
            (Target::File(_), Kind::Directory) => {
                Ok(Some(Verdict::of(Severity::Error, "is a file, not a directory of certificates")))
            }
            (Target::File(metadata), _) => self.file(path, kind, is_ours(&metadata)),
            (Target::Other, _) => {
                Ok(Some(Verdict::of(Severity::Warning, "is no regular file, so no certificate comes from it")))
            }
        }
    }

    fn file(&self, path: &Path, kind: Kind, is_ours: bool) -> Result<Option<Verdict>, Unseen> {
        let real = self.machine.real(path);
        if self.machine.sources().bundles.iter().any(|bundle| bundle.real == real) {
            return Ok(None);
        }
        let bytes = self.machine.read(path, MAX_FILE.min(self.left.get()))?;
        self.left.set(self.left.get().saturating_sub(bytes.len() as u64));
        let libcrypto = self.machine.libcryptos.first().filter(|_| is_ours);
        let contents = Contents::of(&bytes, libcrypto);
        let held = contents.fingerprints();
        if held.is_empty() {
            return Ok(Some(Verdict::of(Severity::Error, "holds no certificate")));
        }
        if let Some(bad) = contents.bad.first() {
            let verdict = Verdict::of(Severity::Error, "holds a bad block, and OpenSSL loads all of a file or nothing");
            return Ok(Some(Verdict { facts: vec![format!("line {}: {}", bad.line, bad.why)], ..verdict }));
        }
        if kind == Kind::MoreCertificates {
            return Ok(None);
        }
        let cost = if is_ours {
            self.machine.reach(path).ok().and_then(|path| self.machine.measure.load_file(&path))
        } else {
            None
        };
        Ok(Some(Verdict { facts: self.compared(&held), cost, ..Verdict::elsewhere() }))
    }

    /// One directory, or several with colons between.
    fn directories(&self, path: &Path) -> Result<Option<Verdict>, Unseen> {
        let all: Vec<PathBuf> = std::env::split_paths(path).filter(|path| !path.as_os_str().is_empty()).collect();
        let sources = self.machine.sources();
        let mut held = BTreeSet::new();
        let mut facts = Vec::new();
        let (mut usable, mut known) = (0, 0);
        for path in &all {
            if !matches!(self.machine.look(path)?, Target::Directory) {
                facts.push(format!("{} is no directory", path.display()));
                continue;
            }
            usable += 1;
            if let Some(directory) = sources.directory(self.machine, path) {
                known += 1;
                held.extend(directory.fingerprints());
            } else {
                held.extend(Directory::read(self.machine, path)?.fingerprints());
            }
        }
        if usable == 0 {
            return Ok(Some(Verdict { facts, ..Verdict::of(Severity::Error, "leads to no directory") }));
        }
        if held.is_empty() {
            return Ok(Some(Verdict {
                facts,
                ..Verdict::of(Severity::Error, "leads to no certificate that is named by hash")
            }));
        }
        if known == usable {
            if facts.is_empty() {
                return Ok(None);
            }
            let verdict = Verdict::of(Severity::Note, "names a directory that does not exist, beside the system's");
            return Ok(Some(Verdict { facts, reason: Some("programs look there too, each time, in vain"), ..verdict }));
        }
        facts.extend(self.compared(&held));
        Ok(Some(Verdict { facts, ..Verdict::elsewhere() }))
    }

    /// How what was found there differs from the system's.
    fn compared(&self, held: &BTreeSet<Fingerprint>) -> Vec<String> {
        let only_there = held.difference(&self.system).count();
        let only_system = self.system.difference(held).count();
        let mut facts = vec![format!("certificates there: {}", held.len())];
        if (only_there, only_system) == (0, 0) {
            facts.push(String::from("today these are the same as the system's"));
        } else {
            facts.push(format!("not among the system's: {only_there}"));
            facts.push(format!("of the system's, not there: {only_system}"));
        }
        facts
    }
}

impl Verdict {
    fn of(severity: Severity, what: &'static str) -> Verdict {
        Verdict { severity, what, reason: None, facts: Vec::new(), cost: None }
    }

    fn elsewhere() -> Verdict {
        let reason = "what is added to the system's certificates, or removed from them, does not reach these programs";
        Verdict { reason: Some(reason), ..Verdict::of(Severity::Note, "is another source than the system's") }
    }
}

fn finding(setting: &Setting, verdict: Verdict) -> Finding {
    let variable = setting.variable;
    let what = format!("{}={} {}", variable.name, String::from_utf8_lossy(&setting.value), verdict.what);
    let finding = match &setting.file {
        Some((path, line)) => Finding::new(verdict.severity, path, what).at_line(Some(*line)),
        None => Finding::of_machine(verdict.severity, what),
    };
    let reason = verdict.reason.unwrap_or(match variable.kind {
        Kind::MoreCertificates => "the certificates that were to be added are not",
        _ if variable.may_be_empty() => "these programs trust no certificate: they refuse every server",
        _ => {
            "programs that read only this trust nothing, as curl; OpenSSL's default paths say nothing of it, and go on with the other of \
             the two (file and directory) alone"
        }
    });
    let remedy = match verdict.severity {
        Severity::Note => {
            "if it is not meant, unset it; a CA that was to be added can be given to the system (update-ca-certificates, \
             update-ca-trust), or to one program: windlass run --add-ca FILE -- PROGRAM"
        }
        _ => "correct the path, or unset the variable",
    };
    finding
        .facts(setting.places.iter().map(|place| format!("set in {place}")))
        .facts([format!("heeded by {}", variable.readers)])
        .facts(verdict.facts)
        .reason(reason)
        .remedy(remedy)
        .cost(verdict.cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{Image, assert_silent, fixture};

    /// What is found when /etc/environment says this.
    fn said(image: &Image, line: &str) -> Vec<(Severity, String)> {
        image.write("etc/environment", line);
        let told = |finding: Finding| (finding.severity, finding.what);
        image.findings(&CHECK).into_iter().map(told).collect()
    }

    #[test]
    fn a_healthy_machine_is_silent() {
        assert_silent(&CHECK);
        let image = Image::healthy();
        for line in [
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            "SSL_CERT_DIR=/usr/lib/ssl/certs",
            "REQUESTS_CA_BUNDLE=/etc/ssl/certs",
            "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
            "CURL_CA_BUNDLE=",
            "GIT_SSL_CAINFO=$HOME/ca.pem",
        ] {
            assert_eq!(said(&image, line), [], "{line}");
        }
    }

    #[test]
    fn nowhere_empty_and_bad() {
        let image = Image::healthy();
        image.write("srv/empty.pem", "");
        image.write("srv/bad.pem", &(fixture("rsa.pem") + "-----BEGIN CERTIFICATE-----\n"));
        std::fs::create_dir(image.path("srv/no-hashes")).unwrap();
        let cases = [
            ("SSL_CERT_FILE=/nonexistent.pem", Severity::Error, "leads nowhere"),
            ("SSL_CERT_FILE=", Severity::Error, "is set to nothing, which stands in the way of the default"),
            ("SSL_CERT_DIR=/nonexistent:/also", Severity::Error, "leads to no directory"),
            ("SSL_CERT_DIR=/srv/no-hashes", Severity::Error, "leads to no certificate that is named by hash"),
            ("NODE_EXTRA_CA_CERTS=/nonexistent", Severity::Warning, "leads nowhere: nothing is added"),
            ("CURL_CA_BUNDLE=/srv/empty.pem", Severity::Error, "holds no certificate"),
            (
                "AWS_CA_BUNDLE=/srv/bad.pem",
                Severity::Error,
                "holds a bad block, and OpenSSL loads all of a file or nothing",
            ),
            (
                "SSL_CERT_DIR=/etc/ssl/certs:/gone",
                Severity::Note,
                "names a directory that does not exist, beside the system's",
            ),
            ("GIT_SSL_CAINFO=/etc/ssl/certs", Severity::Error, "is a directory, not a file of certificates"),
            ("PIP_CERT=ca.pem", Severity::Warning, "is a relative path"),
        ];
        for (line, severity, end) in cases {
            assert_eq!(said(&image, line), [(severity, format!("{line} {end}"))]);
        }
    }

    #[test]
    fn elsewhere_is_a_note_with_the_difference() {
        let image = Image::healthy();
        image.write("srv/own.pem", &fixture("ed25519.pem"));
        image.write("etc/profile.d/ca.sh", "\nexport REQUESTS_CA_BUNDLE=/srv/own.pem\n");
        image.write("etc/systemd/system/app.service", "[Service]\nEnvironment=REQUESTS_CA_BUNDLE=/srv/own.pem\n");
        let finding = image.finding(&CHECK);
        assert_eq!((finding.severity, finding.line), (Severity::Note, Some(2)));
        let facts: Vec<_> = finding.facts.shown.iter().map(String::as_str).collect();
        assert_eq!(
            facts,
            [
                "set in /etc/profile.d/ca.sh, line 2",
                "set in /etc/systemd/system/app.service, line 2",
                "heeded by Python's requests, and pip",
                "certificates there: 1",
                "not among the system's: 1",
                "of the system's, not there: 2",
            ]
        );
    }

    #[test]
    fn a_fifo_is_not_opened() {
        let image = Image::healthy();
        let made = std::process::Command::new("mkfifo").arg(image.path("fifo")).status().unwrap();
        assert!(made.success());
        let found = said(&image, "SSL_CERT_FILE=/fifo");
        assert_eq!(found[0].0, Severity::Warning);
    }
}
