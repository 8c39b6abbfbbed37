//! `windlass run`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use windlass::StatsOwner;

use crate::cli::{RunArgs, StatsFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inherited;
use crate::output::{report, report_json, stderr};
use crate::run::counters::Report;
use crate::run::environment::Environment;
use crate::run::library::Library;
use crate::run::parent;
use crate::run::program;
use crate::run::reach::Reach;
use crate::run::start::Image;

/// Runs a program: in place of this process, or below it where a report is wanted.
pub fn run(arguments: &RunArgs) -> Result<ExitCode, Failure> {
    let Some((name, rest)) = arguments.command.split_first() else {
        return Err(Failure::new(Exit::Usage, "run", "no program was named"));
    };
    let path = program::find(name)?;
    let library = Library::find()?;
    let reach = Reach::of(&path, &library);
    let mut environment = Environment::inherited();
    if reach.may_preload() {
        environment.preload(&library.path);
    }
    inherited::hand_on().map_err(|error| prepare_failed("cannot pass signals and streams on", error))?;
    let start = Start { path, name, arguments: rest, environment, reach };
    match arguments.stats {
        None => Err(program::failure(name, start.image()?.replace_process())),
        Some(format) => start.with_report(format, arguments.stats_file.as_deref()),
    }
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
    fn image(&self) -> Result<Image, Failure> {
        Image::new(&self.path, self.name, self.arguments, &self.environment)
            .map_err(|error| program::failure(self.name, error))
    }

    fn with_report(mut self, format: StatsFormat, file: Option<&Path>) -> Result<ExitCode, Failure> {
        // Opened before the program runs: an hour later is too late to hear that it can't be written.
        let file = file.map(create).transpose()?;
        let stats =
            StatsOwner::create().map_err(|error| prepare_failed("cannot make the counters of --stats", error))?;
        self.environment.set("WINDLASS_STATS", stats.path().into());

        let ending = parent::run(&self.image()?).map_err(|error| program::failure(self.name, error))?;
        let ending = ending.map_err(|error| prepare_failed("cannot wait for the program", error))?;

        let program = self.name.to_string_lossy().into_owned();
        let report = Report::new(program, ending, self.unreachable(), stats.snapshot());
        let text = match format {
            StatsFormat::Table => report::render(&report),
            StatsFormat::Json => report_json::render(&report),
        };
        // The program's ending is passed on even when its report can't be: it is what the caller waits for.
        match file {
            None => stderr::text(&text),
            Some(mut file) => {
                if let Err(error) = file.write_all(text.as_bytes()) {
                    stderr::line(&Failure::new(Exit::Failure, "cannot write the report of --stats", error));
                }
            }
        }
        Ok(ending.repeat())
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

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        prepare_failed(&format!("cannot write {}", path.display()), error)
            .advise("give --stats-file a path that you may write")
    })
}

fn prepare_failed(what: &str, error: std::io::Error) -> Failure {
    Failure::new(Exit::RunFailed, what, error)
}
