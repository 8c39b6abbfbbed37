//! `windlass trace`.

pub mod args;
mod destination;
mod html;
mod numbers;
mod text;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::time::{ClockId, clock_gettime};
use windlass_machine::loader::preload_library::{Library, TRACE};
use windlass_machine::loader::reach::Reach;
use windlass_machine::processes::Executables;
use windlass_machine::{Failure, FailureKind};
use windlass_run::environment::Environment;
use windlass_run::inherited;
use windlass_run::parent::{self, Ending};
use windlass_run::program;
use windlass_run::start::Invocation;
use windlass_trace_report::Trace;
use windlass_trace_report::compare::{Comparison, NoComparison, compare};
use windlass_trace_report::measure::{Front, environment, measured_run};
use windlass_trace_report::reach::out_of_reach;
use windlass_trace_report::report::{Report, Run};
use windlass_trace_report::scratch::Scratch;
use windlass_trace_report::{certificates, frames, reader, running};

use crate::exit::Exit;
use crate::output::stderr;
use args::TraceArgs;
use destination::Destinations;

/// Runs a program with the tracing library, and reports what it recorded.
pub fn run(arguments: &TraceArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.measured_run {
        measured_run(&arguments.command, arguments.front(), file)?;
        return Ok(Exit::Success.into());
    }
    let Some((name, rest)) = arguments.command.split_first() else {
        return Err(Failure::new(FailureKind::Usage, "trace", "no program was named"));
    };
    let path = program::find(name).map_err(|failure| hint(failure, name, arguments))?;
    let library = Library::find_wanted(&TRACE)?;
    if arguments.compare.is_some() {
        // Before the program runs, as with the reports.
        Library::find()?;
    }
    let mut reports = Destinations::create(arguments)?;
    let scratch = Scratch::create()?;
    let reach = Reach::of(&path, &library);
    let environment = environment(&path, Front::Tracer(&scratch.path))?;
    let traced = Traced { name, rest, path: &path };
    let (run, events) = traced.run(&environment, &reach, scratch)?;
    let ending = run.ending;

    let Compared { comparison, note, has_failed, stopped } = compared(arguments, ending);
    // What the symbols of strangers could do to their reader is not to become the program's ending.
    let made = std::panic::catch_unwind(AssertUnwindSafe(|| report(run, events)));
    let mut holds = false;
    let made = made.unwrap_or_else(|_| Err(Failure::other("trace", "the report could not be made")));
    let is_whole = match made {
        Ok(mut report) => {
            if let Some(comparison) = comparison {
                report.compare(comparison);
            }
            report.notes.extend(note.map(String::from));
            let is_whole = reports.write(&report);
            for broken in arguments.fail_if.iter().filter_map(|condition| condition.broken_by(&report.summary)) {
                holds = true;
                stderr::line(&Failure::other(format!("--fail-if {}", broken.condition()), &broken));
            }
            is_whole
        }
        Err(failure) => {
            stderr::line(&failure);
            false
        }
    };
    Ok(match (stopped, ending) {
        // As if it had not waited for the report.
        (Some(signal), _) => Ending::Killed(signal as i32).repeat(),
        (None, Ending::Exited(0)) if !is_whole || has_failed => Exit::Failure.into(),
        (None, Ending::Exited(0)) if holds => Exit::TraceLimit.into(),
        // The program's ending is passed on whatever becomes of the report: it is what the caller waits for.
        (None, ending) => ending.repeat(),
    })
}

/// What became of `--compare`.
#[derive(Default)]
struct Compared {
    comparison: Option<Comparison>,
    note: Option<&'static str>,
    has_failed: bool,
    stopped: Option<Signal>,
}

/// Before the report is made: what this process takes for it would be the least peak memory that can be measured.
fn compared(arguments: &TraceArgs, ending: Ending) -> Compared {
    let Some(runs) = arguments.compare else {
        return Compared::default();
    };
    // Who ended a server does not want to see it start again.
    if parent::was_told_to_end() || matches!(ending, Ending::Killed(_)) {
        let note = "nothing was measured for --compare, since a signal ended the run";
        return Compared { note: Some(note), ..Compared::default() };
    }
    match compare(&arguments.command, runs, ending) {
        Ok(comparison) => Compared { comparison: Some(comparison), ..Compared::default() },
        Err(NoComparison::Stopped(signal)) => Compared {
            note: Some("--compare was stopped by a signal, so nothing is compared"),
            stopped: Some(signal),
            ..Compared::default()
        },
        Err(NoComparison::Failed(failure)) => {
            stderr::line(&failure);
            let note = Some("--compare failed, so nothing is compared");
            Compared { note, has_failed: true, ..Compared::default() }
        }
    }
}

fn report(run: Run, mut events: File) -> Result<Report, Failure> {
    let mut trace = Trace::default();
    let lines = reader::read_file(&mut events, |event| trace.take(event))
        .map_err(|error| failed("cannot read the events of the trace", error))?;
    let stacks = frames::name_all(&trace);
    let certificates = certificates::read(&trace);
    Ok(Report::new(run, &trace, stacks, certificates, lines))
}

/// `--compare 3 -- PROGRAM` looks as if it meant something else.
fn hint(failure: Failure, name: &OsStr, arguments: &TraceArgs) -> Failure {
    let is_number = !name.is_empty() && name.as_bytes().iter().all(u8::is_ascii_digit);
    if arguments.compare.is_none() || !is_number {
        return failure;
    }
    failure.advise(format!("the number for --compare follows an equals sign: --compare={}", name.to_string_lossy()))
}

struct Traced<'a> {
    name: &'a OsStr,
    rest: &'a [OsString],
    path: &'a Path,
}

impl Traced<'_> {
    /// Runs the program. Its events are in a file that has no name any more.
    fn run(&self, environment: &Environment, reach: &Reach, scratch: Scratch) -> Result<(Run, File), Failure> {
        inherited::hand_on().map_err(|error| failed("cannot pass signals and streams on", error))?;
        let invocation = Invocation::new(self.path, self.name, self.rest, environment)
            .map_err(|error| program::failure(self.name, error))?;
        let mask = SigSet::thread_get_mask().ok();
        let start = now();
        let ending = parent::run(&invocation).map_err(|error| program::failure(self.name, error))?;
        let end = now();
        if let Some(mask) = mask {
            take_signals_again(&mask);
        }
        let ending = ending.map_err(|error| failed("cannot wait for the program", error))?;
        let running = running::programs();
        let events = scratch.into_events();
        let command = [self.name].into_iter().chain(self.rest.iter().map(OsString::as_os_str));
        let command = command.map(|part| part.to_string_lossy().into_owned()).collect();
        Ok((Run { command, ending, start, end, unreachable: self.unreachable(reach), running }, events))
    }

    fn unreachable(&self, reach: &Reach) -> Option<String> {
        if *reach == Reach::Dynamic {
            return None;
        }
        let more = out_of_reach(&mut Executables::default(), self.path).map(|more| format!("; {more}"));
        Some(format!("{reach}{}", more.unwrap_or_default()))
    }
}

/// From here on, Ctrl-C ends this process as any other. What is pending was sent while the program ran, and meant for
/// it.
fn take_signals_again(mask: &SigSet) {
    if let Ok(pending) = SignalFd::with_flags(&SigSet::all(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
        while let Ok(Some(_)) = pending.read_signal() {}
    }
    let _ = mask.thread_set_mask();
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn failed(what: &str, error: std::io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, what, error)
}
