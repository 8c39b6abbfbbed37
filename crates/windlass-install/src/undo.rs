//! Undoing the recorded changes, last change first: names are removed before the files that they name.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::Serialize;
use windlass_journal::{Attributes, Directory};
use windlass_machine::Failure;

use super::apply::Executor;
use super::destination::{Destination, Last};
use super::disk;
use super::machine::LIST;
use super::record::{Change, Kind, Record, Target};
use super::state;
use super::systemd::{self, Systemd};
use super::text::{listed, sha256};
use super::upkeep::{COMPILE, WATCH};

/// The undoing of one change.
#[derive(Debug, PartialEq, Serialize)]
pub struct Undo {
    /// The part of the installation that the change was made for.
    pub target: Target,
    /// The changed path, in the root.
    pub path: PathBuf,
    /// The effect, for display.
    pub what: &'static str,
    #[serde(skip)]
    change: Change,
    #[serde(skip)]
    action: Action,
}

#[derive(Debug, PartialEq)]
enum Action {
    /// Nothing is left to undo, or it has to stay: only the record changes.
    Forget,
    Remove,
    RemoveDirectory,
    RemoveStores,
    /// Restore the content, if the file is unchanged since this was planned.
    Write {
        now: Vec<u8>,
        bytes: Vec<u8>,
    },
    /// Stop the one unit that Windlass starts, and the unit that it starts in turn: their program may be about to be
    /// removed.
    Stop,
}

/// Plans the removal of these targets (all, if there are none). Parts that only these needed are removed too.
pub fn plan(record: &Record, targets: &[Target], destination: &Destination) -> Result<Vec<Undo>, Failure> {
    let chosen = chosen(record, targets);
    let changes = record.changes.iter().rev().filter(|change| chosen.contains(&change.target));
    // No name may outlive its file, even if the name was added long before the file was last replaced.
    let (first, last): (Vec<_>, Vec<_>) = changes.partition(|change| change.target.is_activation());
    first.into_iter().chain(last).map(|change| undo(change, destination)).collect()
}

fn chosen(record: &Record, targets: &[Target]) -> BTreeSet<Target> {
    let all: BTreeSet<_> = record.changes.iter().map(|change| change.target.clone()).collect();
    if targets.is_empty() {
        return all;
    }
    let mut chosen: BTreeSet<_> = targets.iter().cloned().collect();
    if all.iter().filter(|target| target.is_activation()).all(|target| chosen.contains(target)) {
        chosen.insert(Target::Library);
    }
    chosen
}

fn undo(change: &Change, destination: &Destination) -> Result<Undo, Failure> {
    let (what, action) = match &change.kind {
        Kind::Directory => ("remove the directory, if it is empty", Action::RemoveDirectory),
        Kind::Stores => match destination.real(&change.path, Last::Itself)?.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => ("remove the compiled stores", Action::RemoveStores),
            Ok(_) => ("keep: it is no longer a directory", Action::Forget),
            Err(_) => ("is gone already", Action::Forget),
        },
        Kind::Started { .. } if destination.is_machine() => ("stop", Action::Stop),
        Kind::Started { .. } => ("keep: units of an image don't run here", Action::Forget),
        Kind::Link { to } => match std::fs::read_link(destination.real(&change.path, Last::Itself)?) {
            Ok(now) if now == *to => ("remove", Action::Remove),
            Ok(_) => ("keep: the link was changed since, and leads elsewhere", Action::Forget),
            Err(_) => ("is gone already", Action::Forget),
        },
        Kind::File { sha256: then, lines } => match read(&destination.real(&change.path, Last::Itself)?)? {
            None => ("is gone already", Action::Forget),
            Some(now) if then.contains(&sha256(&now)) => ("remove", Action::Remove),
            Some(now) => match without_lines(&now, lines) {
                Some(bytes) => {
                    ("remove our line; the file was changed since, so the rest is kept", Action::Write { now, bytes })
                }
                None => ("keep: the file was changed since; remove it yourself if nothing needs it", Action::Forget),
            },
        },
        Kind::Edit { before, sha256: then, mark } => {
            match (read(&destination.real(&change.path, Last::Followed)?)?, before) {
                (None, _) => ("is gone already", Action::Forget),
                (Some(now), Some(before)) if then.contains(&sha256(&now)) => {
                    ("restore the earlier content", Action::Write { now, bytes: before.0.clone() })
                }
                (Some(now), None) if then.contains(&sha256(&now)) => ("remove", Action::Remove),
                (Some(now), _) => match mark.taken_out_of(&now) {
                    None => ("it no longer holds anything of ours", Action::Forget),
                    Some(rest) if rest.trim_ascii().is_empty() && before.is_none() => ("remove", Action::Remove),
                    Some(bytes) => {
                        let what = "remove our part; the file was changed since, so the rest is kept";
                        (what, Action::Write { now, bytes })
                    }
                },
            }
        }
    };
    Ok(Undo { target: change.target.clone(), path: change.path.clone(), what, change: change.clone(), action })
}

