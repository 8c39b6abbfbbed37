//! `windlass prune` for people. Names come from directories of strangers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use windlass_prune::{Backup, Item, Kind, Note, Plan, Store, Undo};

use super::columns;
use super::terminal::printable;

/// The most certificates listed that stay and have the name of one that goes.
const NAMESAKES: usize = 8;

/// What is to go, and what is not done.
pub fn plan(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.is_empty() {
        let count = plan.stores.len();
        let where_ = match count {
            0 => String::from("there is no .NET store and no hashed directory to look through"),
            _ if !plan.notes.is_empty() => String::from("the notes say what stays, and why"),
            1 => String::from("nothing in the one directory is superfluous"),
            _ => format!("nothing in {count} directories is superfluous"),
        };
        text.push_str(&format!("Nothing to do: {where_}.\n"));
    }
    for store in plan.stores.iter().filter(|store| !store.items.is_empty()) {
        text.push_str(&self::store(store));
    }
    for Note { path, what, remedy } in &plan.notes {
        text.push_str(&format!("Note: {} {}\n", shown(path), printable(what)));
        if !remedy.is_empty() {
            text.push_str(&format!("  help: {}\n", printable(remedy)));
        }
    }
    text
}

fn store(store: &Store) -> String {
    let kind = match store.kind {
        Kind::DotnetStore => ".NET store",
        Kind::HashedDirectory => "hashed directory",
    };
    let going = store.items.len();
    let kept = match store.kept {
        1 => String::from("1 certificate stays"),
        count => format!("{count} certificates stay"),
    };
    let mut text = format!("{} ({kind}): {going} to go, {kept}\n", shown(&store.path));
    let ambiguous = ambiguous(store);
    let row = |item: &Item| {
        let name = item.name.to_string_lossy();
        let certificate = match (item.certificate.as_deref(), &item.key) {
            (Some(name), Some(key)) if ambiguous.contains(name) => with_key(name, key),
            (name, _) => printable(name.unwrap_or_default()).into_owned(),
        };
        [format!("  {}", printable(&name)), certificate, printable(&item.reason).into_owned()]
    };
    text.push_str(&columns::table(["  NAME", "CERTIFICATE", "WHY"], &[], store.items.iter().map(row).collect()));
    if !store.namesakes.is_empty() {
        let shown = store.namesakes.iter().take(NAMESAKES).map(|one| with_key(&one.certificate, &one.key));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = match store.namesakes.len().saturating_sub(NAMESAKES) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        text.push_str(&format!("  Of the same name, with another key, stays: {shown}{more}\n"));
    }
    text
}

/// The names that stand for several keys in a directory, as far as something with the name is to go.
fn ambiguous(store: &Store) -> BTreeSet<&str> {
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    let mut ambiguous: BTreeSet<_> = store.namesakes.iter().map(|one| &*one.certificate).collect();
    for item in &store.items {
        if let (Some(name), Some(key)) = (&item.certificate, &item.key)
            && *keys.entry(name).or_insert(key) != key
        {
            ambiguous.insert(name);
        }
    }
    ambiguous
}

/// A certificate's name, and as much of its key's identifier as tells it from others.
fn with_key(name: &str, key: &str) -> String {
    format!("{} (key {})", printable(name), key.get(..12).unwrap_or(key))
}

/// What is to come back.
pub fn undo(backup: &Backup, steps: &[Undo]) -> String {
    let unfinished = if backup.record.finished { "" } else { ", which was interrupted" };
    let mut text = format!("To undo: the prune of {}{unfinished}\n", printable(&backup.record.made));
    for step in steps {
        text.push_str(&format!("  {}\n     {}\n", shown(&step.path), printable(&step.what)));
    }
    text
}

/// What went.
pub fn list(all: &[Backup], path: &Path) -> String {
    if all.is_empty() {
        return format!("No backups in {}.\n", shown(path));
    }
    let row = |backup: &Backup| {
        let record = &backup.record;
        let mut directories: Vec<_> = record.entries.iter().map(|entry| &entry.directory).collect();
        directories.dedup();
        let from = match directories.as_slice() {
            [one] => shown(one),
            several => format!("{} directories", several.len()),
        };
        let state = if record.finished { "" } else { "interrupted" };
        [
            printable(&backup.name.to_string_lossy()).into_owned(),
            record.entries.len().to_string(),
            from,
            state.to_owned(),
        ]
    };
    columns::table(["BACKUP", "FILES", "FROM", ""], &[1], all.iter().map(row).collect())
}

/// What there is to say in the end.
pub fn done(moved: usize, name: &OsStr, backups: &Path, named: bool) -> String {
    let option = if named { format!(" --backups {}", shown(backups)) } else { String::new() };
    let name = printable(&name.to_string_lossy()).into_owned();
    format!(
        "Done: {moved} moved to {}/{name}. `windlass prune --undo={name}{option}` puts them back.\n",
        shown(backups)
    )
}

/// What was left alone.
pub fn left(left: &str) -> String {
    format!("windlass: left alone: {}", printable(left))
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}
