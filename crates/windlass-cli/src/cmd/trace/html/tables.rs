//! The tables of the page.

use windlass_machine::shell::quoted;
use windlass_trace_report::report::{Entry, Process, Report};

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{bytes, bytes_if_known, count, grouped, percent, sources, time};

/// A cell: what is shown, and the number to sort by.
struct Cell {
    html: String,
    value: Option<f64>,
}

fn text(text: &str) -> Cell {
    Cell { html: escaped(text), value: None }
}

fn code(text: &str) -> Cell {
    Cell { html: format!("<code>{}</code>", escaped(text)), value: None }
}

fn number(shown: String, value: f64) -> Cell {
    Cell { html: shown, value: Some(value) }
}

fn whole(value: u64) -> Cell {
    number(grouped(value), value as f64)
}

fn known(value: Option<u64>, cell: fn(u64) -> Cell) -> Cell {
    value.map_or_else(|| number(String::from("not known"), -1.0), cell)
}

fn duration(value: u64) -> Cell {
    number(time(value), value as f64)
}

fn share(value: Option<f64>) -> Cell {
    value.map_or_else(|| number(String::from("?"), -1.0), |share| number(percent(share), share))
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<Cell>>) -> String {
    let mut html = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    let rows: Vec<_> = rows.collect();
    for (place, title) in header.iter().enumerate() {
        let is_number = rows.first().and_then(|row| row.get(place)).is_some_and(|cell| cell.value.is_some());
        let class = if is_number { " class=\"number\"" } else { "" };
        html.push_str(&format!("<th scope=\"col\"{class}>{title}</th>"));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            match cell.value {
                Some(value) => {
                    html.push_str(&format!("<td class=\"number\" data-value=\"{value}\">{}</td>", cell.html))
                }
                None => html.push_str(&format!("<td>{}</td>", cell.html)),
            }
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody>\n</table></div>\n"
}

/// Entry points, and the loading functions inside of them.
pub fn entries(report: &Report) -> String {
    if report.entries.is_empty() {
        return String::new();
    }
    let header = ["Function", "Source", "Calls", "Failed", "Certificates", "Wall", "Slowest", "CPU", "Of CPU", "Heap"];
    let row = |entry: &Entry| {
        let inside: String = entry
            .inside
            .iter()
            .map(|inside| {
                let of =
                    if inside.sources.is_empty() { String::new() } else { format!(" of {}", sources(&inside.sources)) };
                let calls = count(inside.sum.calls, "call", "calls");
                let function = escaped(&inside.function);
                format!("<li><code>{function}</code>{}: {calls}, {}</li>", escaped(&of), time(inside.sum.wall))
            })
            .collect();
        let function = format!("<code class=\"name\">{}</code>", escaped(&entry.function));
        let inside = if inside.is_empty() { inside } else { format!("<ul>{inside}</ul>") };
        vec![
            Cell {
                html: format!("{function}<p class=\"detail\">{}</p>{inside}", escaped(&entry.library)),
                value: None,
            },
            code(&sources(&entry.sources)),
            whole(entry.calls),
            whole(entry.failed),
            entry.certificates.map_or_else(|| number(String::from("?"), -1.0), whole),
            duration(entry.wall),
            duration(entry.slowest),
            duration(entry.cpu),
            share(entry.cpu_share),
            number(bytes(entry.memory), entry.memory as f64),
        ]
    };
    let explanation = "Loading functions, by source. The numbers of a function include those of the functions inside \
                       it. “Of CPU” is the share of the CPU time of all traced processes. “Heap” is the heap \
                       growth \
                       in all calls, including stores that were freed later; the number at the top is the peak.";
    section("entries", "What loads", explanation, &table(&header, report.entries.iter().map(row)))
}

/// Processes; those of which there is nothing to say are folded away.
pub fn processes(report: &Report) -> String {
    if report.processes.is_empty() {
        return String::new();
    }
    let says_something = |process: &&Process| {
        let numbers = [process.loads, process.connections, process.verifications];
        numbers.into_iter().flatten().any(|number| number > 0) || process.out_of_reach.is_some()
    };
    let (first, others): (Vec<_>, Vec<_>) = report.processes.iter().partition(says_something);
    let mut body = String::new();
    if !first.is_empty() {
        let header = [
            "Process",
            "Command",
            "Loads",
            "Certificates",
            "Wall",
            "CPU",
            "Of its CPU",
            "Held at most",
            "Never freed",
            "Connections",
            "Peak RSS",
        ];
        body.push_str(&table(&header, first.into_iter().map(process_row)));
    }
    if !others.is_empty() {
        let row = |process: &Process| {
            vec![pid(process), command(process), known(process.process_cpu, duration), rss(process)]
        };
        body.push_str(&format!(
            "<details><summary>{} without loads</summary>\n{}</details>\n",
            count(others.len() as u64, "process", "processes"),
            table(&["Process", "Command", "CPU", "Peak RSS"], others.into_iter().map(row))
        ));
    }
    section("processes", "Processes", "All traced processes.", &body)
}

fn process_row(process: &Process) -> Vec<Cell> {
    vec![
        pid(process),
        command(process),
        known(process.loads, whole),
        known(process.certificates, whole),
        known(process.wall, duration),
        known(process.cpu, duration),
        share(process.cpu_share),
        memory(process.memory_peak),
        memory(process.memory_end),
        known(process.connections, whole),
        rss(process),
    ]
}

fn pid(process: &Process) -> Cell {
    number(process.pid.to_string(), f64::from(process.pid))
}

fn command(process: &Process) -> Cell {
    let reason = process.out_of_reach.as_ref();
    let reason = reason.map(|reason| format!("<p class=\"warning\">Out of reach: {}</p>", escaped(reason)));
    let command =
        if process.arguments.is_empty() { process.programs.join(" → ") } else { quoted(&process.arguments) };
    let end = match (process.ended, process.running) {
        (true, _) => "",
        (false, true) => "<p class=\"detail\">still ran at the end</p>",
        (false, false) => "<p class=\"detail\">ended abruptly (a signal, _exit)</p>",
    };
    let html = format!("<code>{}</code>{end}{}", escaped(&super::short(&command)), reason.unwrap_or_default());
    Cell { html, value: None }
}

fn memory(known: Option<i64>) -> Cell {
    number(bytes_if_known(known), known.map_or(-1.0, |bytes| bytes as f64))
}

fn rss(process: &Process) -> Cell {
    process.max_rss.map_or_else(
        || number(String::from("?"), -1.0),
        |rss| number(bytes(i64::try_from(rss).unwrap_or(i64::MAX)), rss as f64),
    )
}

/// Sources, and the trust anchors that were of use.
pub fn certificates(report: &Report) -> String {
    let certificates = &report.certificates;
    let mut body = String::new();
    if !certificates.sources.is_empty() {
        let rows = certificates.sources.iter().map(|source| {
            let count =
                source.certificates.map_or_else(|| number(String::from("?"), -1.0), |count| whole(count as u64));
            vec![code(&source.path), count, text(source.problem.as_deref().unwrap_or_default())]
        });
        body.push_str(&table(&["Source", "Certificates", "Remark"], rows));
    }
    if !certificates.anchors.is_empty() {
        let rows = certificates.anchors.iter().map(|anchor| {
            let name = anchor.name.as_deref().unwrap_or("not in a source that can be read");
            vec![text(name), whole(anchor.verifications), code(&anchor.sha256_fingerprint)]
        });
        body.push_str(&table(&["Trust anchor", "Verifications", "SHA-256"], rows));
    }
    if body.is_empty() {
        return body;
    }
    let distinct = certificates.distinct.map_or_else(
        || String::from("No source could be read."),
        |distinct| format!("{} different certificates in these sources.", grouped(distinct as u64)),
    );
    let memory = match certificates.loads_from_memory {
        0 => String::new(),
        loads => format!(" {} from memory, whose certificates are not among them.", count(loads, "load", "loads")),
    };
    let explanation = format!(
        "{distinct} {} ended a verified chain.{memory} Sources were read again after the run.",
        grouped(certificates.used as u64)
    );
    section("certificates", "Certificates", &explanation, &body)
}

/// The notes: gaps of the report.
pub fn notes(report: &Report) -> String {
    if report.notes.is_empty() {
        return String::new();
    }
    let lines: String = report.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
    section("notes", "Notes", "Facts that are missing on this page, or are unknown.", &format!("<ul>\n{lines}</ul>\n"))
}
