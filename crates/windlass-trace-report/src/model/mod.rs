//! The sums over the events of a run. Everything here is bounded: a run may load for days, and a file of events may be
//! hostile. Items beyond a bound still count in the totals, and the report says that something is not listed.

mod entry;
mod held;
mod namespaces;
mod process;
mod stack;
mod sum;
mod timeline;

pub use entry::{Entries, Entry, Inner};
pub use namespaces::Namespaces;
pub use process::{Module, Process, Processes};
pub use stack::{RawFrame, Seen, Stacks};
pub use sum::Sum;
pub use timeline::Timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::event::{Event, Load, Source, Verify};
use super::limits;

const MAX_ANCHORS: usize = 100_000;
const MAX_SOURCES: usize = 10_000;
/// The most inner calls that may be waiting for their outer call.
const MAX_INNER: usize = 20_000;

/// The sums over all events of a run.
#[derive(Debug, Default)]
pub struct Trace {
    /// Loads by process.
    pub processes: Processes,
    /// The numbers that identify processes here.
    pub namespaces: Namespaces,
    /// Loads by entry point, library and sources.
    pub entries: Entries,
    /// Loads by call stack.
    pub stacks: Stacks,
    /// Loads along time.
    pub timeline: Timeline,
    /// Totals of the run.
    pub totals: Totals,
    /// SHA-256 of the trust anchors that ended a verified chain, with their counts.
    pub anchors: BTreeMap<String, u64>,
    /// The sources that loads read, as far as they have a path.
    pub read: BTreeSet<Source>,
    /// Whether something went beyond a bound.
    pub not_listed: bool,
    /// Returned inner calls that wait for their outer call, by process and thread.
    inner: BTreeMap<(u32, u32), Vec<Inner>>,
    /// The number of waiting calls.
    waiting: usize,
}

/// Sums over the calls that were not made by another loading function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub loads: u64,
    pub failed: u64,
    pub certificates: u64,
    /// Loads for which the number of parsed certificates is unknown.
    pub certificates_unknown: u64,
    pub wall: u64,
    pub cpu: u64,
    /// Loads that only registered a directory.
    pub noted: u64,
    /// Events that could not be written.
    pub lost: u64,
    /// Loads from memory: their data can't be read again.
    pub from_memory: u64,
    pub connections: u64,
    pub verifications: u64,
    pub verified: u64,
    pub verification_wall: u64,
    /// Verifications that ended in an unknown anchor.
    pub anchors_unknown: u64,
}

impl Trace {
    /// Takes the next event.
    pub fn take(&mut self, mut event: Event) {
        if let Some((namespace, pid)) = event.process() {
            *pid = self.namespaces.number(namespace, *pid);
        }
        match event {
            Event::Process(mut event) => {
                limits::cut_process(&mut event);
                event.ppid = event.ppid.map(|parent| self.namespaces.number(event.ns, parent));
                self.processes.start(event);
            }
            Event::Module(mut event) => {
                limits::cut_module(&mut event);
                self.processes.module(event);
            }
            Event::Load(mut load) => {
                make_absolute(&mut load);
                self.not_listed |= limits::cut_load(&mut load) && load.depth == 0;
                if load.depth > 0 { self.inner_load(*load) } else { self.load(&load) }
            }
            Event::Verify(verify) => self.verify(&verify),
            Event::Connection(event) => {
                self.totals.connections += 1;
                self.timeline.connection(event.pid, event.tid.unwrap_or(event.pid), event.t);
                self.processes.with(event.pid, |process| process.connections += 1);
            }
            Event::Release(event) => self.processes.release(event.pid, event.store),
            Event::Exit(event) => self.processes.exit(&event),
            Event::Lost(event) => self.totals.lost = self.totals.lost.saturating_add(event.events),
            Event::Unknown => {}
        }
    }

