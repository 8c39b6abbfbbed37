//! The findings of a run, however they are rendered. The field names are those of the JSON, which `windlass trace --help`
//! documents. Times are nanoseconds.

use std::path::Path;

use serde::Serialize;

use super::certificates::Certificates;
use super::compare::Comparison;
use super::event::Source;
use super::frames::{Frame, NamedStack};
use super::model::{self, Totals, Trace};
use super::reach::out_of_reach;
use super::reader::Lines;
use super::rows::{self, Row};
use crate::processes::Images;
use crate::run::parent::Ending;

/// Stacks and processes that the report lists.
const MAX_STACKS: usize = 2_000;
const MAX_PROCESSES: usize = 2_000;

/// What is known of the run beside its events.
#[derive(Debug)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub ending: Ending,
    /// CLOCK_MONOTONIC.
    pub start: u64,
    pub end: u64,
    /// Why the library can't have come to the program.
    pub unreachable: Option<String>,
}

/// All findings.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    pub command: Vec<String>,
    pub exit_status: Option<u8>,
    pub signal: Option<i32>,
    pub wall: u64,
    pub unreachable: Option<String>,
    pub summary: Summary,
    pub entries: Vec<Entry>,
    pub processes: Vec<Process>,
    pub certificates: Certificates,
    pub stacks: Vec<Stack>,
    pub timeline: Vec<Row>,
    /// Neighbouring loads of a thread that are nearer than this are one span.
    pub timeline_resolution: u64,
    pub comparison: Option<Comparison>,
    pub events: Lines,
    /// What the report leaves out, or could not find out.
    pub notes: Vec<String>,
}

/// Totals.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Processes that were traced.
    pub processes: usize,
    /// Those that loaded.
    pub loading_processes: usize,
    pub loads: u64,
    pub failed: u64,
    pub certificates: u64,
    pub wall: u64,
    pub cpu: u64,
    /// CPU time of the traced processes.
    pub process_cpu: Option<u64>,
    pub cpu_share: Option<f64>,
    pub memory_peak: Option<i64>,
    pub memory_end: Option<i64>,
    pub connections: u64,
    pub loads_per_connection: Option<f64>,
    pub verifications: u64,
    pub verified: u64,
    pub verification_wall: u64,
}

/// An entry point.
#[derive(Debug, Serialize)]
pub struct Entry {
    pub function: String,
    pub library: String,
    pub sources: Vec<Source>,
    pub calls: u64,
    pub loads: u64,
    pub failed: u64,
    /// Null where no call could tell.
    pub certificates: Option<u64>,
    pub wall: u64,
    pub slowest: u64,
    pub cpu: u64,
    /// Of the CPU time of the processes that called it.
    pub cpu_share: Option<f64>,
    pub memory: i64,
    /// Loading functions that it called itself; parts of the numbers above.
    pub inside: Vec<Inside>,
}

/// A loading function inside of another.
#[derive(Debug, Serialize)]
pub struct Inside {
    pub function: String,
    /// Empty where they are those of the outer function.
    pub sources: Vec<Source>,
    pub calls: u64,
    pub certificates: u64,
    pub wall: u64,
    pub cpu: u64,
}

/// A process.
#[derive(Debug, Serialize)]
pub struct Process {
    pub pid: u32,
    pub ppid: Option<u32>,
    pub name: String,
    /// What it executed, the last one last.
    pub programs: Vec<String>,
    pub arguments: Vec<String>,
    /// From the start of the run.
    pub start: Option<u64>,
    pub end: Option<u64>,
    pub loads: u64,
    pub failed: u64,
    pub certificates: u64,
    pub wall: u64,
    pub cpu: u64,
    pub process_cpu: Option<u64>,
    /// False: it ended without a word (signal, `_exit`), and `process_cpu` is that at its last load.
    pub ended: bool,
    pub cpu_share: Option<f64>,
    pub max_rss: Option<u64>,
    pub memory_peak: Option<i64>,
    pub memory_end: Option<i64>,
    pub connections: u64,
    pub loads_per_connection: Option<f64>,
    pub verifications: u64,
    /// Why its TLS can't be seen, where the executable tells.
    pub out_of_reach: Option<String>,
}

/// Loads from one place of a program.
#[derive(Debug, Serialize)]
pub struct Stack {
    pub program: String,
    /// Outermost first.
    pub frames: Vec<Frame>,
    pub calls: u64,
    pub certificates: u64,
    pub wall: u64,
    pub cpu: u64,
}

