//! What is to be done, before anything is done.

use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_machine::Failure;

use super::destination::{Destination, Home};
use super::record::{Mark, Target};
use super::systemd::Systemd;

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
    pub fn activates(&self) -> bool {
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
    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| !step.to_do)
    }

    /// Whether everything to do was to be done in the other plan as well. A `windlass compile` of a killed command may
    /// have ended since that one was made.
    pub fn is_within(&self, shown: &Plan) -> bool {
        self.steps.iter().filter(|step| step.to_do).all(|step| shown.steps.contains(step))
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
    pub destination: &'a Destination,
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
