//! What is to be done, before anything is done.

use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_machine::Failure;

use super::files::{self, Files};
use super::place::{Home, Place};
use super::record::{Mark, Record, Target};
use super::{apparmor, machine, service, shell, systemd::Systemd, upkeep};

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Every program of the machine.
    pub machine: bool,
    /// systemd services, by name.
    pub services: Vec<String>,
    /// A user's shell, by name.
    pub shell: Option<String>,
    /// Name the library without having run anything with it.
    pub untried: bool,
}

impl Wanted {
    /// Whether something is to be loaded into programs.
    fn activates(&self) -> bool {
        self.machine || !self.services.is_empty() || self.shell.is_some()
    }

    /// A shell alone is the user's own affair; everything else keeps the machine's compiled store fresh as well.
    pub fn is_system(&self) -> bool {
        self.machine || !self.services.is_empty() || self.shell.is_none()
    }
}

/// The steps, and what a person should know besides.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// In the order in which they are taken.
    pub steps: Vec<Step>,
    /// What is left out, and why; what is left to do by hand.
    pub notes: Vec<String>,
}

/// One step.
#[derive(Debug, PartialEq, Serialize)]
pub struct Step {
    /// What it is for.
    pub target: Target,
    /// What it changes, as a path in the root; what it runs, where that is no path.
    pub path: PathBuf,
    /// What happens there.
    pub what: String,
    /// What that is good for.
    pub why: String,
    /// Whether it is still to be taken.
    pub to_do: bool,
    /// How.
    #[serde(skip)]
    pub action: Action,
}

/// The kinds of step.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Nothing: it is there.
    None,
    /// A file of ours.
    File {
        /// Its bytes.
        content: Content,
        /// Permission bits.
        mode: u32,
        /// The lines of it that take effect.
        lines: Vec<String>,
    },
    /// A symbolic link.
    Link {
        /// Where it points.
        to: PathBuf,
    },
    /// A change to a file of others.
    Edit {
        /// The file now, if there is one.
        now: Option<Vec<u8>>,
        /// The same without our part.
        before: Option<Vec<u8>>,
        /// The file then.
        after: Vec<u8>,
        /// Our part.
        mark: Mark,
    },
    /// Running programs with the library.
    Try {
        /// Path in the root.
        library: PathBuf,
        /// Whether it is to take the place of one that programs load now. If that one is broken, so is every trial, and
        /// the new one must come all the same.
        replaces: bool,
    },
    /// Telling systemd to read its units again.
    Reload,
    /// Starting a unit.
    Start {
        /// Its name.
        unit: String,
    },
    /// Compiling the default sources.
    Compile,
}

/// The bytes of a file of ours.
#[derive(Debug, PartialEq)]
pub enum Content {
    /// These.
    Bytes(Vec<u8>),
    /// Those of a file of this machine.
    Of(PathBuf),
}

impl Plan {
    /// What it takes to have everything that is wanted. `record` is what earlier commands did here.
    pub fn install(wanted: &Wanted, context: &Context<'_>, record: &Record) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        let system = wanted.is_system();
        let files = Files::find(context, record, system, wanted.activates())?;
        if system {
            plan.steps.extend(files.command);
        }
        plan.steps.extend(files.library_steps);
        if system {
            upkeep::plan(&mut plan, context, record, &files.command_path)?;
        }
        let library = files.library.as_ref();
        let notes = match &files.library_file {
            Some(file) => (context.fits)(file, wanted.machine)?,
            None => Vec::new(),
        };
        let activations = plan.steps.len();
        for name in &wanted.services {
            let Some(library) = library else { continue };
            service::plan(&mut plan, context, record, name, library)?;
        }
        if let (Some(shell), Some(home), Some(library)) = (&wanted.shell, context.home, library) {
            shell::plan(&mut plan, context, record, shell, home, library)?;
        }
        if let (true, Some(library)) = (wanted.machine, library) {
            machine::plan(&mut plan, context, record, library)?;
        }
        plan.notes.extend(notes);
        if let (true, Some(library)) = (wanted.machine || !wanted.services.is_empty(), library) {
            plan.notes.extend(apparmor::note(context.place, library));
        }
        if let (Some(library), false) = (library, wanted.untried) {
            plan.trials(context, record, library, activations);
        }
        if system {
            upkeep::finish(&mut plan, context, record);
        }
        Ok(plan)
    }

