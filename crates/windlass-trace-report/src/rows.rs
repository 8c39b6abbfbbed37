//! The timeline of a report: the loads of each thread along time.

use std::collections::HashMap;

use serde::Serialize;

use super::model::{Process, Trace};

/// A thread on the timeline. Times are relative to the start of the run.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The process's number in the report.
    #[serde(skip)]
    pub number: u32,
    /// The process ID.
    pub pid: u32,
    /// The thread ID.
    pub tid: u32,
    /// The program of its process.
    pub program: String,
    /// The spans, in the order of time.
    pub spans: Vec<Span>,
    /// Time and count of connections.
    pub connections: Vec<(u64, u64)>,
}

/// A period in which a thread loaded.
#[derive(Debug, Serialize)]
pub struct Span {
    /// Start time in nanoseconds.
    pub start: u64,
    /// Length in nanoseconds.
    pub duration: u64,
    /// Loads in it.
    pub calls: u64,
    /// Certificates that these loads parsed.
    pub certificates: u64,
    /// The loading function; null for several.
    pub function: Option<String>,
}

/// The threads that loaded or made connections, in the order of their first event.
pub fn of(trace: &Trace, start: u64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places = HashMap::new();
    let programs: HashMap<_, _> =
        trace.processes.all().iter().map(|process| (process.pid, Process::name(process))).collect();
    let functions: Vec<_> = trace.entries.all().map(|entry| entry.function.clone()).collect();
    let mut spans = trace.timeline.spans().to_vec();
    spans.sort_by_key(|span| (span.start, span.pid, span.tid));
    let mut row = |rows: &mut Vec<Row>, pid: u32, tid: u32| {
        *places.entry((pid, tid)).or_insert_with(|| {
            let program = (*programs.get(&pid).unwrap_or(&"unknown program")).to_owned();
            rows.push(Row {
                number: pid,
                pid: trace.namespaces.pid(pid),
                tid,
                program,
                spans: Vec::new(),
                connections: Vec::new(),
            });
            rows.len() - 1
        })
    };
    for span in spans {
        let place = row(&mut rows, span.pid, span.tid);
        rows[place].spans.push(Span {
            start: span.start.saturating_sub(start),
            duration: span.end.saturating_sub(span.start),
            calls: span.calls,
            certificates: span.certificates,
            function: span.entry.and_then(|entry| functions.get(entry).cloned()),
        });
    }
    for (pid, tid, time, count) in trace.timeline.connections() {
        let place = row(&mut rows, pid, tid);
        rows[place].connections.push((time.saturating_sub(start), count));
    }
    rows
}
