//! The report of `windlass trace` for people.

use super::numbers::{bytes, bytes_if_known, count, grouped, percent, ratio, sources, time};
use crate::output::columns;
use crate::output::terminal::printable;
use crate::trace::compare::Comparison;
use crate::trace::frames::{Frame, Kind};
use crate::trace::report::{Entry, Process, Report, Stack};

/// Rows of each part; --json and --html have all.
const ENTRIES: usize = 20;
const STACKS: usize = 5;
const PROCESSES: usize = 20;
const SOURCES: usize = 10;
const ANCHORS: usize = 5;

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut text = head(report);
    if report.summary.loads > 0 {
        text.push_str(&entries(report));
        text.push_str(&stacks(report));
    }
    text.push_str(&processes(report));
    text.push_str(&unseen(report));
    text.push_str(&report.comparison.as_ref().map(comparison).unwrap_or_default());
    let notes: String = report.notes.iter().map(|note| format!("  {}\n", printable(note))).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\nNotes\n{notes}"));
    }
    text
}

fn head(report: &Report) -> String {
    let summary = &report.summary;
    if summary.processes == 0 {
        let why = report.unreachable.as_deref().unwrap_or(
            "the program did not take the tracing library: it may have been static, of another architecture, or run as another user or elsewhere",
        );
        return format!("windlass: nothing was traced, so nothing is known\n  {}\n", printable(why));
    }
    if summary.loads == 0 {
        return format!("windlass: {}\n", nothing(report));
    }
    let share = summary.cpu_share.map(|share| format!(", {} of all CPU time", percent(share))).unwrap_or_default();
    let mut text = format!(
        "windlass: {} in {} of {} took {} ({} of CPU{share})\n",
        count(summary.loads, "load of CA certificates", "loads of CA certificates"),
        summary.loading_processes,
        count(summary.processes as u64, "process", "processes"),
        time(summary.wall),
        time(summary.cpu),
    );
    let certificates = &report.certificates;
    let distinct = certificates.distinct.map(|distinct| format!(", {} different", grouped(distinct as u64)));
    text.push_str(&format!(
        "  {} parsed{}; {} of them ended a verified chain\n",
        count(summary.certificates, "certificate", "certificates"),
        distinct.unwrap_or_default(),
        grouped(certificates.used as u64),
    ));
    for anchor in certificates.anchors.iter().take(ANCHORS) {
        let name = anchor.name.as_deref().unwrap_or("not in a source that can be read");
        let times = count(anchor.verifications, "time", "times");
        let start = anchor.sha256_fingerprint.get(..16).unwrap_or(&anchor.sha256_fingerprint);
        text.push_str(&format!("    {times}: {} ({}…)\n", printable(name), printable(start)));
    }
    text.push_str(&match summary.memory_peak.zip(summary.memory_end) {
        Some((peak, end)) => {
            format!("  {} held by loaded stores at most at a time, {} never freed\n", bytes(peak), bytes(end))
        }
        None => String::from("  what loaded stores hold is not known\n"),
    });
    let per = summary
        .loads_per_connection
        .map(|per| format!(": {per} {} a connection", if per == 1.0 { "load" } else { "loads" }))
        .unwrap_or_default();
    text.push_str(&format!(
        "  {}, {}{per}\n",
        count(summary.connections, "connection", "connections"),
        count(summary.verifications, "verification", "verifications")
    ));
    text
}

/// What it means that no load was seen. A process that is out of reach may have loaded a lot.
pub fn nothing(report: &Report) -> String {
    let out_of_reach = report.processes.iter().filter(|process| process.out_of_reach.is_some()).count() as u64;
    let others = (report.summary.processes as u64).saturating_sub(out_of_reach);
    let none = format!(
        "no CA certificates were loaded through OpenSSL or GnuTLS in {}",
        count(others, "traced process", "traced processes")
    );
    match (out_of_reach, others) {
        (0, _) => none,
        (1, 0) => String::from("the process is out of reach, so nothing is known of what it loads"),
        (_, 0) => format!("all {out_of_reach} processes are out of reach, so nothing is known of what they load"),
        _ => format!("{} out of reach; {none}", count(out_of_reach, "process is", "processes are")),
    }
}

fn entries(report: &Report) -> String {
    let mut rows = Vec::new();
    for entry in report.entries.iter().take(ENTRIES) {
        rows.push(entry_row(entry));
        rows.extend(entry.inside.iter().map(|inside| {
            [
                format!("  {}", printable(&inside.function)),
                if inside.sources.is_empty() {
                    String::new()
                } else {
                    printable(&sources(&inside.sources)).into_owned()
                },
                grouped(inside.calls),
                grouped(inside.certificates),
                time(inside.wall),
                time(inside.cpu),
                String::new(),
            ]
        }));
    }
    let header = ["ENTRY POINT", "SOURCE", "CALLS", "CERTIFICATES", "WALL", "CPU", "OF CPU"];
    format!(
        "\n{}{}",
        columns::table(header, &[2, 3, 4, 5, 6], rows),
        rest(report.entries.len(), ENTRIES, "entry point", "entry points")
    )
}

