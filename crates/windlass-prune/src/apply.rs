//! Removes the planned files. The record is written first.

use std::ffi::{OsStr, OsString};
use std::io;

use windlass_journal::{Directory, MAX_FILE, is_about_one, transfer};
use windlass_machine::places::hash_name::HashName;
use windlass_machine::{Failure, without_number};

use super::backups::{Backups, failure};
use super::plan::{Item, Plan, Store};
use super::record::{Entry, Record};
use windlass::Timestamp;

/// The result of a prune.
#[derive(Debug, Default)]
pub struct Done {
    /// The name of the backup; None if nothing was removed.
    pub backup: Option<OsString>,
    /// The number of files and links moved into it.
    pub moved: usize,
    /// Items that were left alone, with the reason.
    pub left: Vec<String>,
}

/// Removes the planned files. Stops at the first error that concerns more than one file; everything moved by then is
/// recorded.
pub fn apply(plan: &Plan, backups: &Backups, now: Timestamp) -> Result<Done, Failure> {
    let failed = |error: io::Error| failure("write a backup below", &backups.directory.path, &error);
    let mut done = Done::default();
    let mut opened = Vec::new();
    for store in plan.stores.iter().filter(|store| !store.items.is_empty()) {
        match reopen(store) {
            Ok(directory) => opened.push((store, directory)),
            Err(why) => done.left.push(format!("{}: {why}", store.path.display())),
        }
    }
    if opened.is_empty() {
        return Ok(done);
    }
    let (backup, date) = backups.begin(now).map_err(failed)?;
    let name = backup.path.file_name().unwrap_or_default().to_owned();
    let mut entries = Vec::new();
    for (store, directory) in &opened {
        entries.extend(store.items.iter().map(|item| (directory, entry(store, directory, item))));
    }
    for (number, (_, entry)) in entries.iter_mut().enumerate() {
        entry.saved = format!("{number:06}");
    }
    let entries_of = entries.iter().map(|(_, entry)| entry.clone()).collect();
    let mut record = Record { made: date, finished: false, entries: entries_of };
    // From here on, everything can be undone.
    let written = record.write(&backup).and_then(|()| backups.directory.synchronise());
    if let Err(error) = written {
        let _ = backups.forget(&backup, &name);
        return Err(failed(error));
    }
    let items = opened.iter().flat_map(|(store, _)| &store.items);
    let mut moved = Vec::new();
    for ((directory, entry), item) in entries.into_iter().zip(items) {
        match take(directory, &backup, &entry, item) {
            Ok(()) => moved.push(entry),
            Err(error) if is_about_one(&error) => {
                done.left.push(format!("{}: {}", directory.path.join(&entry.name).display(), without_number(&error)));
            }
            Err(error) => {
                let path = directory.path.join(&entry.name);
                if moved.is_empty() && !backup.has(OsStr::new(&entry.saved)) && backups.forget(&backup, &name).is_ok() {
                    return Err(failure("move", &path, &error).advise("nothing was moved"));
                }
                let undo = format!(
                    "{} files were moved before that; windlass prune --undo={} puts them back",
                    moved.len(),
                    name.to_string_lossy()
                );
                return Err(failure("move", &path, &error).advise(undo));
            }
        }
    }
    for (_, directory) in &opened {
        directory.synchronise().map_err(failed)?;
    }
    backup.synchronise().map_err(failed)?;
    done.moved = moved.len();
    record.entries = moved;
    record.finished = true;
    if record.entries.is_empty() {
        backups.forget(&backup, &name).map_err(failed)?;
    } else {
        record.write(&backup).map_err(failed)?;
        done.backup = Some(name);
    }
    Ok(done)
}

/// The planned directory, if it still exists.
fn reopen(store: &Store) -> Result<Directory, String> {
    let directory = Directory::open(&store.path).map_err(|error| without_number(&error))?;
    match directory.inode() {
        Ok(inode) if inode == store.inode => Ok(directory),
        _ => Err(String::from("another directory has taken its place, so nothing was moved from it")),
    }
}

fn entry(store: &Store, directory: &Directory, item: &Item) -> Entry {
    let first =
        |hash: HashName| (0..hash.number).rev().take_while(|number| directory.has(&hash.at(*number).name())).last();
    let row = HashName::parse(&item.name).map(|hash| first(hash).unwrap_or(hash.number));
    Entry {
        directory: store.path.clone(),
        kind: store.kind,
        name: item.name.clone(),
        saved: String::new(),
        reason: item.reason.clone(),
        certificate: item.certificate.clone(),
        row,
        seen: item.seen.clone(),
    }
}

fn take(directory: &Directory, backup: &Directory, entry: &Entry, item: &Item) -> io::Result<()> {
    let now = directory.look(&entry.name, MAX_FILE)?;
    if !now.is_some_and(|(now, _)| now.is_untouched(&item.seen)) {
        return Err(io::Error::other("it changed after the plan was made, so it stays"));
    }
    let last = match HashName::parse(&entry.name) {
        Some(hash) => to_the_end(directory, hash)?,
        None => entry.name.clone(),
    };
    transfer(directory, &last, backup, OsStr::new(&entry.saved), &entry.seen)
}

/// OpenSSL looks up the numbers of a hash one after the other, up to the first gap: an item to be removed is swapped
/// with its successors until it is last. The sequence is complete at every moment, and the others keep their order.
fn to_the_end(directory: &Directory, hash: HashName) -> io::Result<OsString> {
    let end = hash.end(|name| directory.has(name));
    for number in hash.number..end.saturating_sub(1) {
        directory.exchange(&hash.at(number).name(), &hash.at(number + 1).name()).map_err(|error| {
            match error.kind() {
                io::ErrorKind::InvalidInput => io::Error::other(
                    "this file system can't swap names, and OpenSSL would not find the links behind it: it stays",
                ),
                _ => error,
            }
        })?;
    }
    Ok(hash.at(end.saturating_sub(1)).name())
}
