//! Entry points and processes: as tables where the lines are long enough for them, else as lists.

use unicode_width::UnicodeWidthStr;
use windlass_trace_report::report::{Entry, Inside, Process, Report};
use windlass_trace_report::{Source, Sum};

use super::{ENTRIES, PROCESSES, rest};
use crate::cmd::trace::numbers::{bytes_if_known, count, grouped, percent, sources, time};
use crate::output::columns;
use crate::output::terminal::printable;
use crate::output::wrap::wrapped;

/// A function with what it read.
struct Row {
    name: String,
    source: String,
    /// Calls, certificates, wall time, CPU time, part of the CPU time.
    numbers: [String; 5],
    is_inside: bool,
}

/// The table of loading functions.
pub fn entries(report: &Report, width: u16) -> String {
    let rows: Vec<_> = report.entries.iter().take(ENTRIES).flat_map(rows_of).collect();
    let whole = Some(with_sources(&rows)).filter(|table| fits(table, width));
    let table = whole.or_else(|| sources_below(&rows, width)).unwrap_or_else(|| list(&rows, width));
    format!("\n{table}{}", rest(report.entries.len(), ENTRIES, "entry point", "entry points"))
}

fn rows_of(entry: &Entry) -> Vec<Row> {
    let failed = if entry.failed > 0 { format!(" ({} failed)", grouped(entry.failed)) } else { String::new() };
    let mut rows = vec![Row {
        name: format!("{}{failed}", printable(&entry.function)),
        source: source(&entry.sources),
        numbers: [
            grouped(entry.calls),
            entry.certificates.map(grouped).unwrap_or_else(|| String::from("?")),
            time(entry.wall),
            time(entry.cpu),
            entry.cpu_share.map(percent).unwrap_or_default(),
        ],
        is_inside: false,
    }];
    rows.extend(entry.inside.iter().map(inside_row));
    rows
}

fn inside_row(inside: &Inside) -> Row {
    let Sum { calls, certificates, wall, cpu } = inside.sum;
    Row {
        name: format!("  {}", printable(&inside.function)),
        source: if inside.sources.is_empty() { String::new() } else { source(&inside.sources) },
        numbers: [grouped(calls), grouped(certificates), time(wall), time(cpu), String::new()],
        is_inside: true,
    }
}

fn source(list: &[Source]) -> String {
    printable(&sources(list)).into_owned()
}

fn with_sources(rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let [calls, certificates, wall, cpu, share] = row.numbers.clone();
        [row.name.clone(), row.source.clone(), calls, certificates, wall, cpu, share]
    });
    let header = ["ENTRY POINT", "SOURCE", "CALLS", "CERTIFICATES", "WALL", "CPU", "OF CPU"];
    columns::table(header, &[2, 3, 4, 5, 6], cells.collect())
}

/// Each source in a line of its own, below the function. The name of a file can be longer than any line.
fn sources_below(rows: &[Row], width: u16) -> Option<String> {
    let cells = rows.iter().map(|row| {
        let [calls, certificates, wall, cpu, share] = row.numbers.clone();
        [row.name.clone(), calls, certificates, wall, cpu, share]
    });
    let header = ["ENTRY POINT", "CALLS", "CERTIFICATES", "WALL", "CPU", "OF CPU"];
    let table = columns::table(header, &[1, 2, 3, 4, 5], cells.collect());
    if !fits(&table, width) {
        return None;
    }
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, row) in lines.zip(rows) {
        text.push_str(&format!("{line}\n{}", below(row, width)));
    }
    Some(text)
}

fn list(rows: &[Row], width: u16) -> String {
    let item = |row: &Row| {
        let indent = if row.is_inside { "    " } else { "  " };
        let [calls, certificates, wall, cpu, share] = &row.numbers;
        let share = if share.is_empty() { String::new() } else { format!(", {share}") };
        let (call, certificate) = (plural(calls, "call"), plural(certificates, "certificate"));
        let name = row.name.trim_start();
        let text = format!("{name}: {call}, {certificate}, {wall} ({cpu} of CPU{share})");
        wrapped(&text, indent, &format!("{indent}  "), Some(width)) + &below(row, width)
    };
    format!("Entry points\n{}", rows.iter().map(item).collect::<String>())
}

fn plural(number: &str, one: &str) -> String {
    format!("{number} {one}{}", if number == "1" { "" } else { "s" })
}

fn below(row: &Row, width: u16) -> String {
    if row.source.is_empty() {
        return String::new();
    }
    let indent = if row.is_inside { "      " } else { "    " };
    wrapped(&row.source, indent, &format!("{indent}  "), Some(width))
}

fn fits(table: &str, width: u16) -> bool {
    table.lines().all(|line| line.width() <= usize::from(width))
}

/// Who loads, if there are several.
pub fn processes(report: &Report, width: u16) -> String {
    let loading: Vec<_> = report.processes.iter().filter(|process| process.has_loaded()).collect();
    if loading.len() < 2 {
        return String::new();
    }
    let shown = || loading.iter().take(PROCESSES).copied();
    let header = ["PROCESS", "LOADS", "CERTIFICATES", "WALL", "CPU", "OF ITS CPU", "HELD", "CONNECTIONS"];
    let mut table = columns::table(header, &[1, 2, 3, 4, 5, 6, 7], shown().map(process_row).collect());
    if !fits(&table, width) {
        let lines: String = shown().map(|process| process_lines(process, width)).collect();
        table = format!("Processes\n{lines}");
    }
    format!("\n{table}{}", rest(loading.len(), PROCESSES, "process", "processes"))
}

fn number(known: Option<u64>) -> String {
    known.map_or_else(|| String::from("?"), grouped)
}

fn process_row(process: &Process) -> [String; 8] {
    [
        format!("{} {}", process.pid, printable(&process.name)),
        number(process.loads),
        number(process.certificates),
        time(process.wall.unwrap_or(0)),
        time(process.cpu.unwrap_or(0)),
        process.cpu_share.map(percent).unwrap_or_default(),
        bytes_if_known(process.memory_peak),
        number(process.connections),
    ]
}

fn process_lines(process: &Process, width: u16) -> String {
    let [name, _, certificates, wall, cpu, share, held, _] = process_row(process);
    let text = format!(
        "{name}: {}, {}, {wall} ({cpu} of CPU{}{share}), {held} held, {}",
        count(process.loads.unwrap_or(0), "load", "loads"),
        plural(&certificates, "certificate"),
        if share.is_empty() { "" } else { ", " },
        count(process.connections.unwrap_or(0), "connection", "connections"),
    );
    wrapped(&text, "  ", "    ", Some(width))
}
