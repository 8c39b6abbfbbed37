//! Arguments and help of `windlass trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::help::Block::{Example, Item, Text};
use crate::help::{SCHEMA, Section, section};

use clap::Args;
use windlass_trace_report::fail_if::Condition;
use windlass_trace_report::measure::Front;

pub const ABOUT: &str = "\
Run PROGRAM and measure what it and its child processes spend on loading CA certificates: which functions load which \
sources, how often, from which lines of code, how long it takes, and how much memory it keeps.

PROGRAM runs with a library that only records; Windlass itself is switched off in it. PROGRAM keeps its standard \
streams, signals and exit status, as with `run --stats`. The report goes to standard error at the end. Function names \
are looked up after the run, so PROGRAM is hardly slowed down.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass trace -- python3 app.py", ""),
            Example("windlass trace --html trace.html -- ./nightly.sh", ""),
            Example("windlass trace --compare -- openssl verify /etc/ssl/certs/ca-certificates.crt", ""),
            Example("windlass trace --json trace.json --output trace.txt -- make check", ""),
            Example("windlass trace --fail-if 'loads>10' --fail-if 'ms>=2000' -- python3 app.py", ""),
        ],
    ),
    section(
        "",
        &[
            Text(
                "--compare runs PROGRAM again, N times without and N times with the preload library, in turns, and \
             prints the medians. Nothing is estimated. These runs repeat everything that PROGRAM does. Their \
             standard input is empty, and their output is discarded. One more run is traced, to check that they \
             load as often as the first run did. If they don't, or if not all runs end alike, no ratio is \
             printed. If a signal ended the first run, nothing is measured. A signal to windlass stops the \
             measurement, and the trace is reported.",
            ),
            Text(
                "--fail-if is for pipelines. CONDITION is METRIC OP VALUE, in quotes, since > is special to the \
             shell. OP is >, >=, < or <=. METRIC is one of the metrics below. If a condition holds, or its \
             metric is unknown, and PROGRAM exited with 0, then the exit status is 10, and standard error has \
             the value.",
            ),
        ],
    ),
    section(
        "Metrics of --fail-if",
        &[
            Item("loads", "loads of CA certificates"),
            Item("bytes", "peak memory of loaded stores; VALUE may have the unit KiB, MiB or GiB"),
            Item("ms", "wall time of all loads, in milliseconds"),
            Item("share", "percentage of all CPU time that loads take: 'share>10%'"),
        ],
    ),
    section(
        "",
        &[
            Text(
                "windlass does not wait for processes that outlive PROGRAM. If a report can't be written and PROGRAM \
             exited with 0, the exit status is 1.",
            ),
            Text(
                "The library can't reach programs that are static, setuid or built for another architecture, \
             programs with OpenSSL or GnuTLS linked in (Node.js), Go and Java. The report says so if the \
             executable shows it. A static program that is started by a traced program is not seen at all.",
            ),
            Text("The HTML page is a single file. It loads nothing, and is readable without scripts."),
        ],
    ),
    section(
        "Environment",
        &[
            Item(
                "WINDLASS_TRACE_LIBRARY",
                "The library to use, instead of libwindlass_trace.so beside windlass, in ../lib/windlass or in \
             ../lib/TRIPLET/windlass.",
            ),
            Item("WINDLASS_PRELOAD_LIBRARY", "With --compare: the preload library, as for `windlass run`."),
            Item("TMPDIR", "The directory for recorded events while PROGRAM runs."),
        ],
    ),
    section(
        "Content of --json",
        &[
            Text("One JSON object; times are in nanoseconds, sizes in bytes; unknown values are null:"),
            SCHEMA,
            Item("command", "PROGRAM and its arguments"),
            Item("exit_status", "of PROGRAM, or null if a signal ended it"),
            Item("signal", "the number of that signal, or null"),
            Item("wall", "wall time of the run"),
            Item("unreachable", "why the library can't have reached PROGRAM, if that is known"),
            Item(
                "summary",
                "{processes, loading_processes, out_of_reach, loads, failed, certificates, wall, cpu, process_cpu, \
             cpu_share, cpu_missing, memory_peak, memory_end, connections, loads_per_connection, verifications, \
             verified, verification_wall}: out_of_reach counts processes; certificates are those parsed; cpu is \
             the CPU time of loading, cpu_share its part of process_cpu; cpu_missing counts processes whose CPU \
             time is not known completely; memory_peak is the most that loaded stores held at a time, memory_end \
             what was never freed; loads that only note a directory are not in loads_per_connection",
            ),
            Item(
                "entries",
                "by function, library and sources: {function, library, sources, calls, loads, failed, certificates, \
             wall, slowest, cpu, cpu_share, memory, inside}; sources: [{kind, path}], kind is \"file\", \
             \"directory\", \"default-file\", \"default-directory\", \"default-store\", \"system\", \"memory\" \
             or \"uri\"; inside has the loading functions that this one called itself: their numbers are part of \
             its own, and their sources are empty if they are the same; a program that adds certificates to a \
             store one by one makes many calls, but one load",
            ),
            Item(
                "processes",
                "{pid, ppid, name, programs, arguments, start, end, loads, failed, certificates, wall, cpu, \
             process_cpu, ended, running, cpu_share, max_rss, memory_peak, memory_end, connections, \
             loads_per_connection, verifications, out_of_reach}: running means that it still ran when PROGRAM \
             had ended; out_of_reach is the reason",
            ),
            Item(
                "certificates",
                "{distinct, used, loads_from_memory, sources, anchors}: sources, read again after the run: [{kind, \
             path, certificates, problem}], kind is \"file\" or \"directory\"; anchors that ended a verified \
             chain: [{sha256_fingerprint, name, verifications}]",
            ),
            Item(
                "stacks",
                "most expensive first: {program, frames, calls, certificates, wall, cpu}; frames, outermost first: \
             {kind, name, place}; kind is \"native\", \"script\", \"object\" (code without names) or \"entry\"",
            ),
            Item(
                "timeline",
                "by thread: {pid, tid, program, spans, connections}; spans: {start, duration, calls, certificates, \
             function}; connections: [time, number]",
            ),
            Item("timeline_resolution", "loads of a thread that are closer together than this are one span"),
            Item(
                "comparison",
                "of --compare: {runs, stock, windlass, endings_differ, loads, loads_differ, input_differs}; stock \
             and windlass: {wall, cpu, peak_rss, samples}, the first three are medians; samples: [{wall, cpu, \
             peak_rss, exit_status, signal}]; loads are those of the additional traced run; input_differs means \
             that standard input of PROGRAM was a pipe or a file",
            ),
            Item("events", "lines of the trace: {read, unreadable, unknown}"),
            Item("notes", "what the report lacks, for people"),
        ],
    ),
];

/// Arguments of `windlass trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Write an HTML page with timeline and flame graph to FILE
    ///
    /// If FILE is -, write it to standard output.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the report as JSON to FILE
    ///
    /// If FILE is -, write it to standard output, after the output of PROGRAM.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Write the report to FILE instead of standard error
    ///
    /// If FILE is -, write it to standard output.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Measure the run with and without Windlass, N times each [default: 5]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub compare: Option<u32>,

    /// Exit with 10 if CONDITION holds, as in 'share>10%' (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,

    /// For --compare itself: run once, and write the measurement to FILE
    #[arg(long, value_name = "FILE", hide = true)]
    pub measured_run: Option<PathBuf>,

    /// With --measured-run: with the preload library
    #[arg(long, hide = true, requires = "measured_run")]
    pub under_windlass: bool,

    /// With --measured-run: with the tracing library, which writes to FILE
    #[arg(long, value_name = "FILE", hide = true, requires = "measured_run", conflicts_with = "under_windlass")]
    pub traced_into: Option<PathBuf>,

    /// The program, looked up in PATH as in a shell, and its arguments
    ///
    /// All arguments after PROGRAM are its own, even if they look like options of windlass.
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
