//! Accepted findings. They are kept in a file, and are no longer reported as new.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_machine::{Failure, json};

use super::check::{Check, Finding, Severity};
use super::report::Report;

/// The version of the file. Any other version is refused, because its effect is unknown.
const SCHEMA: u32 = 1;
/// In bytes. A finding takes some hundred bytes, and a directory of 50,000 names some megabytes.
const MAX_SIZE: u64 = 64 << 20;

/// The accepted findings.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: u32,
    findings: Vec<Accepted>,
}

/// One finding, identified by its constant parts: no costs, no counts, no line numbers, no process ids.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Accepted {
    check: String,
    severity: String,
    path: Option<String>,
    about: BTreeSet<String>,
}

impl Baseline {
    /// All findings of a report.
    pub fn of(report: &Report) -> Baseline {
        let mut findings: Vec<_> = report.findings().map(|(check, finding)| Accepted::of(check, finding)).collect();
        findings.sort_unstable();
        findings.dedup();
        Baseline { schema: SCHEMA, findings }
    }

    /// Reads the file that [`Baseline::write`] wrote.
    pub fn read(path: &Path) -> Result<Baseline, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::other(format!("cannot read the baseline {}", path.display()), why)
                .advise(format!("create it: windlass doctor --write-baseline {}", path.display()))
        };
        let metadata = path.metadata().map_err(|error| failed(&error))?;
        if !metadata.is_file() || metadata.len() > MAX_SIZE {
            return Err(failed(&"it is not a regular file of at most 64 MiB"));
        }
        let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
        let baseline: Baseline = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
        if baseline.schema != SCHEMA {
            return Err(failed(&format!("it has schema {}, and this version reads {SCHEMA}", baseline.schema)));
        }
        Ok(baseline)
    }

    /// Writes the file atomically: every reader sees all of the old one or all of the new one.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let failed = |error| Failure::other(format!("cannot write the baseline {}", path.display()), error);
        let write = || {
            // A link is kept: its target is replaced.
            let real = match std::fs::canonicalize(path) {
                Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => std::path::absolute(path),
                real => real,
            }?;
            let mode = match real.metadata() {
                Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
                // A device or a FIFO would be replaced by a file.
                Ok(_) => return Err(std::io::Error::other("it exists, and is not a regular file")),
                Err(_) => None,
            };
            let directory = real.parent().unwrap_or(Path::new("/"));
            // The mode of a new file, less the umask.
            let mut builder = tempfile::Builder::new();
            let mut file = builder
                .permissions(std::fs::Permissions::from_mode(0o666))
                .tempfile_in(directory)
                .map_err(without_path)?;
            if let Some(mode) = mode {
                file.as_file().set_permissions(mode)?;
            }
            file.write_all(json::render(self).as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&real).map_err(|error| error.error)?;
            std::fs::File::open(directory)?.sync_all()
        };
        write().map_err(failed)
    }

    /// Marks the accepted findings in a report.
    pub fn apply(&self, report: &mut Report) {
        for result in &mut report.results {
            for finding in &mut result.outcome.findings {
                finding.is_known = self.has(result.check, finding);
            }
        }
        report.has_baseline = true;
        report.summarise();
    }

    /// A finding that became worse counts as new, and so does one that grew.
    fn has(&self, check: &Check, finding: &Finding) -> bool {
        let new = Accepted::of(check, finding);
        self.findings.iter().any(|known| {
            (&known.check, &known.path) == (&new.check, &new.path)
                && Severity::named(&known.severity).is_some_and(|severity| severity >= finding.severity)
                && new.about.is_subset(&known.about)
        })
    }
}

/// The error without tempfile's own path, which the user does not know.
fn without_path(error: std::io::Error) -> std::io::Error {
    error.kind().into()
}

impl Accepted {
    fn of(check: &Check, finding: &Finding) -> Accepted {
        Accepted {
            check: check.id.to_owned(),
            severity: finding.severity.name().to_owned(),
            path: finding.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
            about: finding.about.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Outcome, Unseens};
    use crate::registry;
    use crate::report::{Examined, Summary};

    fn report(findings: Vec<Finding>) -> Report {
        let check = registry::named("expired").unwrap();
        let results = vec![Examined { check, outcome: Outcome { findings, ..Outcome::default() } }];
        Report { root: None, results, unseen: Unseens::default(), has_baseline: false, summary: Summary::default() }
    }

    fn finding(severity: Severity, about: &[&str]) -> Finding {
        Finding::new(severity, "/a", format!("{} found", about.len())).about(about.iter().map(|one| one.to_string()))
    }

    #[test]
    fn what_has_grown_or_become_worse_is_new() {
        let baseline = Baseline::of(&report(vec![finding(Severity::Warning, &["x", "y"])]));
        let is_known = |finding| {
            let mut report = report(vec![finding]);
            baseline.apply(&mut report);
            assert_eq!(
                report.summary.known + report.summary.errors + report.summary.warnings + report.summary.notes,
                1
            );
            report.summary.known == 1
        };
        assert!(is_known(finding(Severity::Warning, &["y", "x"]).at_line(Some(7))));
        assert!(is_known(finding(Severity::Note, &["y"])), "less than was accepted");
        assert!(!is_known(finding(Severity::Warning, &["x", "z"])), "another");
        assert!(!is_known(finding(Severity::Warning, &["x", "y", "z"])), "one more");
        assert!(!is_known(finding(Severity::Error, &["x", "y"])), "worse");
        assert!(!is_known(Finding { path: None, ..finding(Severity::Warning, &["x"]) }), "elsewhere");
    }

    #[test]
    fn the_file_is_replaced_at_once_and_nothing_but_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let baseline = Baseline::of(&report(vec![finding(Severity::Note, &["\u{202e}"])]));
        let path = directory.path().join("baseline.json");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("baseline.json", &link).unwrap();
        baseline.write(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        baseline.write(&link).unwrap();
        assert!(link.is_symlink() && path.metadata().unwrap().permissions().mode() & 0o777 == 0o640);
        assert_eq!(directory.path().read_dir().unwrap().count(), 2, "nothing is left beside it");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(r"\u202e"), "{text}");
        assert_eq!(Baseline::read(&path).unwrap().findings, baseline.findings);
        std::fs::write(&path, text.replace("\"schema\": 1", "\"schema\": 2")).unwrap();
        assert!(Baseline::read(&path).unwrap_err().to_string().contains("schema 2"));
        assert!(baseline.write(directory.path()).unwrap_err().to_string().contains("not a regular file"));
    }
}
