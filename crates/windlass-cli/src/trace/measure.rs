//! One measured run: a process that does nothing but start the program and wait for it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inherited;
use crate::run::environment::Environment;
use crate::run::library::Library;
use crate::run::parent::{self, Ending};
use crate::run::program;
use crate::run::start::Image;

/// What a run took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Nanoseconds.
    pub wall: u64,
    /// Of the program and its children that it waited for, in user and system mode.
    pub cpu: u64,
    /// Bytes, of the largest process.
    pub peak_rss: Option<u64>,
    pub exit_status: Option<u8>,
    pub signal: Option<i32>,
}

/// Runs the program, and writes what it took to `file`.
pub fn measured_run(command: &[OsString], under_windlass: bool, file: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::RunFailed, "cannot measure a run", error);
    let (name, rest) =
        command.split_first().ok_or_else(|| Failure::new(Exit::Usage, "trace", "no program was named"))?;
    // Whoever waits for this process has the program end with it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let path = program::find(name)?;
    let mut environment = Environment::inherited();
    environment.set("WINDLASS_DISABLE", if under_windlass { "0" } else { "1" }.into());
    if under_windlass {
        environment.preload(&Library::find()?.path);
    }
    inherited::hand_on().map_err(failed)?;
    let image = Image::new(&path, name, rest, &environment).map_err(failed)?;

    let floor = peak(UsageWho::RUSAGE_SELF);
    let start = Instant::now();
    let ending = parent::run(&image).map_err(|error| program::failure(name, error))?.map_err(failed)?;
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|errno| failed(errno.into()))?;
    let (exit_status, signal) = match ending {
        Ending::Exited(status) => (Some(status), None),
        Ending::Killed(signal) => (None, Some(signal)),
    };
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

fn peak(who: UsageWho) -> Option<u64> {
    getrusage(who).ok().as_ref().map(bytes)
}

/// Linux counts kibibytes (getrusage(2)).
fn bytes(usage: &Usage) -> u64 {
    u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1024)
}

fn nanoseconds(time: TimeVal) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_usec()).unwrap_or(0).saturating_mul(1000))
}
