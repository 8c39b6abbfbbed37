//! `doctor --json`.

use serde::Serialize;
use windlass_doctor::check::{Check, Finding, Severity, Unseen};
use windlass_doctor::registry;
use windlass_doctor::report::{Examined, Report, Summary};
use windlass_machine::json;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    root: Option<String>,
    summary: Summary,
    checks: Vec<Checked<'a>>,
    not_seen: &'a [Unseen],
}

#[derive(Serialize)]
struct Checked<'a> {
    id: &'static str,
    title: &'static str,
    severity: Severity,
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct List {
    schema: u32,
    checks: Vec<&'static Check>,
}

/// The report as one JSON object, with a final newline.
pub fn render(report: &Report) -> String {
    json::render(&Document {
        schema: 1,
        root: report.root.as_ref().map(|root| root.to_string_lossy().into_owned()),
        summary: report.summary,
        checks: report.results.iter().map(Checked::of).collect(),
        not_seen: report.unseen.shown(),
    })
}

/// All checks as one JSON object.
pub fn list() -> String {
    json::render(&List { schema: 1, checks: registry::all().collect() })
}

impl<'a> Checked<'a> {
    fn of(examined: &'a Examined) -> Checked<'a> {
        let Check { id, title, severity, .. } = *examined.check;
        Checked { id, title, severity, findings: &examined.outcome.findings }
    }
}