    fn load(&mut self, load: &Load) {
        let inner = self.inner.remove(&(load.pid, load.tid)).unwrap_or_default();
        self.waiting -= inner.len();
        let add = |sum: &mut u64, value: Option<u64>| *sum = sum.saturating_add(value.unwrap_or(0));
        self.totals.loads += u64::from(!load.more);
        self.totals.failed += u64::from(load.failed() && !load.more);
        self.totals.noted += u64::from(load.only_notes() && !load.more);
        add(&mut self.totals.wall, load.wall);
        add(&mut self.totals.cpu, load.cpu);
        add(&mut self.totals.certificates, load.parsed());
        self.totals.certificates_unknown += u64::from(load.parsed().is_none() && !load.more);
        self.totals.from_memory += u64::from(!load.more && load.sources.iter().any(|source| source.kind == "memory"));
        self.note_sources(load);
        let process = self.processes.load(load);
        let entry = self.entries.add(load, process, inner);
        self.stacks.add(load, self.processes.get(process), &self.processes);
        self.timeline.load(load, entry);
        self.not_listed |= process.is_none() || entry.is_none();
    }

    fn inner_load(&mut self, load: Load) {
        self.note_sources(&load);
        if self.waiting >= MAX_INNER {
            self.not_listed = true;
            return;
        }
        self.waiting += 1;
        self.inner.entry((load.pid, load.tid)).or_default().push(Inner::of(load));
    }

    /// OpenSSL searches a registered directory later, and the files it then reads make events of their own.
    fn note_sources(&mut self, load: &Load) {
        for source in load.sources.iter().filter(|source| source.path.is_some()) {
            let is_directory = source.kind.ends_with("directory");
            if is_directory && load.is_openssl() || source.kind == "uri" {
                continue;
            }
            if self.read.len() < MAX_SOURCES {
                self.read.insert(source.clone());
            } else {
                self.not_listed = true;
            }
        }
    }

    fn verify(&mut self, verify: &Verify) {
        self.totals.verifications += 1;
        self.totals.verification_wall = self.totals.verification_wall.saturating_add(verify.wall.unwrap_or(0));
        self.processes.with(verify.pid, |process| process.verifications += 1);
        if verify.ok != Some(true) {
            return;
        }
        self.totals.verified += 1;
        let is_digest = |text: &&String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match verify.anchor.as_ref().filter(is_digest) {
            Some(anchor) if self.anchors.contains_key(anchor) || self.anchors.len() < MAX_ANCHORS => {
                *self.anchors.entry(anchor.to_ascii_lowercase()).or_default() += 1;
            }
            Some(_) => self.not_listed = true,
            None => self.totals.anchors_unknown += 1,
        }
    }
}

