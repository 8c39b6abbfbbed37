//! The report of `windlass trace` for people.

pub mod comparison;
mod head;
mod tables;

use windlass_trace_report::frames::{Frame, Kind, NamedStack};
use windlass_trace_report::report::Report;

pub use head::nothing;

use super::numbers::{count, time};
use crate::output::terminal::printable;
use crate::output::wrap::wrapped;

/// Rows of each part; --json and --html have all.
const ENTRIES: usize = 20;
const STACKS: usize = 5;
const PROCESSES: usize = 20;
const SOURCES: usize = 10;
const ANCHORS: usize = 5;
const UNREACHED: usize = 10;
/// Lines are no longer than that even where nothing limits them.
const WIDEST: u16 = 120;

/// The whole report, in lines of this width.
pub fn render(report: &Report, width: Option<u16>) -> String {
    let width = width.unwrap_or(WIDEST).min(WIDEST);
    let mut text = head::render(report, width);
    if report.has_loads() {
        text.push_str(&tables::entries(report, width));
        text.push_str(&stacks(report, width));
    }
    text.push_str(&tables::processes(report, width));
    text.push_str(&unseen(report, width));
    text.push_str(
        &report.comparison.as_ref().map(|comparison| comparison::render(comparison, width)).unwrap_or_default(),
    );
    let notes: String = report.notes.iter().map(|note| item(note, width)).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\nNotes\n{notes}"));
    }
    text
}

/// A sentence of a list.
fn item(text: &str, width: u16) -> String {
    wrapped(&printable(text), "  ", "    ", Some(width))
}

fn stacks(report: &Report, width: u16) -> String {
    let mut text = String::from("\nCall stacks of loads, most expensive first\n");
    for NamedStack { program, frames, sum } in report.stacks.iter().take(STACKS) {
        let what = format!(
            "{} in {program}: {}, {}",
            time(sum.wall),
            count(sum.calls, "call", "calls"),
            count(sum.certificates, "certificate", "certificates")
        );
        text.push_str(&item(&what, width));
        let lines =
            frames.iter().rev().map(|frame| wrapped(&printable(&line(frame)), "      ", "          ", Some(width)));
        text.extend(lines);
    }
    text + &rest(report.stacks.len(), STACKS, "call stack", "call stacks")
}

fn line(frame: &Frame) -> String {
    match (&frame.place, frame.kind) {
        (_, Kind::Object) => format!("[{}]", frame.name),
        (Some(place), _) => format!("{} ({place})", frame.name),
        (None, _) => frame.name.clone(),
    }
}

/// What could not be seen, and sources that could not be read.
fn unseen(report: &Report, width: u16) -> String {
    let mut text = String::new();
    if report.summary.processes > 0 {
        text.extend(report.unreachable.iter().map(|reason| item(reason, width)));
    }
    for unreached in report.unreached.iter().take(UNREACHED) {
        text.push_str(&item(&format!("{}: {}", unreached.who, unreached.reason), width));
    }
    text.push_str(&rest(report.unreached.len(), UNREACHED, "other reason", "other reasons"));
    if !text.is_empty() {
        text.insert_str(0, "\nOut of reach\n");
    }
    let problems = report.certificates.sources.iter().filter_map(|source| Some((source, source.problem.as_ref()?)));
    let lines: String =
        problems.take(SOURCES).map(|(source, problem)| item(&format!("{}: {problem}", source.path), width)).collect();
    if !lines.is_empty() {
        let title = "Sources that could not be read after the run; their certificates are not counted as different";
        text.push_str(&format!("\n{}{lines}", wrapped(title, "", "", Some(width))));
    }
    text
}

fn rest(all: usize, shown: usize, one: &str, many: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {}: see --json or --html\n", count(more as u64, one, many)),
    }
}
