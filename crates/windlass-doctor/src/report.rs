//! The doctor's report, independent of the output format. The field names are those of the JSON, which
//! `windlass doctor --help` documents.

use std::path::PathBuf;

use serde::Serialize;

use super::check::{Check, Finding, Outcome, Severity, Unseens};
use super::machine::{INSIDE, Machine};
use super::registry;

/// The findings of all checks.
#[derive(Debug)]
pub struct Report {
    /// The directory of `--root`.
    pub root: Option<PathBuf>,
    /// The results of the checks, in the order in which they ran.
    pub results: Vec<Examined>,
    /// The paths that could not be examined, each once: several checks read the same files.
    pub unseen: Unseens,
    /// Whether a baseline was given: if so, findings may be known.
    pub has_baseline: bool,
    /// Totals.
    pub summary: Summary,
}

/// The findings of one check.
#[derive(Debug)]
pub struct Examined {
    /// The check that ran.
    pub check: &'static Check,
    /// Its findings.
    pub outcome: Outcome,
}

/// Totals of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Number of checks that ran.
    pub checks: usize,
    /// New findings of severity error; without a baseline, all findings are new.
    pub errors: usize,
    /// New findings of severity warning.
    pub warnings: usize,
    /// New findings of severity note.
    pub notes: usize,
    /// Findings that are in the baseline.
    pub known: usize,
    /// Paths that could not be examined, but should have been.
    pub not_seen: usize,
    /// Paths that only root can examine.
    pub needs_root: usize,
}

/// The overall result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no finding that counts.
    Healthy,
    /// The worst finding that counts is a warning, or a note.
    Warnings,
    /// The worst finding is an error.
    Errors,
    /// There is no finding that counts, but not everything could be examined.
    Blind,
}

impl Report {
    /// Runs those of the checks that have anything to examine.
    pub fn of(machine: &Machine<'_>, checks: impl IntoIterator<Item = &'static Check>) -> Report {
        let examine = |check: &'static Check| {
            let mut outcome = Outcome::default();
            (check.run)(machine, &mut outcome);
            // Paths of an image have another meaning on this machine. Remedies that run from outside name the image
            // itself.
            for finding in outcome.findings.iter_mut().filter(|_| machine.is_image()) {
                if !finding.remedy.contains("--root ") && !finding.remedy.starts_with(INSIDE) {
                    finding.remedy.insert_str(0, INSIDE);
                }
            }
            Examined { check, outcome }
        };
        let results: Vec<_> =
            checks.into_iter().filter(|check| registry::applies(check, machine)).map(examine).collect();
        let mut unseen = Unseens::default();
        results.iter().for_each(|result| unseen.extend(&result.outcome.unseen));
        let summary = Summary::of(&results, &unseen);
        Report { root: machine.root.0.map(PathBuf::from), results, unseen, has_baseline: false, summary }
    }

    /// All findings, each with its check.
    pub fn findings(&self) -> impl Iterator<Item = (&'static Check, &Finding)> {
        self.results.iter().flat_map(|result| result.outcome.findings.iter().map(|finding| (result.check, finding)))
    }

    /// The findings that are not in the baseline.
    pub fn new_findings(&self) -> impl Iterator<Item = (&'static Check, &Finding)> {
        self.findings().filter(|(_, finding)| !finding.is_known)
    }

    /// Counts again, after a baseline was applied.
    pub fn summarise(&mut self) {
        self.summary = Summary::of(&self.results, &self.unseen);
    }

    /// Decided by the worst finding of at least this severity, or else by the unexamined paths.
    pub fn verdict(&self, at_least: Severity) -> Verdict {
        match self.summary {
            Summary { errors: 1.., .. } => Verdict::Errors,
            Summary { warnings: 1.., .. } if at_least <= Severity::Warning => Verdict::Warnings,
            Summary { notes: 1.., .. } if at_least == Severity::Note => Verdict::Warnings,
            _ => self.verdict_if_accepted(),
        }
    }

    /// The verdict if all findings are accepted.
    pub fn verdict_if_accepted(&self) -> Verdict {
        if self.summary.not_seen > 0 { Verdict::Blind } else { Verdict::Healthy }
    }
}

impl Summary {
    fn of(results: &[Examined], unseen: &Unseens) -> Summary {
        let findings = || results.iter().flat_map(|result| &result.outcome.findings);
        let count = |severity| findings().filter(|finding| !finding.is_known && finding.severity == severity).count();
        Summary {
            checks: results.len(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            known: findings().filter(|finding| finding.is_known).count(),
            not_seen: unseen.count() - unseen.need_root(),
            needs_root: unseen.need_root(),
        }
    }
}
