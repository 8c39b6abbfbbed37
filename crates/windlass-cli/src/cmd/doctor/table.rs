//! `doctor` for people: each finding as a paragraph, the worst first, and the totals. Also --explain and --list.

use anstyle::{AnsiColor, Style};
use windlass_doctor::check::{Check, Finding, Severity};
use windlass_doctor::measure::Cost;
use windlass_doctor::registry;
use windlass_doctor::report::{Report, Summary};

use crate::output::columns;
use crate::output::terminal::{Terminal, printable};
use crate::output::wrap::wrapped;

const BOLD: Style = Style::new().bold();
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
    let mut findings: Vec<_> = report.new_findings().collect();
    // Stable: of one severity they stay in the order of the checks.
    findings.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    // What to do about several in the same way is said once, behind them, and so is why, if that is the same as well.
    let is_same = |one: &(&Check, &Finding), other: &(&Check, &Finding)| {
        (one.0.id, &one.1.remedy) == (other.0.id, &other.1.remedy)
    };
    let mut text: String = findings.chunk_by(is_same).map(|alike| paragraphs(alike, terminal)).collect();
    if report.unseen.count() > 0 {
        text.push_str("not examined:\n");
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

/// The title and explanation of a check.
pub fn explanation(check: &Check, terminal: Terminal) -> String {
    let mut text = format!("{} ({})\n", terminal.paint(BOLD, check.id), check.severity.name());
    text.push_str(&wrapped(check.title, "  ", "  ", terminal.width()));
    for paragraph in check.explanation.split("\n\n") {
        text.push('\n');
        text.push_str(&wrapped(paragraph, "  ", "  ", terminal.width()));
    }
    text
}

/// A table of all checks.
pub fn list() -> String {
    let cells = |check: &Check| [check.id.to_owned(), check.severity.name().to_owned(), check.title.to_owned()];
    columns::table(["CHECK", "SEVERITY", "FINDS"], &[], registry::all().map(cells).collect())
}

/// Findings of one check that have the same remedy.
fn paragraphs(alike: &[(&'static Check, &Finding)], terminal: Terminal) -> String {
    let mut text = String::new();
    let has_one_reason = alike.len() > 1 && alike.windows(2).all(|two| two[0].1.reason == two[1].1.reason);
    for (check, finding) in alike {
        text.push_str(&paragraph(check, finding, terminal));
        if !has_one_reason {
            let reason = printable(&finding.reason);
            text.push_str(&wrapped(&reason, "    why:    ", "            ", terminal.width()));
        }
        if alike.len() == 1 {
            let remedy = printable(&finding.remedy);
            text.push_str(&wrapped(&remedy, "    remedy: ", "            ", terminal.width()));
        }
        text.push('\n');
    }
    if let [(_, first), _, ..] = alike {
        if has_one_reason {
            let title = format!("  why, for these {}: ", alike.len());
            text.push_str(&wrapped(&printable(&first.reason), &title, "    ", terminal.width()));
        }
        let title = format!("  remedy for these {}: ", alike.len());
        text.push_str(&wrapped(&printable(&first.remedy), &title, "    ", terminal.width()));
        text.push('\n');
    }
    text
}

/// All of a finding but why it matters, and its remedy.
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
    let Summary { checks, errors, warnings, notes, known, not_seen, needs_root } = *summary;
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(checks, "check"),
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(notes, "note")
    );
    if known > 0 {
        text.push_str(&format!("; {known} in the baseline"));
    }
    if not_seen > 0 {
        text.push_str(&format!("; {} could not be examined", counted(not_seen, "thing")));
    }
    if needs_root > 0 {
        text.push_str(&format!("; root could examine {needs_root} more"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_doctor::check::{Outcome, Unseens};
    use windlass_doctor::report::Examined;

    #[test]
    fn the_same_remedy_is_said_once_behind_the_findings() {
        let finding =
            |severity, what: &str, remedy: &str| Finding::of_machine(severity, what).reason("r").remedy(remedy);
        let examined = |id: &str, findings| {
            let check = registry::named(id).unwrap();
            Examined { check, outcome: Outcome { findings, ..Outcome::default() } }
        };
        let results = vec![
            examined(
                "expired",
                vec![
                    finding(Severity::Warning, "A", "drop it"),
                    finding(Severity::Error, "B", "drop it"),
                    finding(Severity::Warning, "C", "drop it"),
                    finding(Severity::Warning, "D", "keep it"),
                ],
            ),
            examined(
                "duplicates",
                vec![
                    finding(Severity::Warning, "E", "keep it"),
                    finding(Severity::Warning, "F", "drop it"),
                    finding(Severity::Warning, "G", "drop it").reason("other"),
                ],
            ),
        ];
        let report = Report {
            root: None,
            results,
            unseen: Unseens::default(),
            has_baseline: false,
            summary: Summary::default(),
        };
        let text = render(&report, Terminal::stdout());
        let expected = "\
error expired\n  B\n
warning expired\n  A\n
warning expired\n  C\n
  why, for these 3: r
  remedy for these 3: drop it\n
warning expired\n  D\n    why:    r\n    remedy: keep it\n
warning duplicates\n  E\n    why:    r\n    remedy: keep it\n
warning duplicates\n  F\n    why:    r\n
warning duplicates\n  G\n    why:    other\n
  remedy for these 2: drop it\n
0 checks";
        assert!(text.starts_with(expected), "{text}");
    }

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
