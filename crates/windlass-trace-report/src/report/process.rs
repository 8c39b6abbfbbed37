//! The processes in a report.

use std::path::Path;

use serde::Serialize;
use windlass_machine::processes::Executables;

use super::super::model::{self, Trace};
use super::super::reach::out_of_reach;
use super::{Run, per, share};

/// A process. Its loads are null if its TLS code is out of reach.
#[derive(Debug, Serialize)]
pub struct Process {
    /// Its number in the report: a process id of another pid namespace can equal one of the first.
    #[serde(skip)]
    pub number: u32,
    pub pid: u32,
    pub ppid: Option<u32>,
    pub name: String,
    /// The programs that it executed, in order.
    pub programs: Vec<String>,
    pub arguments: Vec<String>,
    /// Time from the start of the run.
    pub start: Option<u64>,
    pub end: Option<u64>,
    pub loads: Option<u64>,
    pub failed: Option<u64>,
    pub certificates: Option<u64>,
    pub wall: Option<u64>,
    pub cpu: Option<u64>,
    pub process_cpu: Option<u64>,
    /// False: it ended without an event (signal, `_exit`) or is still running, and `process_cpu` is from its last load.
    pub ended: bool,
    /// It was still running when the program ended.
    pub running: bool,
    pub cpu_share: Option<f64>,
    pub max_rss: Option<u64>,
    pub memory_peak: Option<i64>,
    pub memory_end: Option<i64>,
    pub connections: Option<u64>,
    pub loads_per_connection: Option<f64>,
    pub verifications: Option<u64>,
    /// Why its TLS code can't be traced, if the executable shows it.
    pub out_of_reach: Option<String>,
}

impl Process {
    /// From the sums of a run. The executable of a process without loads is searched.
    pub fn new(process: &model::Process, trace: &Trace, run: &Run, executables: &mut Executables) -> Process {
        let from_start = |time: Option<u64>| time.map(|time| time.saturating_sub(run.start));
        let program = process.programs.last().map(String::as_str).unwrap_or_default();
        let may_ask = process.loads == 0 && program.starts_with('/');
        let out_of_reach = may_ask.then(|| out_of_reach(executables, Path::new(program))).flatten();
        let known = |number: u64| (number > 0 || out_of_reach.is_none()).then_some(number);
        let told = process.loads == 0 || process.certificates_unknown < process.loads;
        Process {
            number: process.pid,
            pid: trace.namespaces.pid(process.pid),
            ppid: process.ppid.map(|parent| trace.namespaces.pid(parent)),
            name: process.name().to_owned(),
            programs: process.programs.clone(),
            arguments: process.arguments.clone(),
            start: from_start(process.start),
            end: from_start(process.end),
            loads: known(process.loads),
            failed: known(process.failed),
            certificates: known(process.certificates).filter(|_| told),
            wall: known(process.wall),
            cpu: known(process.load_cpu),
            process_cpu: process.cpu,
            ended: process.ended,
            running: !process.ended && run.running.get(&process.pid).is_some_and(|running| running == program),
            cpu_share: share(process.load_cpu, process.cpu).filter(|_| out_of_reach.is_none()),
            max_rss: process.max_rss,
            memory_peak: process.held.peak(),
            memory_end: process.held.end(),
            connections: known(process.connections),
            loads_per_connection: per(process.loads.saturating_sub(process.noted), process.connections)
                .filter(|_| out_of_reach.is_none()),
            verifications: known(process.verifications),
            out_of_reach,
        }
    }

    /// Whether one of its loads was seen.
    pub fn has_loaded(&self) -> bool {
        self.loads.is_some_and(|loads| loads > 0)
    }
}
