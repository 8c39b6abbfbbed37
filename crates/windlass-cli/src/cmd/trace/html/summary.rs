//! The head of the page: what was run, and what it comes to.

use windlass_machine::shell::quoted;
use windlass_trace_report::report::Report;

use super::escape::escaped;
use super::{comparison, short};
use crate::cmd::trace::numbers::{bytes, bytes_if_known, count, grouped, percent, time};
use crate::cmd::trace::text::nothing;

/// The heading, a sentence, and the numbers.
pub fn render(report: &Report) -> String {
    let command = escaped(&short(&quoted(&report.command)));
    let ending = match (report.exit_status, report.signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => String::new(),
    };
    format!(
        "<header>\n<p class=\"kicker\">windlass trace</p>\n<h1><code>{command}</code></h1>\n\
         <p class=\"about\">ran {} · {ending} · {}</p>\n{}{}</header>\n{}",
        time(report.wall),
        count(report.summary.processes as u64, "process traced", "processes traced"),
        finding(report),
        next(report),
        tiles(report)
    )
}

fn finding(report: &Report) -> String {
    let summary = &report.summary;
    if summary.processes == 0 {
        let why = report.unreachable.as_deref().unwrap_or("The program did not load the tracing library.");
        return format!("<p class=\"finding\">Nothing was traced, so nothing is known. {}</p>\n", escaped(why));
    }
    let unreached = report.unreached.iter().map(|unreached| format!("{}: {}", unreached.who, unreached.reason));
    let reasons = report.unreachable.iter().cloned().chain(unreached);
    let out_of_reach: String =
        reasons.map(|reason| format!("<p class=\"warning\">Out of reach: {}.</p>\n", escaped(&reason))).collect();
    let Some(loads) = summary.loads.filter(|loads| *loads > 0) else {
        let nothing = nothing(report);
        let mut sentence = nothing.clone();
        if let Some(first) = nothing.chars().next() {
            sentence = format!("{}{}", first.to_ascii_uppercase(), &nothing[first.len_utf8()..]);
        }
        return format!("<p class=\"finding\">{sentence}.</p>\n{out_of_reach}");
    };
    let whose = if summary.cpu_missing == 0 { "" } else { " that processes reported" };
    let share = summary.cpu_share.map(|share| format!(" and <b>{}</b> of the CPU time{whose}", percent(share)));
    // Else it could be more than the run took.
    let threads = report.timeline.iter().filter(|row| !row.spans.is_empty()).count() as u64;
    let threads = if threads > 1 { format!(", added up over {threads} threads,") } else { String::new() };
    format!(
        "<p class=\"finding\"><b>{}</b> took <b>{}</b>{threads}{}.{}</p>\n{out_of_reach}",
        count(loads, "load of CA certificates", "loads of CA certificates"),
        time(summary.wall.unwrap_or(0)),
        share.unwrap_or_default(),
        comparison::finding(report)
    )
}

/// What to do with this.
fn next(report: &Report) -> String {
    if report.comparison.is_some() || !report.has_loads() {
        return String::new();
    }
    const LONGEST: usize = 100;
    let command = quoted(&report.command);
    let command = if command.len() > LONGEST { String::from("PROGRAM…") } else { escaped(&command) };
    format!(
        "<p class=\"about\">To measure the same with Windlass: <code>windlass trace --compare --html page.html -- \
         {command}</code>, which runs the program several more times.</p>\n"
    )
}

fn tiles(report: &Report) -> String {
    let summary = &report.summary;
    let Some(loads) = summary.loads.filter(|loads| *loads > 0) else {
        return String::new();
    };
    let unknown = || String::from("?");
    let certificates = &report.certificates;
    let distinct = certificates.distinct.map(|distinct| format!("{} different, ", grouped(distinct as u64)));
    let failed = summary.failed.filter(|failed| *failed > 0);
    let failed = failed.map(|failed| format!(", {} failed", grouped(failed))).unwrap_or_default();
    let tiles = [
        (
            "Loads",
            grouped(loads),
            format!("in {}{failed}", count(summary.loading_processes as u64, "process", "processes")),
        ),
        ("Time spent loading", time(summary.wall.unwrap_or(0)), format!("{} of CPU", time(summary.cpu.unwrap_or(0)))),
        (
            "Share of CPU",
            summary.cpu_share.map_or_else(unknown, percent),
            summary.process_cpu.map_or_else(|| String::from("CPU time not known"), |cpu| format!("of {}", time(cpu))),
        ),
        (
            "Certificates parsed",
            summary.certificates.map_or_else(unknown, grouped),
            format!("{}{} used by a verification", distinct.unwrap_or_default(), grouped(certificates.used as u64)),
        ),
        (
            "Held in memory",
            bytes_if_known(summary.memory_peak),
            summary.memory_end.map(|end| format!("at the peak; {} never freed", bytes(end))).unwrap_or_default(),
        ),
        (
            "Loads per connection",
            summary.loads_per_connection.map_or_else(|| String::from("–"), |per| per.to_string()),
            format!(
                "{}, {}",
                count(summary.connections.unwrap_or(0), "connection", "connections"),
                count(summary.verifications.unwrap_or(0), "verification", "verifications")
            ),
        ),
    ];
    let tiles = tiles.map(|(title, value, detail)| {
        format!(
            "<div class=\"tile\"><h3>{title}</h3><p class=\"value\">{value}</p><p class=\"detail\">{detail}</p></div>\n"
        )
    });
    format!("<div class=\"tiles\">\n{}</div>\n", tiles.concat())
}
