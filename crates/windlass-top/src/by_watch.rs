//! The state of a watch, grouped by process or by program.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use windlass_machine::processes::{ProcessFacts, Served, Unseen};

use super::ledger::Row;
use super::snapshot::{
    Entry, Missed, SCHEMA, Snapshot, SourceCount, SourceEntry, Totals, libraries, seconds, sort_rows,
};
use super::source::Source;
use super::tally::Tally;
use super::users::Users;
use super::who::Who;
use super::worker::State;
use crate::snapshot::{By, Sort};

impl Snapshot {
    /// The state of a watch.
    pub fn of(state: &State, by: By, sort: Sort, users: &Users) -> Snapshot {
        let now = state.started.elapsed();
        let sources = &state.sources[..];
        let mut all = Tally::default();
        let mut by_source: BTreeMap<usize, Tally> = BTreeMap::new();
        let mut processes = 0;
        let mut missed = Missed {
            overflows: state.overflows,
            own_opens: state.ledger.left_out,
            failed: state.failed.map(|errno| errno.desc().to_owned()),
            left_out: state.left_out,
            ..Missed::default()
        };
        for (_, row) in state.ledger.rows() {
            missed.unread += u64::from(row.unread);
            all.add(&row.tally);
            processes += row.processes;
            for (source, tally) in &row.sources {
                by_source.entry(*source).or_default().add(tally);
            }
        }
        let mut rows = entries(state, by, sources, users, now);
        sort_rows(&mut rows, sort);
        let none = Tally::default();
        let source = |(place, source): (usize, &Source)| {
            let tally = by_source.get(&place).unwrap_or(&none);
            let counts = (Some(tally.opens), Some(tally.listings), Some(tally.bytes));
            SourceEntry { source: source.clone(), opens: counts.0, listings: counts.1, bytes: counts.2 }
        };
        Snapshot {
            schema: SCHEMA,
            watched: true,
            why_not_watched: None,
            seconds: seconds(now),
            missed,
            totals: Totals { processes, opens: Some(all.opens), listings: Some(all.listings), bytes: Some(all.bytes) },
            by,
            rows,
            sources: sources.iter().enumerate().map(source).collect(),
        }
    }
}

fn entries(state: &State, by: By, sources: &[Source], users: &Users, now: Duration) -> Vec<Entry> {
    let rows = state.ledger.rows();
    match by {
        By::Process => rows.map(|(who, row)| entry(who, row, row.tally.per_minute(now), sources, users)).collect(),
        By::Program => programs(state, users, now)
            .into_iter()
            .map(|(who, mut program)| {
                let mut entry = entry(&who, &program.row, program.rate, sources, users);
                program.users.sort();
                program.users.dedup();
                (entry.uid, entry.command) = (None, None);
                entry.user = if program.users.len() == 1 { program.users.pop() } else { None };
                entry
            })
            .collect(),
    }
}

/// The processes of an executable.
#[derive(Default)]
struct Program {
    row: Row,
    rate: f64,
    users: Vec<String>,
}

fn programs(state: &State, users: &Users, now: Duration) -> BTreeMap<Who, Program> {
    let mut programs: BTreeMap<Who, Program> = BTreeMap::new();
    for (who, row) in state.ledger.rows() {
        let who = match who {
            Who::Process { exe, .. } => Who::Former { exe: exe.clone() },
            other => other.clone(),
        };
        let program = programs.entry(who).or_default();
        program.rate += row.tally.per_minute(now);
        program.users.extend(row.facts.as_ref().map(|facts| users.name(facts.uid)));
        program.row.take_in(row.clone());
    }
    programs
}

fn entry(who: &Who, row: &Row, rate: f64, sources: &[Source], users: &Users) -> Entry {
    let (pid, exe, unknown) = match who {
        Who::Process { pid, exe, .. } => (Some(*pid), exe.clone(), None),
        Who::Former { exe } => (None, exe.clone(), None),
        Who::Others => (None, None, Some("too many programs to list")),
        Who::TooSoon => (None, None, Some("ended too soon")),
        Who::Outside => (None, None, Some("outside this pid namespace")),
    };
    let facts = row.facts.as_ref();
    let unseen = if row.unread { Unseen::Unread } else { Unseen::Gone };
    let source = |(place, tally): (&usize, &Tally)| {
        let source = sources.get(*place)?;
        let (path, mount_namespace) = (source.path.clone(), source.mount_namespace);
        Some(SourceCount {
            path,
            mount_namespace,
            opens: Some(tally.opens),
            listings: Some(tally.listings),
            bytes: Some(tally.bytes),
        })
    };
    let mut opened: Vec<_> = row.sources.iter().filter_map(source).collect();
    opened.sort_by_key(|count| Reverse((count.bytes, count.opens)));
    Entry {
        pid,
        processes: row.processes,
        uid: facts.map(|facts| facts.uid),
        user: facts.map(|facts| users.name(facts.uid)),
        exe,
        command: facts.map(ProcessFacts::command_line),
        unknown,
        opens: Some(row.tally.opens),
        listings: Some(row.tally.listings),
        bytes: Some(row.tally.bytes),
        opens_per_minute: Some((rate * 10.0).round() / 10.0),
        open_descriptors: None,
        libraries: facts.map(libraries).unwrap_or_default(),
        windlass: Some(facts.map_or_else(|| Served::Unknown(unseen), |facts| facts.windlass.clone())),
        sources: opened,
    }
}