    /// Adds trials of the library: where activations begin, before any is made; before it replaces one that programs
    /// load already, where the new one can be reached.
    fn trials(&mut self, context: &Context<'_>, record: &Record, library: &Path, activations: usize) {
        let why = "a library that can't be loaded makes every program print an error";
        let is_named = |step: &Step| !step.to_do && step.target.is_activation();
        let is_activated = record.changes.iter().any(|change| change.target.is_activation())
            || self.steps[activations..].iter().any(is_named);
        let copied = self.steps[..activations].iter().position(|step| step.to_do && step.path == library);
        let copied = copied.filter(|_| is_activated);
        let source = copied.and_then(|place| match &self.steps[place].action {
            Action::File { content: Content::Of(from), .. } => Some((place, from.clone())),
            _ => None,
        });
        let is_there = context.place.is_machine() && context.place.exists(library);
        let early = source.filter(|(_, from)| is_there && files::safe_in_scripts(from).is_ok());
        if self.steps[activations..].iter().any(|step| step.to_do) || (copied.is_some() && early.is_none()) {
            let action = Action::Try { library: library.to_owned(), replaces: false };
            let what = match (context.place.is_machine(), rustix::process::geteuid().is_root()) {
                (true, _) => "run programs with it, which must print nothing",
                (false, true) => {
                    "run programs of the image with it, as root (chroot), which must print nothing; --no-try leaves it out"
                }
                (false, false) => "run nothing with it: only root can run programs of an image",
            };
            self.steps.insert(activations, Step::to_do(Target::Library, library, what, why, action));
        }
        if let Some((place, from)) = early {
            let action = Action::Try { library: from.clone(), replaces: true };
            let what =
                "run programs with it before it takes the place of the one that they load now; they must print nothing";
            self.steps.insert(place, Step::to_do(Target::Library, from, what, why, action));
        }
    }

    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| !step.to_do)
    }

    /// Whether everything to do was to be done in the other plan as well. A `windlass compile` of a killed command may
    /// have ended since that one was made.
    pub fn is_within(&self, shown: &Plan) -> bool {
        self.steps.iter().filter(|step| step.to_do).all(|step| shown.steps.contains(step))
    }

    /// Adds a step for a file that is to have this content: to do, or there already.
    pub fn file(&mut self, context: &Context<'_>, record: &Record, file: NewFile<'_>) -> Result<(), Failure> {
        let step = files::file_step(context, record, file)?;
        self.steps.push(step);
        Ok(())
    }

    /// Whether a step that is to be taken changes something at such a path.
    pub fn changes(&self, which: impl Fn(&Path) -> bool) -> bool {
        self.steps.iter().any(|step| step.to_do && which(&step.path))
    }
}

/// A file of ours to be put somewhere.
#[derive(Debug)]
pub struct NewFile<'a> {
    /// What it is for.
    pub target: Target,
    /// Where.
    pub path: PathBuf,
    /// Its bytes.
    pub content: Content,
    /// Permission bits.
    pub mode: u32,
    /// The lines of it that take effect.
    pub lines: Vec<String>,
    /// What it is good for.
    pub why: &'a str,
    /// What to do if a file of that name is there that is not ours.
    pub if_foreign: Foreign<'a>,
}

/// What to do about a file of the same name that we did not make.
#[derive(Clone, Copy, Debug)]
pub enum Foreign<'a> {
    /// It serves as well: a package's, perhaps with the administrator's changes.
    Keep,
    /// Stop, with this advice.
    Refuse(&'a str),
}

/// See [`Context::fits`].
pub type Fits<'a> = dyn Fn(&Path, bool) -> Result<Vec<String>, Failure> + 'a;

/// What planning looks at.
pub struct Context<'a> {
    /// Where.
    pub place: &'a Place,
    /// The user's directories, where a shell is asked for.
    pub home: Option<&'a Home>,
    /// Which systemd there is.
    pub systemd: Systemd,
    /// The running command.
    pub executable: &'a Path,
    /// Finds the library that belongs to it.
    pub library: &'a dyn Fn() -> Result<PathBuf, Failure>,
    /// Fails if programs there can't load the library at this path of this machine; else says what to know of programs
    /// that it is not for, of the whole machine or of one activation.
    pub fits: &'a Fits<'a>,
    /// Whether the compiled stores are fresh.
    pub is_compiled: &'a dyn Fn() -> bool,
}

impl Step {
    /// A step that is there already.
    pub fn there(target: Target, path: impl Into<PathBuf>, what: impl Into<String>, why: &str) -> Step {
        let (path, what) = (path.into(), what.into());
        Step { target, path, what, why: why.into(), to_do: false, action: Action::None }
    }

    /// A step to be taken.
    pub fn to_do(
        target: Target,
        path: impl Into<PathBuf>,
        what: impl Into<String>,
        why: impl Into<String>,
        action: Action,
    ) -> Step {
        Step { target, path: path.into(), what: what.into(), why: why.into(), to_do: true, action }
    }
}
