//! The head of the page: what was run, and what it comes to.

use super::escape::escaped;
use super::short;
use crate::output::trace::numbers::{bytes, bytes_if_known, count, grouped, percent, time};
use crate::output::trace::table::nothing;
use crate::trace::report::Report;

/// The heading, a sentence, and the numbers.
pub fn render(report: &Report) -> String {
    let command = escaped(&short(&report.command.join(" ")));
    let ending = match (report.exit_status, report.signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => String::new(),
    };
    format!(
        "<header>\n<p class=\"kicker\">windlass trace</p>\n<h1><code>{command}</code></h1>\n\
         <p class=\"about\">ran {} · {ending} · {}</p>\n{}</header>\n{}",
        time(report.wall),
        count(report.summary.processes as u64, "process traced", "processes traced"),
        finding(report),
        tiles(report)
    )
}

fn finding(report: &Report) -> String {
    let summary = &report.summary;
    if summary.processes == 0 {
        let why = report.unreachable.as_deref().unwrap_or("The program did not take the tracing library.");
        return format!("<p class=\"finding\">Nothing was traced, so nothing is known. {}</p>\n", escaped(why));
    }
    let unreachable = report.unreachable.iter();
    let unreachable = unreachable.chain(report.processes.iter().filter_map(|process| process.out_of_reach.as_ref()));
    let mut reasons: Vec<_> = unreachable.collect();
    reasons.dedup();
    let out_of_reach: String =
        reasons.iter().map(|reason| format!("<p class=\"warning\">Out of reach: {}.</p>\n", escaped(reason))).collect();
    if summary.loads == 0 {
        let nothing = nothing(report);
        let mut sentence = nothing.clone();
        if let Some(first) = nothing.chars().next() {
            sentence = format!("{}{}", first.to_ascii_uppercase(), &nothing[first.len_utf8()..]);
        }
        return format!("<p class=\"finding\">{sentence}.</p>\n{out_of_reach}");
    }
    let share = summary.cpu_share.map(|share| format!(" and <b>{}</b> of the CPU time", percent(share)));
    format!(
        "<p class=\"finding\"><b>{}</b> took <b>{}</b>{}.</p>\n{out_of_reach}",
        count(summary.loads, "load of CA certificates", "loads of CA certificates"),
        time(summary.wall),
        share.unwrap_or_default()
    )
}

fn tiles(report: &Report) -> String {
    let summary = &report.summary;
    if summary.loads == 0 {
        return String::new();
    }
    let certificates = &report.certificates;
    let distinct = certificates.distinct.map(|distinct| format!("{} different, ", grouped(distinct as u64)));
    let failed = if summary.failed > 0 { format!(", {} failed", grouped(summary.failed)) } else { String::new() };
    let tiles = [
        (
            "Loads",
            grouped(summary.loads),
            format!("in {}{failed}", count(summary.loading_processes as u64, "process", "processes")),
        ),
        ("Time spent loading", time(summary.wall), format!("{} of CPU", time(summary.cpu))),
        (
            "Share of CPU",
            summary.cpu_share.map_or_else(|| String::from("?"), percent),
            summary.process_cpu.map_or_else(|| String::from("CPU time not known"), |cpu| format!("of {}", time(cpu))),
        ),
        (
            "Certificates parsed",
            grouped(summary.certificates),
            format!("{}{} used by a verification", distinct.unwrap_or_default(), grouped(certificates.used as u64)),
        ),
        (
            "Held in memory",
            bytes_if_known(summary.memory_peak),
            summary.memory_end.map(|end| format!("at most at a time; {} never freed", bytes(end))).unwrap_or_default(),
        ),
        (
            "Loads per connection",
            summary.loads_per_connection.map_or_else(|| String::from("–"), |per| per.to_string()),
            format!(
                "{}, {}",
                count(summary.connections, "connection", "connections"),
                count(summary.verifications, "verification", "verifications")
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
