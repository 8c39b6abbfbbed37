//! The doctor's report, however it is rendered. The field names are those of the JSON, which `windlass doctor --help`
//! documents.

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
    /// In the order in which they ran.
    pub results: Vec<Examined>,
    /// What could not be looked at, once each: several checks look at the same files.
    pub unseen: Unseens,
    /// Some of them may be known: a baseline was given.
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
    /// New findings of this severity; without a baseline all are new.
    pub errors: usize,
    /// New findings of this severity.
    pub warnings: usize,
    /// New findings of this severity.
    pub notes: usize,
    /// Findings that the baseline has.
    pub known: usize,
    /// Things that could not be looked at, and should have been.
    pub not_seen: usize,
    /// Things that only root can look at.
    pub needs_root: usize,
}

/// What a report comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was found that counts.
    Healthy,
    /// The worst finding that counts is a warning, or a note.
    Warnings,
    /// The worst finding is an error.
    Errors,
    /// Nothing was found that counts, but not everything could be looked at.
    Blind,
}

impl Report {
    /// Runs those checks that there is something for.
    pub fn of(machine: &Machine<'_>, checks: impl IntoIterator<Item = &'static Check>) -> Report {
        let examine = |check: &'static Check| {
            let mut outcome = Outcome::default();
            (check.run)(machine, &mut outcome);
            // Paths of an image mean something else on this machine. What is done from here names the image itself.
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

    /// Those that no baseline has.
    pub fn new_findings(&self) -> impl Iterator<Item = (&'static Check, &Finding)> {
        self.findings().filter(|(_, finding)| !finding.is_known)
    }

    /// Counts again, after a baseline was applied.
    pub fn summarise(&mut self) {
        self.summary = Summary::of(&self.results, &self.unseen);
    }

    /// What the worst finding says, if it is at least so bad, else what could not be seen does.
    pub fn verdict(&self, at_least: Severity) -> Verdict {
        match self.summary {
            Summary { errors: 1.., .. } => Verdict::Errors,
            Summary { warnings: 1.., .. } if at_least <= Severity::Warning => Verdict::Warnings,
            Summary { notes: 1.., .. } if at_least == Severity::Note => Verdict::Warnings,
            _ => self.verdict_if_accepted(),
        }
    }

    /// The same if all that was found is accepted.
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
