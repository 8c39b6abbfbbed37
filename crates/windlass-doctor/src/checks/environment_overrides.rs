//! Variables that make programs trust something other than the system's certificates.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::bundle::Contents;
use crate::certificate::Fingerprint;
use crate::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::directory::Directory;
use crate::environment::variables::Kind;
use crate::environment::{self, Origin, Setting};
use crate::machine::{Machine, Target};
use crate::measure::Cost;

pub const CHECK: Check = Check {
    id: "environment-overrides",
    title: "environment variables that make programs trust certificates other than the system's",
    severity: Severity::Error,
    explanation: "\
        SSL_CERT_FILE, SSL_CERT_DIR, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, NODE_EXTRA_CA_CERTS, GIT_SSL_CAINFO and \
        others name a file or a directory of trusted certificates. If the file or directory is missing or \
        unreadable, these programs refuse every server; curl and git say that the file is missing, OpenSSL's default \
        paths say nothing. If it differs from the system's source, certificates added to or removed from the \
        system's do not affect these programs. That is often intended, so it is a note.\n\n\
        doctor looks for them in its own environment, in files for logins and shells (/etc/environment, /etc/profile \
        and the like, of the system and of users), in systemd's units and the files they name, and in the \
        environments of running processes: as root all of them, else those of this user. Processes in containers \
        have their own paths and are ignored. Values that need expansion ($HOME/ca.pem) are ignored, too. A variable \
        that names a source of the system itself is not a finding.\n\n\
        The cost is that of loading the file into a fresh store.",
    run,
};

/// Limits in bytes on the files that variables name: for those named by the system and its administrator…
const MAX_TOTAL: u64 = 64 << 20;
/// …and for those named by each user.
const MAX_OF_USER: u64 = 16 << 20;
const MAX_FILE: u64 = 8 << 20;
/// The most directories in one value.
const MAX_DIRECTORIES: usize = 16;

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let settings = environment::collect(machine, outcome);
    let mut judge = Judge { machine, left: HashMap::new(), system: system(machine) };
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

/// The fault of a value.
struct Verdict {
    severity: Severity,
    what: &'static str,
    /// Why it matters, if not for the variable's usual reason.
    reason: Option<&'static str>,
    facts: Vec<String>,
    cost: Option<Cost>,
}

/// The reason for not reading one file of many.
const TOO_MUCH: &str =
    "what is read of the files and directories that variables of the same user name has reached its limit";

struct Judge<'a> {
    machine: &'a Machine<'a>,
    /// The bytes that may still be read for each origin.
    left: HashMap<Origin, u64>,
    system: BTreeSet<Fingerprint>,
}

