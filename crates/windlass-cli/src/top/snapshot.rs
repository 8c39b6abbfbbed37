//! What is shown: the state at one moment, put together by process or by program.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::ledger::{Row, Who, base};
use super::roots::Namespace;
use super::sources::{LeftOut, Source, SourceKind};
use super::tally::Tally;
use super::users::Users;
use super::worker::State;
use crate::cli::top::{By, Sort};
use crate::processes::{ProcessFacts, Served, TlsLibrary, Unseen, lossy};

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// All that is shown.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    pub schema: u32,
    /// Whether opens were watched, or only `/proc` was looked at.
    pub watched: bool,
    /// Why they were not.
    pub why_not_watched: Option<String>,
    /// How long.
    pub seconds: f64,
    /// What is missing in this.
    pub missed: Missed,
    pub totals: Totals,
    pub by: By,
    pub rows: Vec<Entry>,
    pub sources: Vec<SourceEntry>,
}

/// What is known to be missing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Missed {
    /// How often the queue of the kernel was full.
    pub overflows: u64,
    /// Processes that this user may not look into.
    pub processes: u64,
    /// Opens by Windlass' own command.
    pub own_opens: u64,
    /// Processes of which not all was searched, or that make whoever looks wait.
    pub unread: u64,
    /// Why some events could not be read.
    pub failed: Option<String>,
    /// What was too much to be watched.
    pub left_out: LeftOut,
}

/// Sums of all rows.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    pub processes: u64,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
}

/// A process, or the processes of a program.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Its number; `None` where it is several, or has none here.
    pub pid: Option<u32>,
    pub processes: u64,
    pub uid: Option<u32>,
    pub user: Option<String>,
    #[serde(serialize_with = "lossy::option")]
    pub exe: Option<PathBuf>,
    pub command: Option<String>,
    /// Why nothing is known of it.
    pub unknown: Option<&'static str>,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
    pub opens_per_minute: Option<f64>,
    /// Descriptors that are open on a source now; only where opens were not watched.
    pub open_descriptors: Option<u64>,
    pub libraries: Vec<Library>,
    #[serde(serialize_with = "served")]
    pub windlass: Option<Served>,
    pub sources: Vec<SourceCount>,
}

/// A TLS library, with the words for it.
#[derive(Clone, Debug, Serialize)]
pub struct Library {
    pub name: String,
    #[serde(flatten)]
    pub library: TlsLibrary,
}

/// What one row opened of one source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceCount {
    #[serde(serialize_with = "lossy::path")]
    pub path: PathBuf,
    pub mount_namespace: Option<Namespace>,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
}

/// A source, and what was opened of it by all.
#[derive(Debug, Serialize)]
pub struct SourceEntry {
    #[serde(flatten)]
    pub source: Source,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
}

impl Snapshot {
    /// The state of a watching.
    pub fn of(state: &State, by: By, sort: Sort, users: &Users) -> Snapshot {
        let now = state.ledger.elapsed();
        let sources = &state.sources[..];
        let mut all = Tally::default();
        let mut by_source: BTreeMap<usize, Tally> = BTreeMap::new();
        let mut processes = 0;
        let mut missed = Missed {
            overflows: state.ledger.overflows(),
            own_opens: state.ledger.left_out(),
            failed: state.failed.map(|errno| errno.desc().to_owned()),
            left_out: state.left_out,
            ..Missed::default()
        };
        for (_, row) in state.ledger.rows() {
            missed.unread += u64::from(row.unread);
            all.add(&row.tally);
            processes += row.processes;
            for (source, tally) in &row.sources {
                by_source.entry(*source).or_default().add(tally);
            }
        }
        let mut rows = entries(state, by, sources, users, now);
        sort_rows(&mut rows, sort);
        let none = Tally::default();
        let source = |(place, source): (usize, &Source)| {
            let tally = by_source.get(&place).unwrap_or(&none);
            let counts = (Some(tally.opens), Some(tally.listings), Some(tally.bytes));
            SourceEntry { source: source.clone(), opens: counts.0, listings: counts.1, bytes: counts.2 }
        };
        Snapshot {
            schema: SCHEMA,
            watched: true,
            why_not_watched: None,
            seconds: seconds(now),
            missed,
            totals: Totals { processes, opens: Some(all.opens), listings: Some(all.listings), bytes: Some(all.bytes) },
            by,
            rows,
            sources: sources.iter().enumerate().map(source).collect(),
        }
    }
}

/// With three digits behind the point: more is noise.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Most expensive first. Equal ones keep an order, so that lines don't jump.
pub fn sort_rows(rows: &mut [Entry], sort: Sort) {
    let rate = |entry: &Entry| (entry.opens_per_minute.unwrap_or(0.0) * 1000.0) as u64;
    let key = |entry: &Entry| match sort {
        Sort::Bytes => (entry.bytes.unwrap_or(0), entry.opens.unwrap_or(0)),
        Sort::Opens => (entry.opens.unwrap_or(0), entry.bytes.unwrap_or(0)),
        Sort::Rate => (rate(entry), entry.bytes.unwrap_or(0)),
    };
    rows.sort_by_cached_key(|entry| {
        (Reverse(key(entry)), Reverse(entry.open_descriptors), entry.pid, entry.exe.clone(), entry.unknown)
    });
}