/// If a program names `ca.pem`, the actual file depends on its working directory.
fn make_absolute(load: &mut Load) {
    let Some(directory) = load.cwd.take().filter(|directory| directory.starts_with('/')) else {
        return;
    };
    let is_file = |kind: &str| kind == "file" || kind == "default-file";
    let is_directory = |kind: &str| kind == "directory" || kind == "default-directory";
    for Source { kind, path } in &mut load.sources {
        let Some(path) = path.as_mut().filter(|path| !path.is_empty() && !path.starts_with('/')) else {
            continue;
        };
        // A directory may be a list of several.
        if is_file(kind) || is_directory(kind) && !path.contains(':') {
            *path = Path::new(&directory).join(&*path).to_string_lossy().into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reader;
    use super::*;

    /// The sums over a text of events.
    pub(super) fn trace(lines: &[String]) -> Trace {
        let mut trace = Trace::default();
        reader::read(lines.join("\n").as_bytes(), |event| trace.take(event)).unwrap();
        trace
    }

    pub(super) fn load(pid: u32, tid: u32, depth: u32, rest: &str) -> String {
        format!(
            r#"{{"e":"load","pid":{pid},"tid":{tid},"t":100,"wall":10,"cpu":8,"process_cpu":40,"entry":"f{depth}",
               "depth":{depth},"library":"OpenSSL 3","result":1,"certificates":144{rest}}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn only_outer_calls_are_added_up() {
        let inner = load(1, 1, 1, r#","sources":[{"kind":"file","path":"/a.pem"}]"#);
        let other = load(1, 2, 0, r#","sources":[{"kind":"memory"}]"#);
        let outer = load(1, 1, 0, r#","sources":[{"kind":"default-directory","path":"/d"}]"#);
        let trace = trace(&[inner, other, outer]);
        assert_eq!((trace.totals.loads, trace.totals.certificates, trace.totals.cpu), (2, 288, 16));
        assert_eq!(trace.totals.from_memory, 1);
        // OpenSSL reads nothing of a directory when it is registered.
        assert_eq!(trace.read.iter().map(|source| source.path.clone().unwrap()).collect::<Vec<_>>(), ["/a.pem"]);
        let with_inner: Vec<_> = trace.entries.all().map(|entry| entry.inner.len()).collect();
        assert_eq!(with_inner, [0, 1], "the inner call belongs to the outer one of its thread");
    }

    #[test]
    fn certificates_that_are_added_one_by_one_are_one_load() {
        let part = |calls: u32, more: bool| {
            load(
                1,
                1,
                0,
                &format!(r#","calls":{calls},"parsed":{calls},"more":{more},"sources":[{{"kind":"memory"}}]"#),
            )
        };
        let trace = trace(&[part(1, false), part(15, true), part(3, true)]);
        let (entry, process) = (trace.entries.all().next().unwrap(), &trace.processes.all()[0]);
        assert_eq!((trace.totals.loads, trace.totals.certificates, trace.totals.from_memory), (1, 19, 1));
        assert_eq!(
            (entry.loads, entry.sum.calls, entry.sum.certificates, process.loads, process.held.unknown),
            (1, 19, 19, 1, 1)
        );
    }

    #[test]
    fn relative_paths_start_from_the_programs_directory() {
        let rest = r#","cwd":"/srv/app","sources":[{"kind":"file","path":"ca.pem"},{"kind":"file","path":"/x.pem"},
            {"kind":"directory","path":"a:b"},{"kind":"uri","path":"pkcs11:"},{"kind":"memory"}]"#
            .replace('\n', "");
        let trace = trace(&[load(1, 1, 0, &rest)]);
        let entry = trace.entries.all().next().unwrap();
        let paths: Vec<_> = entry.sources.iter().filter_map(|source| source.path.as_deref()).collect();
        assert_eq!(paths, ["/srv/app/ca.pem", "/x.pem", "a:b", "pkcs11:"]);
    }

    #[test]
    fn a_call_that_notes_a_directory_reads_nothing() {
        let directory = r#","parsed":0,"sources":[{"kind":"directory","path":"/d"}]"#;
        let both = r#","parsed":0,"sources":[{"kind":"file","path":"/f"},{"kind":"directory","path":"/d"}]"#;
        let trace = trace(&[load(1, 1, 0, directory), load(1, 1, 0, both), load(1, 1, 0, "")]);
        assert_eq!((trace.totals.loads, trace.totals.noted, trace.processes.all()[0].noted), (3, 1, 1));
    }

    #[test]
    fn a_failed_call_counts_as_failed() {
        let lines = [load(1, 1, 0, ""), load(1, 1, 0, "").replace("\"result\":1", "\"result\":0")];
        assert_eq!(trace(&lines).totals.failed, 1);
    }

    #[test]
    fn anchors_of_verified_chains_are_counted() {
        let verify = |ok: bool, anchor: &str| format!(r#"{{"e":"verify","pid":1,"ok":{ok},"anchor":{anchor}}}"#);
        let digest = |two: &str| format!("\"{}\"", two.repeat(32));
        let lines = [
            verify(true, &digest("AB")),
            verify(true, &digest("ab")),
            verify(false, &digest("cd")),
            verify(true, "null"),
            verify(true, "\"no digest\""),
        ];
        let trace = trace(&lines);
        assert_eq!(trace.anchors, BTreeMap::from([("ab".repeat(32), 2)]));
        assert_eq!((trace.totals.verifications, trace.totals.verified, trace.totals.anchors_unknown), (5, 4, 2));
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut trace = Trace::default();
        for number in 0..(entry::MAX as u32 + 10) {
            let line = load(number, 1, 0, &format!(r#","sources":[{{"kind":"file","path":"/{number}"}}]"#));
            reader::read(line.as_bytes(), |event| trace.take(event)).unwrap();
        }
        assert!(trace.not_listed);
        assert_eq!(trace.entries.all().count(), entry::MAX);
        assert_eq!(trace.totals.loads, entry::MAX as u64 + 10);
    }
}