fn entry_row(entry: &Entry) -> [String; 7] {
    let failed = if entry.failed > 0 { format!(" ({} failed)", grouped(entry.failed)) } else { String::new() };
    [
        format!("{}{failed}", printable(&entry.function)),
        printable(&sources(&entry.sources)).into_owned(),
        grouped(entry.calls),
        entry.certificates.map(grouped).unwrap_or_else(|| String::from("?")),
        time(entry.wall),
        time(entry.cpu),
        entry.cpu_share.map(percent).unwrap_or_default(),
    ]
}

fn stacks(report: &Report) -> String {
    let mut text = String::from("\nCall stacks that load, the most expensive first\n");
    for Stack { program, frames, calls, certificates, wall, .. } in report.stacks.iter().take(STACKS) {
        text.push_str(&format!(
            "  {} in {}: {}, {}\n",
            time(*wall),
            printable(program),
            count(*calls, "call", "calls"),
            count(*certificates, "certificate", "certificates")
        ));
        let lines = frames.iter().rev().map(|frame| format!("      {}\n", printable(&line(frame))));
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

fn processes(report: &Report) -> String {
    let loading: Vec<_> = report.processes.iter().filter(|process| process.loads > 0).collect();
    if loading.len() < 2 {
        return String::new();
    }
    let row = |process: &&Process| {
        [
            format!("{} {}", process.pid, printable(&process.name)),
            grouped(process.loads),
            grouped(process.certificates),
            time(process.wall),
            time(process.cpu),
            process.cpu_share.map(percent).unwrap_or_default(),
            bytes_if_known(process.memory_peak),
            grouped(process.connections),
        ]
    };
    let header = ["PROCESS", "LOADS", "CERTIFICATES", "WALL", "CPU", "OF CPU", "HELD", "CONNECTIONS"];
    let rows = loading.iter().take(PROCESSES).map(row).collect();
    let table = columns::table(header, &[1, 2, 3, 4, 5, 6, 7], rows);
    format!("\n{table}{}", rest(loading.len(), PROCESSES, "process", "processes"))
}

/// What could not be seen, and sources that could not be read.
fn unseen(report: &Report) -> String {
    let mut text = String::new();
    if report.summary.processes > 0 {
        let reason = report.unreachable.iter();
        text.extend(reason.map(|reason| format!("  {}\n", printable(reason))));
    }
    for process in report.processes.iter().take(PROCESSES) {
        if let Some(reason) = &process.out_of_reach {
            text.push_str(&format!("  {} {}: {}\n", process.pid, printable(&process.name), printable(reason)));
        }
    }
    if !text.is_empty() {
        text.insert_str(0, "\nOut of reach\n");
    }
    let problems = report.certificates.sources.iter().filter_map(|source| Some((source, source.problem.as_ref()?)));
    let lines: String = problems
        .take(SOURCES)
        .map(|(source, problem)| format!("  {}: {}\n", printable(&source.path), printable(problem)))
        .collect();
    if !lines.is_empty() {
        text.push_str(&format!("\nSources that could not be read after the run, so their certificates are not counted as different\n{lines}"));
    }
    text
}

fn comparison(comparison: &Comparison) -> String {
    let Comparison { runs, stock, windlass, endings_differ } = comparison;
    let size = |bytes: Option<u64>| bytes.map(columns::size).unwrap_or_else(|| String::from("not known"));
    let row = |what: &str, stock: String, windlass: String, ratio: Option<String>| {
        [what.to_owned(), stock, windlass, ratio.unwrap_or_default()]
    };
    let peak = stock.peak_rss.zip(windlass.peak_rss).and_then(|(stock, windlass)| ratio(stock, windlass));
    let rows = vec![
        row("wall time", time(stock.wall), time(windlass.wall), ratio(stock.wall, windlass.wall)),
        row("CPU time", time(stock.cpu), time(windlass.cpu), ratio(stock.cpu, windlass.cpu)),
        row("peak memory", size(stock.peak_rss), size(windlass.peak_rss), peak),
    ];
    let table = columns::table(["MEDIAN", "STOCK", "WINDLASS", "WINDLASS / STOCK"], &[1, 2, 3], rows);
    let warning = if *endings_differ { "  Not all runs ended alike: they may have done different work.\n" } else { "" };
    format!("\nMeasured: {runs} runs of each, in turns\n{table}{warning}")
}

fn rest(all: usize, shown: usize, one: &str, many: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {}: see --json or --html\n", count(more as u64, one, many)),
    }
}
