//! The entry points in a report.

use serde::Serialize;

use super::super::event::Source;
use super::super::model::{self, Sum, Trace};
use super::{share, sum_cpu};

/// An entry point.
#[derive(Debug, Serialize)]
pub struct Entry {
    pub function: String,
    pub library: String,
    pub sources: Vec<Source>,
    pub calls: u64,
    pub loads: u64,
    pub failed: u64,
    /// Null if no call could tell.
    pub certificates: Option<u64>,
    pub wall: u64,
    pub slowest: u64,
    pub cpu: u64,
    /// Part of the CPU time of all traced processes, like the summary's: the shares of all entries add up to that one.
    pub cpu_share: Option<f64>,
    pub memory: i64,
    /// Loading functions that it called internally; parts of the numbers above.
    pub inside: Vec<Inside>,
}

/// A loading function called by another one.
#[derive(Debug, Serialize)]
pub struct Inside {
    pub function: String,
    /// Empty if they are the outer function's sources.
    pub sources: Vec<Source>,
    #[serde(flatten)]
    pub sum: Sum,
}

impl Entry {
    /// From the sums of a run.
    pub fn new(entry: &model::Entry, trace: &Trace) -> Entry {
        let inside = entry.inner.iter().map(|((function, sources), sum)| Inside {
            function: function.clone(),
            sources: if *sources == entry.sources { Vec::new() } else { sources.clone() },
            sum: *sum,
        });
        let mut inside: Vec<_> = inside.collect();
        inside.sort_by_key(|inside| std::cmp::Reverse(inside.sum.wall));
        Entry {
            function: entry.function.clone(),
            library: entry.library.clone(),
            sources: entry.sources.clone(),
            calls: entry.sum.calls,
            loads: entry.loads,
            failed: entry.failed,
            certificates: (entry.certificates_unknown < entry.loads).then_some(entry.sum.certificates),
            wall: entry.sum.wall,
            slowest: entry.slowest,
            cpu: entry.sum.cpu,
            cpu_share: share(entry.sum.cpu, sum_cpu(trace.processes.all().iter())),
            memory: entry.memory,
            inside,
        }
    }
}