impl Judge<'_> {
    fn judge(&mut self, setting: &Setting) -> Result<Option<Verdict>, Unseen> {
        let path = setting.path();
        let kind = setting.variable.kind;
        if matches!(kind, Kind::Switch(_)) || setting.value.is_empty() && setting.variable.may_be_empty() {
            return Ok(None);
        }
        if setting.value.is_empty() {
            return Ok(Some(Verdict::of(Severity::Error, "is set to an empty value, which disables the default")));
        }
        if kind == Kind::Directories {
            return self.directories(setting);
        }
        if path.is_relative() {
            // A program in another directory reads another file.
            let verdict = Verdict::of(Severity::Warning, "is a relative path");
            return Ok(Some(Verdict {
                reason: Some("it names a different file in each directory, or none"),
                ..verdict
            }));
        }
        match (self.machine.look(path)?, kind) {
            (Target::Nothing | Target::Dangling, Kind::MoreCertificates) => {
                Ok(Some(Verdict::of(Severity::Warning, "leads nowhere: nothing is added")))
            }
            (Target::Nothing | Target::Dangling, _) => Ok(Some(Verdict::of(Severity::Error, "leads nowhere"))),
            (Target::Directory, Kind::Directory | Kind::FileOrDirectory) => self.directories(setting),
            (Target::Directory, _) => {
                Ok(Some(Verdict::of(Severity::Error, "is a directory, not a file of certificates")))
            }
            (Target::File(_), Kind::Directory) => {
                Ok(Some(Verdict::of(Severity::Error, "is a file, not a directory of certificates")))
            }
            (Target::File(_), _) => self.file(setting),
            (Target::Other, _) => {
                Ok(Some(Verdict::of(Severity::Warning, "is not a regular file, so it gives no certificate")))
            }
        }
    }

    /// The remaining bytes for a value. The origin with more left is charged: a user who sets the same value cannot
    /// hide it.
    fn left(&mut self, setting: &Setting) -> &mut u64 {
        let full = |origin| if matches!(origin, Origin::Command | Origin::System) { MAX_TOTAL } else { MAX_OF_USER };
        let [first, last] = setting.origins();
        let of = |origin| self.left.get(&origin).copied().unwrap_or_else(|| full(origin));
        let payer = if of(last) > of(first) { last } else { first };
        self.left.entry(payer).or_insert(full(payer))
    }

    fn file(&mut self, setting: &Setting) -> Result<Option<Verdict>, Unseen> {
        let (path, kind) = (setting.path(), setting.variable.kind);
        let real = self.machine.real(path);
        if self.machine.sources().bundles.iter().any(|bundle| bundle.real == real) {
            return Ok(None);
        }
        let machine = self.machine;
        let left = self.left(setting);
        let content = machine.read(path, MAX_FILE.min(*left)).map_err(|unseen| match *left {
            ..MAX_FILE => Unseen { why: String::from(TOO_MUCH), ..unseen },
            _ => unseen,
        })?;
        *left -= content.bytes.len() as u64;
        let is_ours = content.is_ours();
        let contents = Contents::of(&content.bytes, machine.libcryptos.first().filter(|_| is_ours));
        let held = contents.fingerprints();
        if held.is_empty() {
            let what = match contents.certificates.len() {
                0 => "holds no certificate",
                _ => "holds only certificates that their own trust settings refuse",
            };
            return Ok(Some(Verdict::of(Severity::Error, what)));
        }
        if let Some(bad) = contents.bad.first() {
            let verdict = Verdict::of(Severity::Error, "holds a bad block, and OpenSSL loads all of a file or nothing");
            return Ok(Some(Verdict { facts: vec![format!("line {}: {}", bad.line, bad.why)], ..verdict }));
        }
        if kind == Kind::MoreCertificates {
            return Ok(None);
        }
        let cost = machine.measure.load_file(&content.file);
        Ok(Some(Verdict { facts: self.compared(&held), cost, ..Verdict::elsewhere() }))
    }

    /// One directory, or several separated by colons. A value can name one of them any number of times.
    fn directories(&mut self, setting: &Setting) -> Result<Option<Verdict>, Unseen> {
        let named = std::env::split_paths(setting.path()).filter(|path| !path.as_os_str().is_empty());
        let mut by_name = BTreeSet::new();
        let mut all: Vec<PathBuf> = named.filter(|path| by_name.insert(path.clone())).collect();
        let mut by_place = BTreeSet::new();
        if all.len() <= 4 * MAX_DIRECTORIES {
            all.retain(|path| by_place.insert(self.machine.real(path)));
        }
        if all.len() > MAX_DIRECTORIES {
            let what = setting.file.as_ref().map_or(Path::new("/"), |(file, _)| file);
            let why = format!(
                "its {} names more than {MAX_DIRECTORIES} directories: they were not examined",
                setting.variable.name
            );
            return Err(Unseen::new(what, why));
        }
        let machine = self.machine;
        let sources = machine.sources();
        let mut held = BTreeSet::new();
        let mut facts = Vec::new();
        let mut not_read = Vec::new();
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
                let left = self.left(setting);
                if *left == 0 {
                    return Err(Unseen::new(path, TOO_MUCH));
                }
                let directory = Directory::read_within(machine, path, left)?;
                not_read.extend(directory.unseen.iter().cloned());
                held.extend(directory.fingerprints());
            }
        }
        if usable == 0 {
            return Ok(Some(Verdict { facts, ..Verdict::of(Severity::Error, "leads to no directory") }));
        }
        if let Some(unseen) = not_read.first() {
            // Its certificates may be in that unreadable part.
            if held.is_empty() {
                return Err(unseen.clone());
            }
            facts.push(format!("{} could not be examined: {}", unseen.path.display(), unseen.why));
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
            return Ok(Some(Verdict { facts, reason: Some("programs look there each time, in vain"), ..verdict }));
        }
        facts.extend(self.compared(&held));
        Ok(Some(Verdict { facts, ..Verdict::elsewhere() }))
    }

    /// How its certificates differ from the system's.
    fn compared(&self, held: &BTreeSet<Fingerprint>) -> Vec<String> {
        let only_there = held.difference(&self.system).count();
        let only_system = self.system.difference(held).count();
        let mut facts = vec![format!("certificates there: {}", held.len())];
        if (only_there, only_system) == (0, 0) {
            facts.push(String::from("today these are the same as the system's"));
        } else {
            facts.push(format!("only there: {only_there}"));
            facts.push(format!("only among the system's: {only_system}"));
        }
        facts
    }
}

impl Verdict {
    fn of(severity: Severity, what: &'static str) -> Verdict {
        Verdict { severity, what, reason: None, facts: Vec::new(), cost: None }
    }

    fn elsewhere() -> Verdict {
        let reason = "certificates added to or removed from the system's do not affect these programs";
        Verdict { reason: Some(reason), ..Verdict::of(Severity::Note, "is a different source from the system's") }
    }
}

fn finding(setting: &Setting, verdict: Verdict) -> Finding {
    let variable = setting.variable;
    let what = format!("{} {}", setting.assignment(), verdict.what);
    let reason = verdict.reason.unwrap_or(match variable.kind {
        Kind::MoreCertificates => "the additional certificates are not trusted",
        _ if variable.may_be_empty() => "these programs trust no certificate: they refuse every server",
        _ => {
            "programs that read only this source, such as curl, trust nothing; OpenSSL's default paths report no \
             error, and use only the other of the two (file and directory)"
        }
    });
    let remedy = match verdict.severity {
        Severity::Note => {
            "if it is not intended, unset it; to add a CA, add it to the system (update-ca-certificates, \
             update-ca-trust), or to one program: windlass run --add-ca FILE -- PROGRAM"
        }
        _ => "correct the path, or unset the variable",
    };
    setting
        .finding(verdict.severity, what)
        .facts([format!("read by {}", variable.readers)])
        .facts(verdict.facts)
        .reason(reason)
        .remedy(remedy)
        .cost(verdict.cost)
}

#[cfg(test)]
mod tests;
