//! `windlass trace`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::cli::trace::TraceArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inherited;
use crate::output::{stderr, trace as output};
use crate::processes::Images;
use crate::run::environment::Environment;
use crate::run::library::{Library, TRACE};
use crate::run::parent;
use crate::run::program;
use crate::run::reach::Reach;
use crate::run::start::Image;
use crate::trace::compare::{Comparison, compare};
use crate::trace::measure::measured_run;
use crate::trace::model::Trace;
use crate::trace::reach::out_of_reach;
use crate::trace::report::{Report, Run};
use crate::trace::{certificates, frames, reader};

/// Runs a program with the tracing library, and reports what it recorded.
pub fn run(arguments: &TraceArgs) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.measured_run {
        measured_run(&arguments.command, arguments.under_windlass, file)?;
        return Ok(Exit::Success.into());
    }
    let Some((name, rest)) = arguments.command.split_first() else {
        return Err(Failure::new(Exit::Usage, "trace", "no program was named"));
    };
    let path = program::find(name)?;
    let library = Library::find_wanted(&TRACE)?;
    // An hour later is too late to hear that it is missing, or that a report can't be written.
    if arguments.compare.is_some() {
        Library::find()?;
    }
    let mut reports = Reports::create(arguments)?;
    let scratch = Scratch::create()?;
    let reach = Reach::of(&path, &library);
    let environment = environment(&library, &reach, &scratch.path);
    let traced = Traced { name, rest, path: &path };
    let (run, events) = traced.run(&environment, &reach, scratch)?;
    let ending = run.ending;

    // The program's ending is passed on whatever becomes of the report: it is what the caller waits for.
    let comparison = comparison(arguments);
    match report(run, events) {
        Ok(mut report) => {
            report.comparison = comparison;
            reports.write(&report);
        }
        Err(failure) => stderr::line(&failure),
    }
    Ok(ending.repeat())
}

/// Before the report is made: what this process takes for it would be the least peak memory that can be measured.
fn comparison(arguments: &TraceArgs) -> Option<Comparison> {
    let runs = arguments.compare?;
    let compared = directory().and_then(|scratch| compare(&arguments.command, runs, scratch.path()));
    compared.map_err(|failure| stderr::line(&failure)).ok()
}

fn report(run: Run, events: File) -> Result<Report, Failure> {
    let mut trace = Trace::default();
    let lines = reader::read(BufReader::new(events), |event| trace.take(event))
        .map_err(|error| failed("cannot read the events of the trace", error))?;
    let stacks = frames::name_all(&trace);
    let certificates = certificates::read(&trace);
    Ok(Report::new(run, &trace, stacks, certificates, lines))
}

fn environment(library: &Library, reach: &Reach, events: &Path) -> Environment {
    let mut environment = Environment::inherited();
    // What the program does by itself is to be seen, also where the machine preloads Windlass.
    environment.set("WINDLASS_DISABLE", "1".into());
    environment.set("WINDLASS_TRACE", events.into());
    if reach.may_preload() {
        environment.preload(&library.path);
    }
    environment
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
        let image = Image::new(self.path, self.name, self.rest, environment)
            .map_err(|error| program::failure(self.name, error))?;
        let mask = SigSet::thread_get_mask().ok();
        let start = now();
        let ending = parent::run(&image).map_err(|error| program::failure(self.name, error))?;
        let end = now();
        if let Some(mask) = mask {
            take_signals_again(&mask);
        }
        let ending = ending.map_err(|error| failed("cannot wait for the program", error))?;
        let Scratch { file: events, .. } = scratch;
        let command = [self.name].into_iter().chain(self.rest.iter().map(OsString::as_os_str));
        let command = command.map(|part| part.to_string_lossy().into_owned()).collect();
        Ok((Run { command, ending, start, end, unreachable: self.unreachable(reach) }, events))
    }

    fn unreachable(&self, reach: &Reach) -> Option<String> {
        if *reach == Reach::Dynamic {
            return None;
        }
        let more = out_of_reach(&mut Images::default(), self.path).map(|more| format!("; {more}"));
        Some(format!("{reach}{}", more.unwrap_or_default()))
    }
}

/// From here on, Ctrl-C ends this process as any other. What is pending was sent while the program ran, and meant for it.
fn take_signals_again(mask: &SigSet) {
    if let Ok(pending) = SignalFd::with_flags(&SigSet::all(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
        while let Ok(Some(_)) = pending.read_signal() {}
    }
    let _ = mask.thread_set_mask();
}

/// Where the events go: readable for nobody else, gone at the end.
struct Scratch {
    _directory: TempDir,
    path: PathBuf,
    /// Open from the start: the program may remove what it likes.
    file: File,
}

impl Scratch {
    fn create() -> Result<Scratch, Failure> {
        let directory = directory()?;
        let path = directory.path().join("events");
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| failed(&format!("cannot make {}", path.display()), error))?;
        Ok(Scratch { _directory: directory, path, file })
    }
}

fn directory() -> Result<TempDir, Failure> {
    let made = std::path::absolute(std::env::temp_dir())
        .and_then(|place| tempfile::Builder::new().prefix("windlass-trace-").tempdir_in(place));
    made.map_err(|error| {
        failed("cannot make a directory for the events of the trace", error)
            .advise("set TMPDIR to a directory that you may write")
    })
}

/// The files of the report, open from the start.
struct Reports {
    text: Option<(PathBuf, File)>,
    json: Option<(PathBuf, File)>,
    html: Option<(PathBuf, File)>,
}

impl Reports {
    fn create(arguments: &TraceArgs) -> Result<Reports, Failure> {
        let create =
            |path: &Option<PathBuf>| {
                let path = path.as_ref();
                path.map(|path| match File::create(path) {
                    Ok(file) => Ok((path.clone(), file)),
                    Err(error) => Err(failed(&format!("cannot write {}", path.display()), error)
                        .advise("name a file that you may write")),
                })
                .transpose()
            };
        Ok(Reports { text: create(&arguments.output)?, json: create(&arguments.json)?, html: create(&arguments.html)? })
    }

    fn write(&mut self, report: &Report) {
        write(&mut self.json, || output::json::render(report));
        write(&mut self.html, || output::html::render(report));
        match &mut self.text {
            None => stderr::text(&output::table::render(report)),
            text => write(text, || output::table::render(report)),
        }
    }
}

fn write(file: &mut Option<(PathBuf, File)>, text: impl FnOnce() -> String) {
    if let Some((path, file)) = file
        && let Err(error) = file.write_all(text().as_bytes())
    {
        stderr::line(&Failure::new(Exit::Failure, format!("cannot write {}", path.display()), error));
    }
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn failed(what: &str, error: std::io::Error) -> Failure {
    Failure::new(Exit::RunFailed, what, error)
}