fn entries(state: &State, by: By, sources: &[Source], users: &Users, now: Duration) -> Vec<Entry> {
    let rows = state.ledger.rows();
    match by {
        By::Process => rows.map(|(who, row)| entry(who, row, row.tally.per_minute(now), sources, users)).collect(),
        By::Program => programs(state, users, now)
            .into_iter()
            .map(|(who, mut program)| {
                let mut entry = entry(&who, &program.row, program.rate, sources, users);
                program.users.sort();
                program.users.dedup();
                (entry.uid, entry.command) = (None, None);
                entry.user = if program.users.len() == 1 { program.users.pop() } else { None };
                entry
            })
            .collect(),
    }
}

/// The processes of an executable.
#[derive(Default)]
struct Program {
    row: Row,
    rate: f64,
    users: Vec<String>,
}

fn programs(state: &State, users: &Users, now: Duration) -> BTreeMap<Who, Program> {
    let mut programs: BTreeMap<Who, Program> = BTreeMap::new();
    for (who, row) in state.ledger.rows() {
        let who = match who {
            Who::Process { exe, .. } => Who::Former { exe: exe.clone() },
            other => other.clone(),
        };
        let program = programs.entry(who).or_default();
        program.rate += row.tally.per_minute(now);
        program.users.extend(row.facts.as_ref().map(|facts| users.name(facts.uid)));
        program.row.take_in(row.clone());
    }
    programs
}

fn entry(who: &Who, row: &Row, rate: f64, sources: &[Source], users: &Users) -> Entry {
    let (pid, exe, unknown) = match who {
        Who::Process { pid, exe, .. } => (Some(*pid), exe.clone(), None),
        Who::Former { exe } => (None, exe.clone(), None),
        Who::Others => (None, None, Some("of too many programs to list")),
        Who::TooSoon => (None, None, Some("ended too soon to be looked at")),
        Who::Outside => (None, None, Some("outside of this pid namespace")),
    };
    let facts = row.facts.as_ref();
    let unseen = if row.unread { Unseen::Unread } else { Unseen::Gone };
    let source = |(place, tally): (&usize, &Tally)| {
        let source = sources.get(*place)?;
        let (path, mount_namespace) = (source.path.clone(), source.mount_namespace);
        Some(SourceCount {
            path,
            mount_namespace,
            opens: Some(tally.opens),
            listings: Some(tally.listings),
            bytes: Some(tally.bytes),
        })
    };
    let mut opened: Vec<_> = row.sources.iter().filter_map(source).collect();
    opened.sort_by_key(|count| Reverse((count.bytes, count.opens)));
    Entry {
        pid,
        processes: row.processes,
        uid: facts.map(|facts| facts.uid),
        user: facts.map(|facts| users.name(facts.uid)),
        exe,
        command: facts.map(ProcessFacts::command_line),
        unknown,
        opens: Some(row.tally.opens),
        listings: Some(row.tally.listings),
        bytes: Some(row.tally.bytes),
        opens_per_minute: Some((rate * 10.0).round() / 10.0),
        open_descriptors: None,
        libraries: facts.map(libraries).unwrap_or_default(),
        windlass: Some(facts.map_or_else(|| Served::Unknown(unseen), |facts| facts.windlass.clone())),
        sources: opened,
    }
}

/// The libraries with their words.
pub fn libraries(facts: &ProcessFacts) -> Vec<Library> {
    facts.libraries.iter().map(|library| Library { name: library.to_string(), library: library.clone() }).collect()
}

/// What a program is called: its name, and for interpreters the script.
pub fn program(entry: &Entry) -> String {
    const INTERPRETERS: [&str; 9] = ["python", "ruby", "perl", "node", "php", "java", "bash", "sh", "dash"];
    if let Some(unknown) = entry.unknown {
        return format!("({unknown})");
    }
    let command = entry.command.as_deref().unwrap_or_default();
    let Some(exe) = &entry.exe else { return command.to_owned() };
    let name = base(exe);
    let is_interpreter = INTERPRETERS.iter().any(|interpreter| name.starts_with(interpreter));
    let words: Vec<_> = command.split(' ').skip(1).filter(|word| !word.is_empty()).collect();
    let place = words.iter().position(|word| !word.starts_with('-'));
    // Behind these is a program's text, not its name.
    let is_text = place.is_some_and(|place| place > 0 && ["-c", "-e", "-r"].contains(&words[place - 1]));
    let script = place.filter(|_| !is_text).map(|place| words[place]);
    match script.filter(|_| is_interpreter) {
        Some(script) => format!("{name} {}", script.rsplit('/').next().unwrap_or(script)),
        None => name,
    }
}

/// How many files and directories are watched, and the files in the directories.
pub fn watched(sources: &[SourceEntry]) -> (usize, usize, usize) {
    let directories = || sources.iter().filter(|source| source.source.kind == SourceKind::Directory);
    let count = directories().count();
    (sources.len() - count, count, directories().map(|source| source.source.files).sum())
}

fn served<S: Serializer>(served: &Option<Served>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Words<'a> {
        served: Option<bool>,
        reason: Option<&'a str>,
        words: String,
    }
    let reason = served.as_ref().and_then(|served| serde_json::to_value(served).ok());
    // The outer name says yes, no or unknown, which is told by `served`.
    let reason = reason.as_ref().and_then(|value| value.as_object()?.values().next()).and_then(|reason| match reason {
        serde_json::Value::Object(reason) => reason.keys().next().map(String::as_str),
        reason => reason.as_str(),
    });
    let is = served.as_ref().and_then(|served| match served {
        Served::Loaded => Some(true),
        Served::No(_) => Some(false),
        Served::Unknown(_) => None,
    });
    let words = served.as_ref().map(ToString::to_string).unwrap_or_default();
    Words { served: is, reason, words }.serialize(serializer)
}
