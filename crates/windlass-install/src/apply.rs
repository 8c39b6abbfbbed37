//! Taking the steps of a plan. Before each change the record says that it is coming.

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

/// Takes steps, one after the other.
#[derive(Debug)]
pub struct Executor<'a> {
    /// Where.
    pub destination: &'a Destination,
    /// What was done so far; on disk it is always as complete as this or more so.
    pub record: Record,
    /// The running command.
    pub executable: &'a Path,
}

impl Executor<'_> {
    /// Takes all steps that are to be taken. Says what is worth knowing afterwards.
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

    /// Says in the record that something is going on, and removes what a killed command left half written.
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
                // Trying the library takes seconds, and whatever else was written meanwhile is not ours to undo.
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

    /// Makes the first compiled store. Without one everything works, so its failure is none of ours.
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

    /// What a file of others was before we ever changed it: as recorded, if nobody has changed it since.
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

    /// Makes the directories that a path needs, where links on the way lead to.
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

/// Names the process with which a `windlass compile` has to end.
const PARENT: &str = "WINDLASS_PARENT";

/// Makes this process end with the one that started it by `compile_command`: else it could go on after an installation
/// that was killed, and write compiled stores behind the back of the `uninstall` that undoes it. Answers whether that
/// one is gone already.
#[must_use]
pub fn end_with_parent() -> bool {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|parent| parent.parse::<u32>().ok()) else { return false };
    let armed = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    armed.is_ok() && std::os::unix::process::parent_id() != parent
}

/// `windlass compile` for a place.
pub fn compile_command(executable: &Path, destination: &Destination) -> Command {
    let mut command = Command::new(executable);
    // What the plan names is the place's own directory, whatever the one who installs uses.
    command.arg("compile").stdin(Stdio::null()).env_remove("WINDLASS_STORE");
    command.env(PARENT, std::process::id().to_string());
    if !destination.is_machine() {
        command.arg("--root").arg(destination.root());
    }
    command
}
