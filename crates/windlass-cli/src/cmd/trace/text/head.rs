//! The first lines: what it comes to.

use windlass_trace_report::report::Report;

use super::ANCHORS;
use crate::cmd::trace::numbers::{bytes, count, grouped, percent, time};
use crate::output::terminal::printable;
use crate::output::wrap::wrapped;

/// The sums of the run, or why there are none.
pub fn render(report: &Report, width: u16) -> String {
    let summary = &report.summary;
    let first = |text: &str| wrapped(&printable(text), "windlass: ", "  ", Some(width));
    let line = |text: &str| wrapped(&printable(text), "  ", "    ", Some(width));
    if summary.processes == 0 {
        let why = report.unreachable.as_deref().unwrap_or(
            "the program did not load the tracing library: it may be static, of another architecture, or run as \
             another user or elsewhere",
        );
        return first("nothing was traced, so nothing is known") + &line(why);
    }
    let Some(loads) = summary.loads.filter(|loads| *loads > 0) else {
        return first(&nothing(report));
    };
    let mut text = first(&format!(
        "{} in {} of {} took {} ({} of CPU{})",
        count(loads, "load of CA certificates", "loads of CA certificates"),
        summary.loading_processes,
        count(summary.processes as u64, "process", "processes"),
        time(summary.wall.unwrap_or(0)),
        time(summary.cpu.unwrap_or(0)),
        share(report),
    ));
    let certificates = &report.certificates;
    let parsed = summary.certificates.map_or_else(
        || String::from("the number of parsed certificates is unknown"),
        |parsed| format!("{} parsed", count(parsed, "certificate", "certificates")),
    );
    let distinct = certificates.distinct.map(|distinct| format!(", {} different", grouped(distinct as u64)));
    let used = grouped(certificates.used as u64);
    text.push_str(&line(&format!("{parsed}{}; {used} of them ended a verified chain", distinct.unwrap_or_default())));
    for anchor in certificates.anchors.iter().take(ANCHORS) {
        let name = anchor.name.as_deref().unwrap_or("not in a source that can be read");
        let times = count(anchor.verifications, "time", "times");
        let start = anchor.sha256_fingerprint.get(..16).unwrap_or(&anchor.sha256_fingerprint);
        let anchor = format!("{times}: {name} ({start}…)");
        text.push_str(&wrapped(&printable(&anchor), "    ", "      ", Some(width)));
    }
    text.push_str(&line(&match (summary.memory_peak, summary.memory_end) {
        (Some(peak), Some(end)) => {
            format!("{} held by loaded stores at their peak, {} never freed", bytes(peak), bytes(end))
        }
        (None, Some(end)) => format!("the peak memory of loaded stores is unknown; {} never freed", bytes(end)),
        _ => String::from("the memory of loaded stores is unknown"),
    }));
    let per = summary
        .loads_per_connection
        .map(|per| format!(": {per} {} a connection", if per == 1.0 { "load" } else { "loads" }))
        .unwrap_or_default();
    text.push_str(&line(&format!(
        "{}, {}{per}",
        count(summary.connections.unwrap_or(0), "connection", "connections"),
        count(summary.verifications.unwrap_or(0), "verification", "verifications")
    )));
    text
}

/// A part of the CPU time that is known; for processes that ended abruptly it was taken at their last load.
fn share(report: &Report) -> String {
    let whole = if report.summary.cpu_missing == 0 { "all CPU time" } else { "the CPU time that processes reported" };
    report.summary.cpu_share.map(|share| format!(", {} of {whole}", percent(share))).unwrap_or_default()
}

/// What it means that no load was seen. A process that is out of reach may have loaded a lot.
pub fn nothing(report: &Report) -> String {
    let out_of_reach = report.summary.out_of_reach as u64;
    let others = (report.summary.processes as u64).saturating_sub(out_of_reach);
    // Where something is missing, that may be what was loaded.
    let (were, notes) =
        if report.notes.is_empty() { ("were loaded", "") } else { ("were seen to be loaded", " (see the notes)") };
    let none = format!(
        "no CA certificates {were} through OpenSSL or GnuTLS in {}{notes}",
        count(others, "traced process", "traced processes")
    );
    match (out_of_reach, others) {
        (0, _) => none,
        (1, 0) => String::from("the process is out of reach, so its loads are unknown"),
        (_, 0) => format!("all {out_of_reach} processes are out of reach, so their loads are unknown"),
        _ => format!("{} out of reach; {none}", count(out_of_reach, "process is", "processes are")),
    }
}