fn read(real: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match std::fs::read(real) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::other(format!("can't read {}", real.display()), error)),
    }
}

/// None if the text does not hold the lines.
fn without_lines(text: &[u8], ours: &[String]) -> Option<Vec<u8>> {
    let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let is_ours = |line: &&[u8]| ours.iter().any(|own| line.trim_ascii() == own.as_bytes());
    lines.iter().any(is_ours).then(|| lines.into_iter().filter(|line| !is_ours(line)).collect::<Vec<_>>().concat())
}

impl Executor<'_> {
    /// Carries out the plan; the record shrinks with each change that is undone. An empty record is removed too.
    pub fn uninstall(&mut self, plan: &[Undo], systemd: Systemd) -> Result<(), Failure> {
        self.begin()?;
        let mut full = Vec::new();
        for undo in plan {
            if self.undo(undo)? {
                self.record.changes.retain(|change| *change != undo.change);
                self.write()?;
            } else {
                full.push(&undo.change);
            }
        }
        // Directories that hold other people's files belong to them now; those that hold our files are still needed.
        let others: Vec<_> = self.record.changes.iter().filter(|change| !full.contains(change)).cloned().collect();
        self.record.changes.retain(|change| {
            !full.contains(&change) || others.iter().any(|other| other.path.starts_with(&change.path))
        });
        if systemd == Systemd::Running && plan.iter().any(|undo| undo.path.starts_with("/etc/systemd/system")) {
            systemd::call(["daemon-reload"])?;
        }
        if self.record.changes.is_empty() {
            return state::remove(self.destination, self.record.made_directories);
        }
        self.record.unfinished = false;
        self.write()
    }

    /// Returns whether the change is gone.
    fn undo(&self, undo: &Undo) -> Result<bool, Failure> {
        let last = if matches!(undo.change.kind, Kind::Edit { .. }) { Last::Followed } else { Last::Itself };
        let real = self.destination.real(&undo.path, last)?;
        match &undo.action {
            Action::Forget => {}
            Action::Remove => {
                if undo.target == Target::Library {
                    self.is_not_named(&undo.path)?;
                }
                disk::remove(&real)?;
            }
            Action::RemoveDirectory => return disk::remove_directory(&real),
            Action::RemoveStores => return remove_stores(&real),
            // Mode and owner are as before, unless somebody changed them since.
            Action::Write { now, .. } if read(&real)?.as_ref() != Some(now) => return Err(disk::changed_meanwhile()),
            Action::Write { bytes, .. } => disk::write(&real, bytes, Attributes::Kept)?,
            Action::Stop => systemd::stop([WATCH, COMPILE])?,
        }
        Ok(true)
    }

    /// A library that the machine's list names must stay: without it the loader would print an error in every program.
    fn is_not_named(&self, library: &Path) -> Result<(), Failure> {
        let list = self.destination.real(Path::new(LIST), Last::Followed)?;
        let real = self.destination.real(library, Last::Followed)?;
        // Under whatever name: through a link, the same file would be missing.
        let is_it = |name: &Path| {
            name == library || self.destination.real(name, Last::Followed).is_ok_and(|other| other == real)
        };
        match read(&list)? {
            Some(text) if listed(&text).any(is_it) => Err(Failure::other(
                format!("can't remove {}", library.display()),
                format!("{LIST} names it, but `windlass install` did not add it"),
            )
            .advise("remove the name from that file first: without the library, every program would print an error")),
            _ => Ok(()),
        }
    }
}

/// Removes compiled stores, and the directory if nothing else is in it; returns whether it is gone.
fn remove_stores(path: &Path) -> Result<bool, Failure> {
    let Some(directory) = Directory::open_trusted(path)? else { return Ok(true) };
    for name in directory.names().map_err(|error| disk::failure("read the directory", path, &error))? {
        let is_store = name.as_bytes().ends_with(b".store") || name.as_bytes().starts_with(b".");
        if is_store && directory.kind(&name) == Some(FileType::RegularFile) {
            directory.remove_if_there(&name).map_err(|error| disk::failure("remove a file in", path, &error))?;
        }
    }
    disk::remove_directory(path)
}
