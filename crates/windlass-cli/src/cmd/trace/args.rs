//! Arguments and help of `windlass trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use windlass_trace_report::fail_if::Condition;
use windlass_trace_report::measure::Front;

pub const ABOUT: &str = "\
Run PROGRAM and find out what it and its child processes spend on loading CA certificates: which functions load, what, \
how often, from which lines of code, how long that takes, and what it keeps in memory.

PROGRAM runs with a library that records and changes nothing; Windlass itself is switched off in it. Standard streams, \
signals and the exit status are those of PROGRAM, as with `run --stats`. The report goes to standard error at the end. \
Names of functions are looked up afterwards, so that PROGRAM is hardly slowed.";

pub const HELP: &str = "\
Examples:
  windlass trace -- python3 app.py
  windlass trace --html trace.html -- ./nightly.sh
  windlass trace --compare -- ruby -ropenssl -e 'OpenSSL::X509::Store.new.set_default_paths'
  windlass trace --json trace.json --output trace.txt -- make check
  windlass trace --fail-if 'loads>10' --fail-if 'ms>=2000' -- python3 app.py

--compare runs PROGRAM again, N times without and N times with the preload library, in turns, and
shows the medians. Nothing is estimated. These runs do all that PROGRAM does once more; their
standard input is empty and their output is thrown away. One more run, which is traced, tells
whether they load as often as the first one did; if not, or if not all runs end alike, no ratio is
shown. Nothing is measured after a run that a signal ended; a signal to windlass ends the measuring,
and what was traced is reported.

--fail-if is for pipelines: METRIC OP VALUE, in quotes, as > is the shell's. METRIC is one of
  loads   loads of CA certificates
  bytes   what loaded stores held at most at a time; VALUE may have the unit KiB, MiB or GiB
  ms      wall time of all loads, in milliseconds
  share   their part of all CPU time, in percent: 'share>10%'
and OP is >, >=, < or <=. If a condition holds, or what it asks for is not known, and PROGRAM ended
with 0, the exit status is 10, and standard error says what was found.

Processes that outlive PROGRAM are not waited for. If a report can't be written and PROGRAM ended
with 0, the exit status is 1.

Out of reach, and reported as such where the executable tells: programs that are static, setuid or
of another architecture; OpenSSL or GnuTLS linked into a program (Node.js); Go; Java. A static
program that a traced one starts is not seen at all.

The HTML page is one file: no network, no other file, readable without scripts.

Environment:
  WINDLASS_TRACE_LIBRARY
          the library to use, instead of libwindlass_trace.so beside windlass, in ../lib/windlass
          or in ../lib/TRIPLET/windlass
  WINDLASS_PRELOAD_LIBRARY
          with --compare: the preload library, as for `windlass run`
  TMPDIR
          where the events are while PROGRAM runs

Content of --json, one object; times are nanoseconds, sizes bytes, what is not known is null:
  schema         1; a larger number means a change that readers must know of
  command        PROGRAM and its arguments
  exit_status    of the program, or null where a signal ended it
  signal         its number, or null
  wall           of the run
  unreachable    why the library can't have come to the program, where that is known
  summary        {processes, loading_processes, out_of_reach, loads, failed, certificates, wall,
                 cpu, process_cpu, cpu_share, cpu_missing, memory_peak, memory_end, connections,
                 loads_per_connection, verifications, verified, verification_wall}: out_of_reach
                 counts processes; certificates are those parsed, cpu is that of loading, cpu_share
                 its part of process_cpu, cpu_missing counts processes that did not tell all of
                 theirs; memory_peak is what loaded stores hold at most at a time, memory_end what
                 was never freed; loads that only note a directory are not in loads_per_connection
  entries        by function, library and sources: {function, library, sources, calls, loads,
                 failed, certificates, wall, slowest, cpu, cpu_share, memory, inside}; sources:
                 [{kind, path}], kind as \"file\", \"directory\", \"default-file\",
                 \"default-directory\", \"default-store\", \"system\", \"memory\" or \"uri\"; inside
                 are loading functions that it called itself, and parts of its numbers (sources
                 is empty where they are the same); certificates that a program adds to a store
                 one by one are many calls, but one load
  processes      {pid, ppid, name, programs, arguments, start, end, loads, failed, certificates,
                 wall, cpu, process_cpu, ended, running, cpu_share, max_rss, memory_peak,
                 memory_end, connections, loads_per_connection, verifications, out_of_reach}:
                 running when PROGRAM had ended; out_of_reach is the reason
  certificates   {distinct, used, loads_from_memory, sources, anchors}: those of all sources, read
                 once more after the run: [{kind, path, certificates, problem}], kind \"file\" or
                 \"directory\"; and the anchors that ended a verified chain:
                 [{sha256_fingerprint, name, verifications}]
  stacks         the most expensive first: {program, frames, calls, certificates, wall, cpu};
                 frames, outermost first: {kind, name, place}; kind is \"native\", \"script\",
                 \"object\" (code without names) or \"entry\"
  timeline       by thread: {pid, tid, program, spans, connections}; spans: {start, duration,
                 calls, certificates, function}; connections: [time, number]
  timeline_resolution  loads of a thread that are nearer to each other are one span
  comparison     of --compare: {runs, stock, windlass, endings_differ, loads, loads_differ,
                 input_differs}; each side: {wall, cpu, peak_rss, samples}, the first three medians;
                 samples: [{wall, cpu, peak_rss, exit_status, signal}]; loads are those of the run
                 that was traced like the first one; input_differs: PROGRAM had a pipe or a file
  events         lines of the trace: {read, unreadable, unknown}
  notes          what is missing in the report, for people
";

/// Arguments of `windlass trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Write a page for browsers to FILE (-: standard output): timeline, flame graph, tables
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write everything as JSON to FILE (-: standard output, behind what PROGRAM writes)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Write the report to FILE (-: standard output) instead of standard error
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Measure the same run with and without Windlass, N times each (5 if N is not given)
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub compare: Option<u32>,

    /// End with 10 if CONDITION holds, as 'share>10%'; can be given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,

    /// For --compare itself: run once, and write what it took to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    pub measured_run: Option<PathBuf>,

    /// With --measured-run: with the preload library
    #[arg(long, hide = true, requires = "measured_run")]
    pub under_windlass: bool,

    /// With --measured-run: with the tracing library, which writes to FILE
    #[arg(long, value_name = "FILE", hide = true, requires = "measured_run", conflicts_with = "under_windlass")]
    pub traced_into: Option<PathBuf>,

    /// The program, looked up in PATH as a shell would, and its arguments, passed on untouched
    // One list: what comes after the program is the program's, also where it looks like an option of ours.
    #[arg(value_name = "PROGRAM [ARGS]", required = true, trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl TraceArgs {
    /// What --measured-run puts in front of the program.
    pub fn front(&self) -> Front<'_> {
        match &self.traced_into {
            Some(events) => Front::Tracer(events),
            None if self.under_windlass => Front::Windlass,
            None => Front::Nothing,
        }
    }
}
