//! Restores the files that a `windlass prune` removed, even if it was killed, or if others have made changes since.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use windlass_journal::{Directory, MAX_FILE, is_about_one, transfer};
use windlass_machine::places::hash_name::HashName;
use windlass_machine::{Failure, without_number};

use super::backups::{Backup, Backups, failure};
use super::record::Entry;

/// The undoing of one entry.
#[derive(Debug, PartialEq, Serialize)]
pub struct Undo {
    /// The path to restore.
    #[serde(serialize_with = "windlass_journal::bytes::serialize")]
    pub path: PathBuf,
    /// The effect, for display.
    pub what: String,
    /// The certificate, for display.
    pub certificate: Option<String>,
}

enum State {
    /// The file is in the backup, and its name is free.
    Saved,
    /// The file is in the backup, and its name is taken by another.
    Occupied,
    /// The file never left the directory; in a sequence, it may have another number.
    There(OsString),
    /// The file is neither in the backup nor in the directory.
    Lost,
}

/// Plans the undoing of a backup.
pub fn plan(backup: &Backup) -> Vec<Undo> {
    let entries = backup.record.entries.iter().rev();
    let undone = entries.map(|entry| {
        let what = match Directory::open(&entry.directory) {
            Err(error) => format!("stays in the backup: the directory {}", gone(&error)),
            Ok(directory) => match state(entry, &directory, backup) {
                State::Saved => String::from("put back"),
                State::Occupied => String::from("stays in the backup: another file has taken its place"),
                State::There(name) if name == entry.name => String::from("is in place: it was never moved"),
                State::There(name) => format!("is there as {}: give it its place back", name.to_string_lossy()),
                State::Lost => String::from("is neither there nor in the backup"),
            },
        };
        Undo { path: entry.directory.join(&entry.name), what, certificate: entry.certificate.clone() }
    });
    undone.collect()
}

fn gone(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => String::from("is gone"),
        _ => format!("can't be opened: {}", without_number(error)),
    }
}

fn state(entry: &Entry, directory: &Directory, backup: &Backup) -> State {
    let is_it = |within: &Directory, name: &OsStr| {
        within.look(name, MAX_FILE).is_ok_and(|found| found.is_some_and(|(seen, _)| seen.is_same(&entry.seen)))
    };
    let saved = is_it(&backup.directory, OsStr::new(&entry.saved));
    let hash = HashName::parse(&entry.name);
    // In a sequence that was being changed, the file may have its own number or any later one.
    let places: Vec<_> = match hash {
        Some(hash) => {
            (hash.number..hash.end(|name| directory.has(name))).map(|number| hash.at(number).name()).collect()
        }
        _ => vec![entry.name.clone()],
    };
    // Two files of a sequence may be identical. One can only be in both the directory and the backup after an
    // interrupted copy.
    let is_whole = backup.record.finished || !directory.is_apart(&backup.directory);
    let is_row = saved && hash.is_some() && is_whole;
    match places.into_iter().find(|name| !is_row && is_it(directory, name)) {
        Some(name) => State::There(name),
        None if !saved => State::Lost,
        None if hash.is_none() && directory.has(&entry.name) => State::Occupied,
        None => State::Saved,
    }
}

/// Restores everything that can be restored, last entry first. Returns the reasons for the rest. Restored files leave
/// the backup; an empty backup is removed.
pub fn apply(mut backup: Backup, backups: &Backups) -> Result<Vec<String>, Failure> {
    let changing = |error: io::Error| failure("change the backup", &backups.directory.path, &error);
    let mut left = Vec::new();
    let mut remaining = Vec::new();
    // A file that is being copied is in both places for a moment, which must not be taken for two files.
    backup.record.finished = false;
    backup.record.write(&backup.directory).map_err(changing)?;
    for entry in backup.record.entries.iter().rev() {
        let path = entry.directory.join(&entry.name);
        match put_back(entry, &backup) {
            Ok(None) => {}
            Ok(Some(why)) => {
                left.push(format!("{}: {why}", path.display()));
                remaining.push(entry.clone());
            }
            Err(error) if is_about_one(&error) => {
                left.push(format!("{}: {}", path.display(), without_number(&error)));
                remaining.push(entry.clone());
            }
            Err(error) => {
                return Err(failure("put back", &path, &error)
                    .advise("run the same command again: it goes on where it stopped"));
            }
        }
    }
    remaining.reverse();
    if remaining.is_empty() {
        backups.forget(&backup.directory, &backup.name).map_err(changing)?;
    } else {
        backup.record.entries = remaining;
        backup.record.finished = true;
        backup.record.write(&backup.directory).map_err(changing)?;
    }
    Ok(left)
}

/// Returns the reason if the entry can't be restored.
fn put_back(entry: &Entry, backup: &Backup) -> io::Result<Option<String>> {
    let directory = match Directory::open(&entry.directory) {
        Ok(directory) => directory,
        Err(error) => return Ok(Some(format!("its directory {}", gone(&error)))),
    };
    let saved = OsStr::new(&entry.saved);
    directory.remove_temporary(&entry.name)?;
    backup.directory.remove_temporary(saved)?;
    match state(entry, &directory, backup) {
        State::Saved => {
            let name = free_place(entry, &directory);
            transfer(&backup.directory, saved, &directory, &name, &entry.seen)?;
            to_its_place(entry, &directory, &name)?;
        }
        State::There(name) => {
            to_its_place(entry, &directory, &name)?;
            // A copy that was complete when the command was killed, before the original was removed.
            if backup.directory.has(saved) {
                backup.directory.remove(saved)?;
            }
        }
        State::Occupied => {
            return Ok(Some(format!(
                "another file has taken its place; the saved one is {}",
                backup.directory.path.join(saved).display()
            )));
        }
        State::Lost => return Ok(Some(String::from("it is neither there nor in the backup: somebody has removed it"))),
    }
    directory.synchronise()?;
    Ok(None)
}

/// In a sequence, the number after the last one; never one that would leave a gap before it.
fn free_place(entry: &Entry, directory: &Directory) -> OsString {
    let (Some(hash), Some(first)) = (HashName::parse(&entry.name), entry.row) else { return entry.name.clone() };
    let has = |number: u32| directory.has(&hash.at(number).name());
    if has(hash.number) {
        return hash.at(hash.end(|name| directory.has(name))).name();
    }
    let free = (first..=hash.number).rev().take_while(|number| !has(*number)).last();
    hash.at(free.unwrap_or(hash.number)).name()
}

fn to_its_place(entry: &Entry, directory: &Directory, name: &OsStr) -> io::Result<()> {
    let (Some(wanted), Some(now)) = (HashName::parse(&entry.name), HashName::parse(name)) else { return Ok(()) };
    for number in (wanted.number..now.number).rev() {
        directory.exchange(&now.at(number).name(), &now.at(number + 1).name())?;
    }
    Ok(())
}
