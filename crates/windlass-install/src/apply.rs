//! Runs the steps of a plan. Each change is in the record before it is made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_journal::Attributes;
use windlass_journal::bytes::Bytes;
use windlass_machine::Failure;

use super::destination::{Destination, Last};
use super::disk;
use super::plan::{Action, Plan, Step};
use super::probe;
use super::record::{Change, Kind, Record, Target};
use super::systemd;
use super::text::sha256;
use super::upkeep::STORES;

/// Runs steps, one after the other.
#[derive(Debug)]
pub struct Executor<'a> {
    /// The place of the installation.
    pub destination: &'a Destination,
    /// The changes made up to now; the record on disk is always at least as complete.
    pub record: Record,
    /// The executable of the running command.
    pub executable: &'a Path,
}

impl Executor<'_> {
    /// Runs all steps that are still to do. Returns remarks for the user.
    pub fn install(&mut self, plan: &Plan) -> Result<Vec<String>, Failure> {
        let mut remarks = Vec::new();
        self.begin()?;
        for step in plan.steps.iter().filter(|step| step.to_do) {
            self.take(step, &mut remarks)?;
        }
        self.record.unfinished = false;
        self.write()?;
        Ok(remarks)
    }

    /// Marks the record as unfinished, and removes files that a killed command left half written.
    pub fn begin(&mut self) -> Result<(), Failure> {
        for change in &self.record.changes {
            let last = if matches!(change.kind, Kind::Edit { .. }) { Last::Followed } else { Last::Itself };
            disk::remove_temporary(&self.destination.real(&change.path, last)?)?;
        }
        self.record.unfinished = true;
        self.write()
    }

    /// Writes the record.
    pub fn write(&self) -> Result<(), Failure> {
        self.record.write(self.destination)
    }

    fn take(&mut self, step: &Step, remarks: &mut Vec<String>) -> Result<(), Failure> {
        match &step.action {
            Action::None => {}
            Action::File { content, mode, lines } => {
                let bytes = content.read()?;
                self.parents(&step.target, &step.path)?;
                self.note(step, Kind::File { sha256: vec![sha256(&bytes)], lines: lines.clone() })?;
                let real = self.destination.real(&step.path, Last::Itself)?;
                disk::write(&real, &bytes, Attributes::Own(*mode))?;
            }
            Action::Link { to } => {
                self.parents(&step.target, &step.path)?;
                self.note(step, Kind::Link { to: to.clone() })?;
                disk::link(to, &self.destination.real(&step.path, Last::Itself)?)?;
            }
            Action::Edit { now, before, after, mark } => {
                self.parents(&step.target, &step.path)?;
                let real = self.destination.real(&step.path, Last::Followed)?;
                // Trying the library takes seconds: anything written meanwhile is not ours to undo.
                if disk::read_to_edit(self.destination, &step.path)? != *now {
                    return Err(disk::changed_meanwhile());
                }
                let attributes = if before.is_some() { Attributes::Kept } else { Attributes::Own(0o644) };
                let before = self.before(&step.path, &real, before.as_deref())?;
                self.note(step, Kind::Edit { before, sha256: vec![sha256(after)], mark: mark.clone() })?;
                disk::write(&real, after, attributes)?;
            }
            Action::Try { library, replaces } => {
                let tried = probe::try_library(self.destination, library, *replaces)?;
                remarks.push(match (tried.is_empty(), replaces) {
                    (true, true) => format!(
                        "{} was not tried: every program that could be run prints something even without it",
                        library.display()
                    ),
                    (true, false) => {
                        format!("{} was not tried: only root can run programs of an image", library.display())
                    }
                    (false, _) => format!("{} was tried with {}", library.display(), tried.join(", ")),
                });
            }
            Action::Reload => systemd::call(["daemon-reload"])?,
            Action::Start { unit } => {
                self.note(step, Kind::Started { unit: unit.clone() })?;
                systemd::call(["start", "--", unit])?;
            }
            Action::Compile => self.compile(remarks)?,
        }
        Ok(())
    }

    /// Makes the first compiled store. Everything works without one, and therefore a failure here is not an error.
    fn compile(&mut self, remarks: &mut Vec<String>) -> Result<(), Failure> {
        let stores = Path::new(STORES);
        if !self.destination.exists(stores) {
            self.parents(&Target::Upkeep, stores)?;
            self.add(Target::Upkeep, stores.to_owned(), Kind::Stores)?;
            disk::make_directory(&self.destination.real(stores, Last::Followed)?)?;
        }
        let output = compile_command(self.executable, self.destination).stdout(Stdio::null()).output();
        let why = match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        remarks.push(format!("no compiled store was made, so programs read the certificates themselves: {why}"));
        Ok(())
    }

    /// The content of another program's file before Windlass first changed it: the recorded one, if nobody has changed
    /// the file since.
    fn before(&self, path: &Path, real: &Path, now: Option<&[u8]>) -> Result<Option<Bytes>, Failure> {
        let Some(now) = now else { return Ok(None) };
        let text = std::fs::read(real).map_err(|error| disk::failure("read", real, &error))?;
        if let Some(Kind::Edit { before, sha256: then, .. }) = self.record.file(path).map(|change| &change.kind)
            && then.contains(&sha256(&text))
        {
            return Ok(before.clone());
        }
        Ok(Some(Bytes(now.to_owned())))
    }

    /// Makes the missing directories of a path, at the places that links in it lead to.
    fn parents(&mut self, target: &Target, path: &Path) -> Result<(), Failure> {
        let parent = self.destination.real(path.parent().unwrap_or(path), Last::Followed)?;
        let missing: Vec<_> = parent.ancestors().take_while(|directory| !directory.exists()).collect();
        for directory in missing.into_iter().rev() {
            self.add(target.clone(), self.destination.inside(directory), Kind::Directory)?;
            disk::make_directory(directory)?;
        }
        Ok(())
    }

    fn note(&mut self, step: &Step, kind: Kind) -> Result<(), Failure> {
        self.add(step.target.clone(), step.path.clone(), kind)
    }

    fn add(&mut self, target: Target, path: PathBuf, kind: Kind) -> Result<(), Failure> {
        self.record.note(Change { target, path, kind });
        self.write()
    }
}

/// Holds the id of the process that a `windlass compile` must end with.
const PARENT: &str = "WINDLASS_PARENT";

/// Makes this process end with its parent, if `compile_command` started it. Otherwise it could outlive a killed
/// installation, and write compiled stores while `uninstall` undoes that installation. Returns whether the parent is
/// gone already.
#[must_use]
pub fn end_with_parent() -> bool {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|parent| parent.parse::<u32>().ok()) else { return false };
    let armed = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    armed.is_ok() && std::os::unix::process::parent_id() != parent
}

/// The `windlass compile` command for a place.
pub fn compile_command(executable: &Path, destination: &Destination) -> Command {
    let mut command = Command::new(executable);
    // The plan names the place's own directory, whatever directory the installing user has set.
    command.arg("compile").stdin(Stdio::null()).env_remove("WINDLASS_STORE");
    command.env(PARENT, std::process::id().to_string());
    if !destination.is_machine() {
        command.arg("--root").arg(destination.root());
    }
    command
}
