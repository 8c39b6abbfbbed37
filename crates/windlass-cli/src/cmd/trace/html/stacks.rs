//! Call stacks, the most expensive first.

use windlass_trace_report::frames::{Frame, Kind, NamedStack};
use windlass_trace_report::report::Report;

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{count, time};

const MAX: usize = 100;

/// The section, if there are any.
pub fn render(report: &Report) -> String {
    if report.stacks.is_empty() {
        return String::new();
    }
    let stacks = report.stacks.iter().take(MAX).enumerate();
    let mut body: String = stacks.map(|(place, stack)| one(stack, place == 0)).collect();
    if report.stacks.len() > MAX {
        body.push_str(&format!("<p class=\"about\">{} more are in --json.</p>\n", report.stacks.len() - MAX));
    }
    section("stacks", "Call stacks", "Most expensive first; the innermost frame is at the top.", &body)
}

fn one(stack: &NamedStack, open: bool) -> String {
    let entry = stack.frames.last().map(|frame| frame.name.as_str()).unwrap_or_default();
    let lines: String = stack.frames.iter().rev().map(line).collect();
    format!(
        "<details{}><summary><b>{}</b> {} in {} <span>{}, {}, {} of CPU</span></summary>\n<ol \
         class=\"stack\">\n{lines}</ol></details>\n",
        if open { " open" } else { "" },
        time(stack.sum.wall),
        escaped(entry),
        escaped(&stack.program),
        count(stack.sum.calls, "call", "calls"),
        count(stack.sum.certificates, "certificate", "certificates"),
        time(stack.sum.cpu),
    )
}

fn line(frame: &Frame) -> String {
    let class = match frame.kind {
        Kind::Entry => "entry",
        Kind::Native => "native",
        Kind::Object => "object",
        Kind::Script => "script",
    };
    let place = frame.place.as_deref().map(|place| format!(" <span>{}</span>", escaped(place))).unwrap_or_default();
    format!("<li><i class=\"key {class}\"></i><code>{}</code>{place}</li>\n", escaped(&frame.name))
}
