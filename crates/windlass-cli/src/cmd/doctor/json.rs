//! `doctor --json`.

use std::path::Path;
use windlass_machine::json;

use serde::Serialize;
use windlass_doctor::check::{Check, Finding, Unseen};
use windlass_doctor::measure::Cost;
use windlass_doctor::registry;
use windlass_doctor::report::{Examined, Report, Summary};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    root: Option<String>,
    summary: Summary,
    checks: Vec<Checked<'a>>,
    not_seen: Vec<NotSeen<'a>>,
}

#[derive(Serialize)]
struct Checked<'a> {
    id: &'static str,
    title: &'static str,
    severity: &'static str,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    severity: &'static str,
    known: bool,
    path: Option<String>,
    line: Option<u64>,
    what: &'a str,
    facts: &'a [String],
    more_facts: usize,
    reason: &'a str,
    remedy: &'a str,
    cost: Option<&'a Cost>,
}

#[derive(Serialize)]
struct NotSeen<'a> {
    path: String,
    why: &'a str,
    needs_root: bool,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    checks: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    id: &'static str,
    title: &'static str,
    severity: &'static str,
    explanation: &'static str,
}

/// The report as one JSON object, with a final newline.
pub fn render(report: &Report) -> String {
    json::render(&Document {
        schema: 1,
        root: report.root.as_deref().map(lossy),
        summary: report.summary,
        checks: report.results.iter().map(Checked::of).collect(),
        not_seen: report.unseen.shown().iter().map(NotSeen::of).collect(),
    })
}

/// All checks as one JSON object.
pub fn list() -> String {
    let listed = |check: &Check| Listed {
        id: check.id,
        title: check.title,
        severity: check.severity.name(),
        explanation: check.explanation,
    };
    json::render(&List { schema: 1, checks: registry::all().map(listed).collect() })
}

impl<'a> Checked<'a> {
    fn of(examined: &'a Examined) -> Checked<'a> {
        let Check { id, title, severity, .. } = *examined.check;
        let findings = examined.outcome.findings.iter().map(Found::of).collect();
        Checked { id, title, severity: severity.name(), findings }
    }
}

impl<'a> Found<'a> {
    fn of(finding: &'a Finding) -> Found<'a> {
        Found {
            severity: finding.severity.name(),
            known: finding.is_known,
            path: finding.path.as_deref().map(lossy),
            line: finding.line,
            what: &finding.what,
            facts: &finding.facts.shown,
            more_facts: finding.facts.more,
            reason: &finding.reason,
            remedy: &finding.remedy,
            cost: finding.cost.as_ref(),
        }
    }
}

impl<'a> NotSeen<'a> {
    fn of(unseen: &'a Unseen) -> NotSeen<'a> {
        NotSeen { path: lossy(&unseen.path), why: &unseen.why, needs_root: unseen.needs_root }
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