impl Report {
    /// Puts everything together.
    pub fn new(run: Run, trace: &Trace, stacks: Vec<NamedStack>, certificates: Certificates, events: Lines) -> Report {
        let (exit_status, signal) = match run.ending {
            Ending::Exited(status) => (Some(status), None),
            Ending::Killed(signal) => (None, Some(signal)),
        };
        let mut images = Images::default();
        let all = trace.processes.all();
        let mut processes: Vec<_> = all.iter().map(|process| Process::new(process, &run, &mut images)).collect();
        processes.sort_by_key(|process| std::cmp::Reverse(process.loads > 0));
        let mut entries: Vec<_> = trace.entries.all().map(|entry| Entry::new(entry, trace)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.wall, entry.calls)));
        let mut report = Report {
            schema: 1,
            exit_status,
            signal,
            wall: run.end.saturating_sub(run.start),
            unreachable: run.unreachable.clone(),
            summary: Summary::new(trace),
            entries,
            processes,
            certificates,
            stacks: Vec::new(),
            timeline: rows::of(trace, run.start),
            timeline_resolution: trace.timeline.gap(),
            comparison: None,
            events,
            notes: Vec::new(),
            command: run.command,
        };
        report.notes(trace, stacks.len());
        report.stacks = stacks.into_iter().take(MAX_STACKS).map(Stack::new).collect();
        report.processes.truncate(MAX_PROCESSES);
        report
    }

    fn notes(&mut self, trace: &Trace, stacks: usize) {
        let lines = self.events;
        let over = |count: u64, limit: usize| count.saturating_sub(limit as u64);
        let counted = [
            (lines.unreadable, "lines of the trace were torn or damaged, and are missing here"),
            (lines.unknown, "events are of a kind that this windlass does not know"),
            (trace.totals.certificates_unknown, "loads did not say how many certificates they parsed"),
            (
                trace.processes.held.unknown,
                "loads are not in the memory that stores hold: what they took is not known, or is not in a store",
            ),
            (trace.totals.anchors_unknown, "verified chains did not tell the trust anchor that they ended in"),
            (over(stacks as u64, MAX_STACKS) + trace.stacks.not_listed, "call stacks are not listed"),
            (trace.timeline.not_listed(), "loads or connections are not on the timeline"),
            (trace.processes.not_listed, "events are of processes that are not listed"),
            (over(self.processes.len() as u64, MAX_PROCESSES), "processes are not listed"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        self.notes.extend(counted.map(|(count, what)| format!("{count} {what}")));
        let silent = trace.processes.all().iter().filter(|process| process.loads > 0 && !process.ended).count();
        if silent > 0 {
            self.notes.push(format!(
                "{silent} loading processes ended without a word (by a signal, _exit or exec): their CPU time is that at their last load"
            ));
        }
        if trace.not_listed {
            self.notes.push(String::from("there was more than the report can list; totals are of everything"));
        }
    }
}

impl Summary {
    fn new(trace: &Trace) -> Summary {
        let all = trace.processes.all();
        let Totals { loads, failed, certificates, wall, cpu, connections, verifications, verified, .. } = trace.totals;
        let process_cpu = sum_cpu(all.iter());
        Summary {
            processes: all.len(),
            loading_processes: all.iter().filter(|process| process.loads > 0).count(),
            loads,
            failed,
            certificates,
            wall,
            cpu,
            process_cpu,
            cpu_share: share(cpu, process_cpu),
            memory_peak: trace.processes.held.peak(),
            memory_end: all.iter().filter_map(|process| process.held.end()).reduce(i64::saturating_add),
            connections,
            loads_per_connection: per(loads, connections),
            verifications,
            verified,
            verification_wall: trace.totals.verification_wall,
        }
    }
}

impl Entry {
    fn new(entry: &model::Entry, trace: &Trace) -> Entry {
        let callers = entry.processes.iter().filter_map(|place| trace.processes.get(Some(*place)));
        let inside = entry.inner.iter().map(|((function, sources), sum)| Inside {
            function: function.clone(),
            sources: if *sources == entry.sources { Vec::new() } else { sources.clone() },
            calls: sum.calls,
            certificates: sum.certificates,
            wall: sum.wall,
            cpu: sum.cpu,
        });
        let mut inside: Vec<_> = inside.collect();
        inside.sort_by_key(|inside| std::cmp::Reverse(inside.wall));
        Entry {
            function: entry.function.clone(),
            library: entry.library.clone(),
            sources: entry.sources.clone(),
            calls: entry.calls,
            loads: entry.loads,
            failed: entry.failed,
            certificates: (entry.certificates_unknown < entry.loads).then_some(entry.certificates),
            wall: entry.wall,
            slowest: entry.slowest,
            cpu: entry.cpu,
            cpu_share: share(entry.cpu, sum_cpu(callers)),
            memory: entry.memory,
            inside,
        }
    }
}

impl Process {
    fn new(process: &model::Process, run: &Run, images: &mut Images) -> Process {
        let from_start = |time: Option<u64>| time.map(|time| time.saturating_sub(run.start));
        let program = process.programs.last().map(String::as_str).unwrap_or_default();
        let may_ask = process.loads == 0 && program.starts_with('/');
        Process {
            pid: process.pid,
            ppid: process.ppid,
            name: process.name().to_owned(),
            programs: process.programs.clone(),
            arguments: process.arguments.clone(),
            start: from_start(process.start),
            end: from_start(process.end),
            loads: process.loads,
            failed: process.failed,
            certificates: process.certificates,
            wall: process.wall,
            cpu: process.load_cpu,
            process_cpu: process.cpu,
            ended: process.ended,
            cpu_share: share(process.load_cpu, process.cpu),
            max_rss: process.max_rss,
            memory_peak: process.held.peak(),
            memory_end: process.held.end(),
            connections: process.connections,
            loads_per_connection: per(process.loads, process.connections),
            verifications: process.verifications,
            out_of_reach: may_ask.then(|| out_of_reach(images, Path::new(program))).flatten(),
        }
    }
}

impl Stack {
    fn new(stack: NamedStack) -> Stack {
        let model::Stack { calls, certificates, wall, cpu } = stack.sum;
        Stack { program: stack.program, frames: stack.frames, calls, certificates, wall, cpu }
    }
}

fn sum_cpu<'a>(processes: impl Iterator<Item = &'a model::Process>) -> Option<u64> {
    processes.filter_map(|process| process.cpu).reduce(u64::saturating_add)
}

/// A part of something, to four digits.
fn share(part: u64, whole: Option<u64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0)?;
    Some((part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

fn per(loads: u64, connections: u64) -> Option<f64> {
    (connections > 0).then(|| (loads as f64 / connections as f64 * 100.0).round() / 100.0)
}
