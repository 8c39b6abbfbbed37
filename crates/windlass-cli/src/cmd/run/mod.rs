//! `windlass run`.

pub mod args;
mod report;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use windlass_counters::StatsOwner;
use windlass_machine::loader::preload_library::Library;
use windlass_machine::loader::reach::{Reach, interpreter_of};
use windlass_machine::processes::Executables;
use windlass_machine::{Failure, FailureKind, json};
use windlass_run::add_ca::{self, Prepared};
use windlass_run::counters::Report;
use windlass_run::environment::Environment;
use windlass_run::inherited;
use windlass_run::parent::{self, Ending};
use windlass_run::program;
use windlass_run::start::Invocation;
use windlass_trace_report::reach::out_of_reach;

use crate::output::stderr;
use crate::output::terminal::printable;
use args::{RunArgs, StatsFormat};

/// Runs a program: in place of this process, or below it where something is to be done at its end.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let Some((name, rest)) = arguments.command.split_first() else {
        return Err(Failure::new(FailureKind::Usage, "run", "no program was named"));
    };
    let path = program::find(name)?;
    let library = Library::find()?;
    let reach = Reach::of(&path, &library);
    let mut environment = Environment::inherited();
    if reach.may_preload() {
        environment.preload(&library.path);
    }
    // Opened before the program runs: an hour later is too late to hear that it can't be written.
    let stats = match arguments.stats {
        Some(format) => Some(Stats::new(format, arguments.stats_file.as_deref(), &mut environment)?),
        None => None,
    };
    let added = match &arguments.add_ca[..] {
        [] => None,
        files => Some(add_ca::prepare(files, &mut environment, |warning| {
            stderr::line(&format!("windlass: warning: {}", printable(warning)));
        })?),
    };
    inherited::hand_on().map_err(|error| prepare_failed("cannot pass signals and streams on", error))?;
    let start = Start { path, name, arguments: rest, environment, reach };
    if stats.is_none() && added.is_none() {
        return Err(program::failure(name, start.invocation()?.replace_process()));
    }
    start.wait_for(stats, added)
}

/// All that is known before a program is started.
struct Start<'a> {
    path: PathBuf,
    name: &'a OsStr,
    arguments: &'a [OsString],
    environment: Environment,
    reach: Reach,
}

impl Start<'_> {
    fn invocation(&self) -> Result<Invocation, Failure> {
        Invocation::new(&self.path, self.name, self.arguments, &self.environment)
            .map_err(|error| program::failure(self.name, error))
    }

    fn wait_for(self, stats: Option<Stats>, added: Option<Prepared>) -> Result<ExitCode, Failure> {
        let ending = parent::run(&self.invocation()?).map_err(|error| program::failure(self.name, error))?;
        let ending = ending.map_err(|error| prepare_failed("cannot wait for the program", error))?;
        // Whatever comes now, the files go first: nothing is left when the report is there.
        let added = added.map(Prepared::remove);
        if let Some(stats) = stats {
            let words = std::iter::once(self.name).chain(self.arguments.iter().map(OsString::as_os_str));
            let command: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
            let mut report = Report::new(&command, ending, self.unreachable(), stats.owner.snapshot());
            if report.summary.processes == 0 && report.unreachable.is_none() {
                // Not before: the whole executable is searched.
                report.unreachable = out_of_reach(&mut Executables::default(), &interpreter_of(&self.path));
            }
            if let Some(added) = added {
                report.add_ca(added);
            }
            stats.write(&report);
        }
        Ok(Ending::repeat(ending))
    }

    /// Why the library can't have come to the program, as far as it is known beforehand.
    fn unreachable(&self) -> Option<String> {
        let disabled = self.environment.value("WINDLASS_DISABLE");
        match &self.reach {
            _ if disabled.is_some_and(|value| !value.is_empty() && value != "0") => {
                Some(String::from("WINDLASS_DISABLE is set, so the library does nothing"))
            }
            Reach::Dynamic => None,
            reach => Some(reach.to_string()),
        }
    }
}

/// Where the report of `--stats` comes from and goes to.
struct Stats {
    format: StatsFormat,
    file: Option<File>,
    owner: StatsOwner,
}

impl Stats {
    fn new(format: StatsFormat, file: Option<&Path>, environment: &mut Environment) -> Result<Stats, Failure> {
        let file = file.map(create).transpose()?;
        let owner =
            StatsOwner::create().map_err(|error| prepare_failed("cannot create the counters of --stats", error))?;
        environment.set("WINDLASS_STATS", owner.path().into());
        Ok(Stats { format, file, owner })
    }

    /// The program's ending is passed on even when its report can't be: it is what the caller waits for.
    fn write(self, report: &Report) {
        let text = match self.format {
            StatsFormat::Table => {
                let added = report.add_ca.as_ref().map(report::added);
                report::render(report) + &added.unwrap_or_default()
            }
            // One line: it can be told from what the program wrote to the same stream.
            StatsFormat::Json => json::line(report),
        };
        match self.file {
            None => stderr::text(&text),
            Some(mut file) => {
                if let Err(error) = file.write_all(text.as_bytes()) {
                    stderr::line(&Failure::other("cannot write the report of --stats", error));
                }
            }
        }
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        prepare_failed(&format!("cannot write {}", path.display()), error)
            .advise("give --stats-file a path that you may write")
    })
}

fn prepare_failed(what: &str, error: std::io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, what, error)
}
