//! The findings of a run, independent of the output format. The field names are those of the JSON, which
//! `windlass trace --help` documents. Times are in nanoseconds.

#![allow(missing_docs, reason = "fields are those of the JSON, which `windlass trace --help` documents")]

mod entry;
mod notes;
mod process;
mod unreached;

pub use entry::{Entry, Inside};
pub use process::Process;
pub use unreached::Unreached;

use std::collections::HashMap;

use serde::Serialize;
use windlass_machine::processes::Executables;
use windlass_run::parent::Ending;

use super::certificates::Certificates;
use super::compare::Comparison;
use super::frames::NamedStack;
use super::model::{self, Totals, Trace};
use super::reader::Lines;
use super::rows::{self, Row};

/// Stacks and processes that the report lists.
const MAX_STACKS: usize = 2_000;
const MAX_PROCESSES: usize = 2_000;

/// The facts about the run that are not in its events.
#[derive(Debug)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub ending: Ending,
    /// Start time, CLOCK_MONOTONIC.
    pub start: u64,
    pub end: u64,
    /// Why the library can't have reached the program; None if nothing is known against it.
    pub unreachable: Option<String>,
    /// The programs still running when the traced program had ended, by process.
    pub running: HashMap<u32, String>,
}

/// The report of a run.
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
    /// Processes out of reach, by reason. In the JSON, each process has its reason.
    #[serde(skip)]
    pub unreached: Vec<Unreached>,
    pub certificates: Certificates,
    pub stacks: Vec<NamedStack>,
    pub timeline: Vec<Row>,
    /// Loads of a thread closer together than this are one span.
    pub timeline_resolution: u64,
    pub comparison: Option<Comparison>,
    pub events: Lines,
    /// Parts that the report leaves out, or could not determine.
    pub notes: Vec<String>,
}

/// Totals. Null if nothing was seen and something is out of reach: that differs from zero.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Processes that were traced.
    pub processes: usize,
    /// Processes that loaded certificates.
    pub loading_processes: usize,
    /// Processes about which nothing is known, because their TLS code is out of reach.
    pub out_of_reach: usize,
    pub loads: Option<u64>,
    pub failed: Option<u64>,
    /// Null also if no load could tell.
    pub certificates: Option<u64>,
    pub wall: Option<u64>,
    pub cpu: Option<u64>,
    /// CPU time of the traced processes.
    pub process_cpu: Option<u64>,
    pub cpu_share: Option<f64>,
    /// Processes whose CPU time is incomplete, because they ended without an event or are still running.
    pub cpu_missing: usize,
    /// Null also if a process ended without an event before others loaded: the time when its stores were freed is
    /// unknown.
    pub memory_peak: Option<i64>,
    pub memory_end: Option<i64>,
    pub connections: Option<u64>,
    /// Counts only loads that read something, not those that only register a directory.
    pub loads_per_connection: Option<f64>,
    pub verifications: Option<u64>,
    pub verified: Option<u64>,
    pub verification_wall: Option<u64>,
}

impl Report {
    /// Builds the report.
    pub fn new(run: Run, trace: &Trace, stacks: Vec<NamedStack>, certificates: Certificates, events: Lines) -> Report {
        let (exit_status, signal) = run.ending.parts();
        let mut executables = Executables::default();
        let all = trace.processes.all();
        let mut processes: Vec<_> =
            all.iter().map(|process| Process::new(process, trace, &run, &mut executables)).collect();
        processes.sort_by_key(|process| std::cmp::Reverse((process.has_loaded(), process.out_of_reach.is_some())));
        let mut entries: Vec<_> = trace.entries.all().map(|entry| Entry::new(entry, trace)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.wall, entry.calls)));
        let notes = notes::of(trace, &processes, stacks.len(), events);
        let unreached = unreached::by_reason(&processes);
        let summary = Summary::new(trace, &processes);
        processes.truncate(MAX_PROCESSES);
        Report {
            schema: 1,
            exit_status,
            signal,
            wall: run.end.saturating_sub(run.start),
            unreachable: run.unreachable,
            summary,
            entries,
            processes,
            unreached,
            certificates,
            stacks: stacks.into_iter().take(MAX_STACKS).collect(),
            timeline: rows::of(trace, run.start),
            timeline_resolution: trace.timeline.gap(),
            comparison: None,
            events,
            notes,
            command: run.command,
        }
    }

    /// Adds the measurements. The number of loads tells whether they come from the same work as the trace.
    pub fn compare(&mut self, mut comparison: Comparison) {
        comparison.judge(self.summary.loads.unwrap_or(0));
        self.comparison = Some(comparison);
    }

    /// Whether any load was seen.
    pub fn has_loads(&self) -> bool {
        self.summary.loads.is_some_and(|loads| loads > 0)
    }
}

impl Summary {
    fn new(trace: &Trace, processes: &[Process]) -> Summary {
        let all = trace.processes.all();
        let Totals { loads, failed, certificates, wall, cpu, connections, verifications, verified, .. } = trace.totals;
        let process_cpu = sum_cpu(all.iter());
        let out_of_reach = processes.iter().filter(|process| process.out_of_reach.is_some()).count();
        let is_blind = loads == 0 && (out_of_reach > 0 || all.is_empty());
        let known = |sum: u64| (sum > 0 || !is_blind).then_some(sum);
        let loading_processes = all.iter().filter(|process| process.loads > 0).count();
        let is_silent = |process: &&Process| process.has_loaded() && !process.ended && !process.running;
        let may_overlap = loading_processes < 2 || !processes.iter().any(|process| is_silent(&process));
        let told = loads == 0 || trace.totals.certificates_unknown < loads;
        Summary {
            processes: all.len(),
            loading_processes,
            out_of_reach,
            loads: known(loads),
            failed: known(failed),
            certificates: known(certificates).filter(|_| told),
            wall: known(wall),
            cpu: known(cpu),
            process_cpu,
            cpu_share: share(cpu, process_cpu).filter(|_| !is_blind),
            cpu_missing: all.iter().filter(|process| !process.ended).count(),
            memory_peak: trace.processes.held.peak().filter(|_| may_overlap),
            memory_end: all.iter().filter_map(|process| process.held.end()).reduce(i64::saturating_add),
            connections: known(connections),
            loads_per_connection: per(loads.saturating_sub(trace.totals.noted), connections).filter(|_| !is_blind),
            verifications: known(verifications),
            verified: known(verified),
            verification_wall: known(trace.totals.verification_wall),
        }
    }
}

fn sum_cpu<'a>(processes: impl Iterator<Item = &'a model::Process>) -> Option<u64> {
    processes.filter_map(|process| process.cpu).reduce(u64::saturating_add)
}

/// A fraction, rounded to four digits. More than the whole is not a fraction, but a sign that the whole is incomplete.
fn share(part: u64, whole: Option<u64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0 && *whole >= part)?;
    Some((part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

fn per(loads: u64, connections: u64) -> Option<f64> {
    (connections > 0).then(|| (loads as f64 / connections as f64 * 100.0).round() / 100.0)
}
