//! `doctor` for people: each finding as a paragraph, the worst first, and the totals.

use anstyle::{AnsiColor, Style};

use super::terminal::{Terminal, printable};
use super::wrap::wrapped;
use crate::doctor::check::{Check, Finding, Severity};
use crate::doctor::measure::Cost;
use crate::doctor::report::{Report, Summary};

const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default().bold();

/// The JSON has all of them.
const MAX_FACTS: usize = 8;
/// What could not be looked at.
const MAX_UNSEEN: usize = 12;

/// The whole report.
pub fn render(report: &Report, terminal: Terminal) -> String {
    let mut findings: Vec<_> = report.findings().collect();
    // Stable: of one severity they stay in the order of the checks.
    findings.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    let mut text: String = findings.into_iter().map(|(check, finding)| paragraph(check, finding, terminal)).collect();
    if report.unseen.count() > 0 {
        text.push_str("not looked at:\n");
        for unseen in report.unseen.shown().iter().take(MAX_UNSEEN) {
            let root = if unseen.needs_root { " (root can)" } else { "" };
            text.push_str(&format!(
                "  {}: {}{root}\n",
                printable(&unseen.path.to_string_lossy()),
                printable(&unseen.why)
            ));
        }
        if let Some(more @ 1..) = report.unseen.count().checked_sub(MAX_UNSEEN) {
            text.push_str(&format!("  and {more} more\n"));
        }
        text.push('\n');
    }
    text.push_str(&totals(&report.summary));
    text
}

fn paragraph(check: &Check, finding: &Finding, terminal: Terminal) -> String {
    let style = match finding.severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Note => BLUE,
    };
    let mut text = format!("{} {}\n", terminal.paint(style, finding.severity.name()), terminal.paint(DIM, check.id));
    let mut about = String::new();
    if let Some(path) = &finding.path {
        about.push_str(&printable(&path.to_string_lossy()));
        if let Some(line) = finding.line {
            about.push_str(&format!(":{line}"));
        }
        about.push_str(": ");
    }
    about.push_str(&printable(&finding.what));
    text.push_str(&wrapped(&about, "  ", "  ", terminal.width()));
    for fact in finding.facts.shown.iter().take(MAX_FACTS) {
        text.push_str(&wrapped(&printable(fact), "    - ", "      ", terminal.width()));
    }
    let more = finding.facts.more + finding.facts.shown.len().saturating_sub(MAX_FACTS);
    if more > 0 {
        text.push_str(&format!(
            "    - and {more} more (--json has {})\n",
            if finding.facts.more > 0 { "some of them" } else { "them" }
        ));
    }
    if let Some(cost) = &finding.cost {
        text.push_str(&wrapped(&printable(&cost_of(cost)), "    cost:   ", "            ", terminal.width()));
    }
    text.push_str(&wrapped(&printable(&finding.reason), "    why:    ", "            ", terminal.width()));
    text.push_str(&wrapped(&printable(&finding.remedy), "    remedy: ", "            ", terminal.width()));
    text.push('\n');
    text
}

fn cost_of(cost: &Cost) -> String {
    format!(
        "measured: {} of CPU time per {} with {} ({}; median of {})",
        duration(cost.nanoseconds),
        cost.per,
        cost.library,
        cost.what,
        cost.runs
    )
}

/// With three digits, as `20.1 ms`.
fn duration(nanoseconds: u64) -> String {
    let nanoseconds = nanoseconds as f64;
    let (value, unit) = match nanoseconds {
        1e9.. => (nanoseconds / 1e9, "s"),
        1e6.. => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e3, "µs"),
    };
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

fn totals(summary: &Summary) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let Summary { checks, errors, warnings, notes, not_seen, needs_root } = *summary;
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(checks, "check"),
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(notes, "note")
    );
    if not_seen > 0 {
        text.push_str(&format!("; {} could not be looked at", counted(not_seen, "thing")));
    }
    if needs_root > 0 {
        text.push_str(&format!("; root could look at {needs_root} more"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (nanoseconds, text) in [
            (20_123_456, "20.1 ms"),
            (2_500_000_000, "2.50 s"),
            (850, "0.85 µs"),
            (130_400, "130 µs"),
            (9_994_000, "9.99 ms"),
        ] {
            assert_eq!(duration(nanoseconds), text);
        }
    }
}
