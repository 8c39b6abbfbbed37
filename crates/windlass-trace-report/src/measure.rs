//! One measured run: a process that only starts the program and waits for it.

#![allow(missing_docs, reason = "fields are those of the JSON, which `windlass trace --help` documents")]

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::{Deserialize, Serialize};
use windlass_machine::loader::preload_library::{Library, TRACE};
use windlass_machine::loader::reach::Reach;
use windlass_machine::{Failure, FailureKind};
use windlass_run::environment::Environment;
use windlass_run::inherited;
use windlass_run::parent;
use windlass_run::program;
use windlass_run::start::Invocation;

/// The measurements of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Wall time in nanoseconds.
    pub wall: u64,
    /// CPU time, user and system, of the program and the children it waited for.
    pub cpu: u64,
    /// Peak memory of the largest process, in bytes.
    pub peak_rss: Option<u64>,
    pub exit_status: Option<u8>,
    pub signal: Option<i32>,
}

/// The library preloaded into the program.
#[derive(Clone, Copy, Debug)]
pub enum Front<'a> {
    Nothing,
    /// The preload library.
    Windlass,
    /// The tracing library, which writes to this file.
    Tracer(&'a Path),
}

/// Runs the program with empty standard streams, and writes the measurements to `file`.
pub fn measured_run(command: &[OsString], front: Front<'_>, file: &Path) -> Result<(), Failure> {
    let (name, rest) =
        command.split_first().ok_or_else(|| Failure::new(FailureKind::Usage, "trace", "no program was named"))?;
    // If the process that waits for this one ends, the program ends too.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    silence().map_err(failed)?;
    let path = program::find(name)?;
    let environment = environment(&path, front)?;
    inherited::hand_on().map_err(failed)?;
    let invocation = Invocation::new(&path, name, rest, &environment).map_err(failed)?;

    let floor = peak(UsageWho::RUSAGE_SELF);
    let start = Instant::now();
    let ending = parent::run(&invocation).map_err(|error| program::failure(name, error))?.map_err(failed)?;
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|errno| failed(errno.into()))?;
    let (exit_status, signal) = ending.parts();
    let measured = Measured {
        wall: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu: nanoseconds(usage.user_time()).saturating_add(nanoseconds(usage.system_time())),
        // A child begins with the peak of the process that started it (exec_mmap in Linux's fs/exec.c).
        peak_rss: Some(bytes(&usage)).filter(|peak| Some(*peak) > floor),
        exit_status,
        signal,
    };
    let text = serde_json::to_vec(&measured).unwrap_or_default();
    std::fs::write(file, text).map_err(failed)
}

/// The environment of the program. A library that can't reach it is left out, because the loader would print an error.
pub fn environment(path: &Path, front: Front<'_>) -> Result<Environment, Failure> {
    let mut environment = Environment::inherited();
    let library = match front {
        Front::Nothing => None,
        Front::Windlass => Some(Library::find()?),
        Front::Tracer(events) => {
            environment.set("WINDLASS_TRACE", events.into());
            // A process that outlives the trace keeps these variables: this tells a later file at that path from the
            // present one.
            let file = std::fs::metadata(events).map_err(failed)?;
            environment.set("WINDLASS_TRACE_FILE", format!("{}:{}", file.dev(), file.ino()).into());
            Some(Library::find_wanted(&TRACE)?)
        }
    };
    // The trace must show the program's own work, even where the machine preloads Windlass.
    environment.set("WINDLASS_DISABLE", if matches!(front, Front::Windlass) { "0" } else { "1" }.into());
    if let Some(library) = library.filter(|library| Reach::of(path, library).may_preload()) {
        environment.preload(&library.path);
    }
    Ok(environment)
}

/// /dev/null in place of the standard streams.
fn silence() -> std::io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, "cannot measure a run", error)
}

fn peak(who: UsageWho) -> Option<u64> {
    getrusage(who).ok().as_ref().map(bytes)
}

/// Linux reports kibibytes (getrusage(2)).
fn bytes(usage: &Usage) -> u64 {
    u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1024)
}

fn nanoseconds(time: TimeVal) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_usec()).unwrap_or(0).saturating_mul(1000))
}
