//! The view of `/proc` without watching: mapped TLS libraries, and descriptors currently open on a source.

use std::path::{Path, PathBuf};

use windlass_machine::places::{self, PlaceKind, Room};
use windlass_machine::processes::{self, Budget, ProcessFacts, Served, Unseen};

use super::roots::RootDirectory;
use super::snapshot::{Entry, Missed, SCHEMA, Snapshot, SourceCount, SourceEntry, Totals, libraries, sort_rows};
use super::source::{Source, SourceKind};
use super::users::Users;
use crate::snapshot::{By, Sort};

/// The processes that have a TLS library, or hold a source open.
pub fn look(why: &str, named: &[PathBuf], by: By, users: &Users) -> Snapshot {
    let (sources, homes_cut) = sources(named, users);
    let mut missed = Missed::default();
    let mut rows = Vec::new();
    for facts in processes::all(Budget::default()).filter(|facts| facts.pid != std::process::id()) {
        if facts.windlass == Served::Unknown(Unseen::Forbidden) {
            missed.processes += 1;
            continue;
        }
        missed.unread += u64::from(facts.windlass == Served::Unknown(Unseen::Unread));
        let open = open_sources(facts.pid, &sources);
        if facts.libraries.iter().any(|library| library.whole) || !open.is_empty() {
            rows.push(entry(&facts, open, users));
        }
    }
    missed.left_out.places = users.homes_left_out() + homes_cut;
    let totals = Totals { processes: rows.len() as u64, ..Totals::default() };
    let mut rows = if by == By::Program { by_program(rows) } else { rows };
    sort_rows(&mut rows, Sort::Bytes);
    let sources = sources.into_iter().map(|source| SourceEntry { source, opens: None, listings: None, bytes: None });
    Snapshot {
        schema: SCHEMA,
        watched: false,
        why_not_watched: Some(why.to_owned()),
        seconds: 0.0,
        missed,
        totals,
        by,
        rows,
        sources: sources.collect(),
    }
}

/// The sources, and the number of homes that were too large.
fn sources(named: &[PathBuf], users: &Users) -> (Vec<Source>, usize) {
    let Ok(root) = RootDirectory::own() else { return (Vec::new(), 0) };
    let found = places::search(Path::new("/"), users.homes(), Room::EachHome);
    let known = found.places.into_iter().filter(|place| place.kind != PlaceKind::P11KitModule);
    let known = known.map(|place| (place.path, place.why));
    let named = named.iter().map(|path| (path.clone(), "--watch".to_owned()));
    let mut sources: Vec<Source> = Vec::new();
    for (path, why) in named.chain(known) {
        let Ok(found) = root.find(&path) else { continue };
        let path = std::fs::read_link(found.path()).unwrap_or(path);
        let kind = if super::sources::is_directory(&found.stat) { SourceKind::Directory } else { SourceKind::File };
        if sources.iter().all(|source| source.path != path) {
            sources.push(Source { path, kind, why, mount_namespace: None, files: 0 });
        }
    }
    (sources, found.homes_cut)
}

fn open_sources(pid: u32, sources: &[Source]) -> Vec<SourceCount> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        // The link is only read: a stat of its target could wait for a dead file server.
        let Ok(path) = std::fs::read_link(entry.path()) else { continue };
        let is_it = |source: &&Source| match source.kind {
            SourceKind::File => path == source.path,
            SourceKind::Directory => path.parent() == Some(&source.path),
        };
        if let Some(source) = sources.iter().find(is_it) {
            open.push(SourceCount {
                path: source.path.clone(),
                mount_namespace: None,
                opens: None,
                listings: None,
                bytes: None,
            });
        }
    }
    open
}

fn entry(facts: &ProcessFacts, open: Vec<SourceCount>, users: &Users) -> Entry {
    Entry {
        pid: Some(facts.pid),
        processes: 1,
        uid: Some(facts.uid),
        user: Some(users.name(facts.uid)),
        exe: facts.exe.clone(),
        command: Some(facts.command_line()),
        unknown: None,
        opens: None,
        listings: None,
        bytes: None,
        opens_per_minute: None,
        open_descriptors: Some(open.len() as u64),
        libraries: libraries(facts),
        windlass: Some(facts.windlass.clone()),
        sources: open,
    }
}

fn by_program(rows: Vec<Entry>) -> Vec<Entry> {
    let mut programs: Vec<Entry> = Vec::new();
    for row in rows {
        match programs.iter_mut().find(|program| program.exe == row.exe) {
            Some(program) => {
                program.processes += row.processes;
                program.open_descriptors =
                    program.open_descriptors.zip(row.open_descriptors).map(|(one, other)| one + other);
                program.sources.extend(row.sources);
                if program.user != row.user {
                    program.user = None;
                }
            }
            None => programs.push(Entry { pid: None, uid: None, command: None, ..row }),
        }
    }
    programs
}
