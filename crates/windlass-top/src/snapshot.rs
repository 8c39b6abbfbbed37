//! The displayed state at one moment.

#![allow(missing_docs, reason = "the fields are those of the JSON")]

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use windlass_machine::processes::{ProcessFacts, Served, TlsLibrary, lossy};

use super::roots::Namespace;
use super::source::{LeftOut, Source, SourceKind};

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// The subject of a line in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A process.
    Process,
    /// All processes of an executable.
    Program,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By the size of the opened files, which programs have to parse.
    Bytes,
    /// By the number of opened files.
    Opens,
    /// By the number of files opened in the last minute.
    Rate,
}

/// Everything that a report shows.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    pub schema: u32,
    /// Whether opens were watched; if not, only `/proc` was read.
    pub watched: bool,
    /// Why opens were not watched.
    pub why_not_watched: Option<String>,
    /// Time since the start of watching.
    pub seconds: f64,
    /// Data missing from this snapshot.
    pub missed: Missed,
    pub totals: Totals,
    pub by: By,
    pub rows: Vec<Entry>,
    pub sources: Vec<SourceEntry>,
}

/// What is known to be missing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Missed {
    /// How often the kernel's queue overflowed.
    pub overflows: u64,
    /// Processes that this user may not inspect.
    pub processes: u64,
    /// Opens by Windlass's own command.
    pub own_opens: u64,
    /// Processes that were not searched completely, or that make their readers wait.
    pub unread: u64,
    /// Why some events could not be read.
    pub failed: Option<String>,
    /// Sources that were too many to be watched.
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
    /// The process id; `None` for several processes, or for one without an id here.
    pub pid: Option<u32>,
    pub processes: u64,
    pub uid: Option<u32>,
    pub user: Option<String>,
    #[serde(serialize_with = "lossy::option")]
    pub exe: Option<PathBuf>,
    pub command: Option<String>,
    /// Why nothing is known about it.
    pub unknown: Option<&'static str>,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
    pub opens_per_minute: Option<f64>,
    /// Descriptors currently open on a source; only if opens were not watched.
    pub open_descriptors: Option<u64>,
    pub libraries: Vec<Library>,
    #[serde(serialize_with = "served")]
    pub windlass: Option<Served>,
    pub sources: Vec<SourceCount>,
}

/// A TLS library, with its display text.
#[derive(Clone, Debug, Serialize)]
pub struct Library {
    pub name: String,
    #[serde(flatten)]
    pub library: TlsLibrary,
}

/// The opens of one source in one row.
#[derive(Clone, Debug, Serialize)]
pub struct SourceCount {
    #[serde(serialize_with = "lossy::path")]
    pub path: PathBuf,
    pub mount_namespace: Option<Namespace>,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
}

/// A source, with the opens by all processes.
#[derive(Debug, Serialize)]
pub struct SourceEntry {
    #[serde(flatten)]
    pub source: Source,
    pub opens: Option<u64>,
    pub listings: Option<u64>,
    pub bytes: Option<u64>,
}

/// Rounded to three decimals: more is noise.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Most expensive first. Equal rows keep their order, to keep lines from jumping.
pub(crate) fn sort_rows(rows: &mut [Entry], sort: Sort) {
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

/// The libraries with their display text.
pub fn libraries(facts: &ProcessFacts) -> Vec<Library> {
    facts.libraries.iter().map(|library| Library { name: library.to_string(), library: library.clone() }).collect()
}

/// The display name of a program: its name, and for interpreters the script.
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
    // After these options comes a program's text, not its name.
    let is_text = place.is_some_and(|place| place > 0 && ["-c", "-e", "-r"].contains(&words[place - 1]));
    let script = place.filter(|_| !is_text).map(|place| words[place]);
    match script.filter(|_| is_interpreter) {
        Some(script) => format!("{name} {}", script.rsplit('/').next().unwrap_or(script)),
        None => name,
    }
}

/// The last part of a path, or all of it.
fn base(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The numbers of watched files, of watched directories, and of files in those directories.
pub fn watched(sources: &[SourceEntry]) -> (usize, usize, usize) {
    let directories = || sources.iter().filter(|source| source.source.kind == SourceKind::Directory);
    let count = directories().count();
    (sources.len() - count, count, directories().map(|source| source.source.files).sum())
}

/// The short name of the reason, if there is one.
pub(crate) fn reason(served: &Served) -> Option<String> {
    // The outer name says yes, no or unknown, which `served` already tells.
    match serde_json::to_value(served).ok()?.as_object()?.values().next()? {
        serde_json::Value::Object(reason) => reason.keys().next().cloned(),
        reason => reason.as_str().map(str::to_owned),
    }
}

fn served<S: Serializer>(served: &Option<Served>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Words<'a> {
        served: Option<bool>,
        reason: Option<&'a str>,
        words: String,
    }
    let reason = served.as_ref().and_then(reason);
    let reason = reason.as_deref();
    let is = served.as_ref().and_then(|served| match served {
        Served::Loaded => Some(true),
        Served::No(_) => Some(false),
        Served::Unknown(_) => None,
    });
    let words = served.as_ref().map(ToString::to_string).unwrap_or_default();
    Words { served: is, reason, words }.serialize(serializer)
}
