//! The plan of an installation: the steps, before anything is done.

use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_machine::Failure;

use super::destination::{Destination, Home};
use super::record::{Mark, Target};
use super::systemd::Systemd;

/// The parts that the command line requests.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Activate for every program of the machine.
    pub machine: bool,
    /// Names of systemd services to activate for.
    pub services: Vec<String>,
    /// Name of the user's shell to activate for.
    pub shell: Option<String>,
    /// Activate the library without a trial run.
    pub untried: bool,
}

impl Wanted {
    /// Whether any program will load the library.
    pub fn activates(&self) -> bool {
        self.machine || !self.services.is_empty() || self.shell.is_some()
    }

    /// A shell alone concerns only the user; everything else also keeps the machine's compiled store fresh.
    pub fn is_system(&self) -> bool {
        self.machine || !self.services.is_empty() || self.shell.is_none()
    }
}

/// The steps, and notes for the user.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The steps, in the order in which they run.
    pub steps: Vec<Step>,
    /// Parts that are left out, with the reason, and work that is left to the user.
    pub notes: Vec<String>,
}

/// One step.
#[derive(Debug, PartialEq, Serialize)]
pub struct Step {
    /// The part of the installation that needs the step.
    pub target: Target,
    /// The path that the step changes, in the root; or the command that it runs.
    pub path: PathBuf,
    /// The effect of the step, for display.
    pub what: String,
    /// The purpose of the step, for display.
    pub why: String,
    /// Whether the step is still to do.
    pub to_do: bool,
    /// The action that performs it.
    #[serde(skip)]
    pub action: Action,
}

/// The kinds of action.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Nothing to do: the result is there.
    None,
    /// Write one of Windlass's own files.
    File {
        /// The content of the file.
        content: Content,
        /// Permission bits.
        mode: u32,
        /// The lines of the file that activate it.
        lines: Vec<String>,
    },
    /// Make a symbolic link.
    Link {
        /// The link's target.
        to: PathBuf,
    },
    /// Edit another program's file.
    Edit {
        /// The current content; None if there is no file.
        now: Option<Vec<u8>>,
        /// The content without Windlass's part.
        before: Option<Vec<u8>>,
        /// The new content.
        after: Vec<u8>,
        /// Windlass's part.
        mark: Mark,
    },
    /// Run programs with the library, as a trial.
    Try {
        /// The path of the library, in the root.
        library: PathBuf,
        /// Whether it replaces a library that programs load now. If the current one is broken, every trial fails, and
        /// the new one must be installed nevertheless.
        replaces: bool,
    },
    /// Make systemd read its units again.
    Reload,
    /// Start a unit.
    Start {
        /// The name of the unit.
        unit: String,
    },
    /// Compile the default sources.
    Compile,
}

/// The content of one of Windlass's files.
#[derive(Debug, PartialEq)]
pub enum Content {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// A copy of a file of this machine.
    Of(PathBuf),
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| !step.to_do)
    }

    /// Whether every step that is still to do was also to do in the plan that was shown. A `windlass compile` of a
    /// killed command may have finished some of them since.
    pub fn is_within(&self, shown: &Plan) -> bool {
        self.steps.iter().filter(|step| step.to_do).all(|step| shown.steps.contains(step))
    }

    /// Whether a step that is still to do changes a path that `which` accepts.
    pub fn changes(&self, which: impl Fn(&Path) -> bool) -> bool {
        self.steps.iter().any(|step| step.to_do && which(&step.path))
    }
}

/// One of Windlass's files, to be installed.
#[derive(Debug)]
pub struct NewFile<'a> {
    /// The part of the installation that needs the file.
    pub target: Target,
    /// The path of the file, in the root.
    pub path: PathBuf,
    /// The content of the file.
    pub content: Content,
    /// Permission bits.
    pub mode: u32,
    /// The lines of the file that activate it.
    pub lines: Vec<String>,
    /// The purpose of the file, for display.
    pub why: &'a str,
    /// How to treat an existing file of that name that Windlass did not make.
    pub if_foreign: Foreign<'a>,
}

/// How to treat a file of the same name that Windlass did not make.
#[derive(Clone, Copy, Debug)]
pub enum Foreign<'a> {
    /// Keep it, as it serves as well: a package's file, perhaps with the administrator's changes.
    Keep,
    /// Stop, with this advice.
    Refuse(&'a str),
}

/// See [`Context::fits`].
pub type Fits<'a> = dyn Fn(&Path, bool) -> Result<Vec<String>, Failure> + 'a;

/// The environment of a plan.
pub struct Context<'a> {
    /// The place of the installation.
    pub destination: &'a Destination,
    /// The user's directories, if a shell is requested.
    pub home: Option<&'a Home>,
    /// The state of systemd in this place.
    pub systemd: Systemd,
    /// The executable of the running command.
    pub executable: &'a Path,
    /// Finds the library that belongs to this command.
    pub library: &'a dyn Fn() -> Result<PathBuf, Failure>,
    /// Fails if programs of the place can't load the library at this path of this machine. Otherwise returns notes
    /// about programs that the library is not for; the flag selects activation for the whole machine.
    pub fits: &'a Fits<'a>,
    /// Whether the compiled stores are fresh.
    pub is_compiled: &'a dyn Fn() -> bool,
}

impl Step {
    /// A step whose result is already there.
    pub fn there(target: Target, path: impl Into<PathBuf>, what: impl Into<String>, why: &str) -> Step {
        let (path, what) = (path.into(), what.into());
        Step { target, path, what, why: why.into(), to_do: false, action: Action::None }
    }

    /// A step that is still to do.
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
