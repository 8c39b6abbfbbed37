//! Who opened what, since the start of the watching.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::descriptor::Descriptor;
use super::tally::{Open, Tally};
use crate::processes::{self, Capture, Images, ProcessFacts, Served};

/// Processes that have a row of their own. Of more, those that were silent longest are summed up by program.
const ROWS: usize = 2048;
/// Executables that are held open until somebody looks into them.
const OPEN: usize = 128;

/// How often a process is looked at again that has no TLS library.
const LOOKS: u32 = 64;

/// Who a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// One process, until it starts another program.
    Process { pid: u32, start_time: u64, exe: Option<PathBuf> },
    /// Processes that had a row, by their program.
    Former { exe: Option<PathBuf> },
    /// Processes that had ended before anything was known of them but their numbers.
    TooSoon,
    /// Processes of another pid namespace, which have no number here.
    Outside,
}

/// What is known of one of them.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What it is; `None` where nothing is known, or not yet.
    pub facts: Option<ProcessFacts>,
    /// All that it opened.
    pub tally: Tally,
    /// The same, by source.
    pub sources: BTreeMap<usize, Tally>,
    /// How many processes these are.
    pub processes: u64,
    last: Duration,
    looks: u32,
    has_tls_library: bool,
}

/// All rows.
#[derive(Debug)]
pub struct Ledger {
    started: Instant,
    rows: HashMap<Who, Row>,
    /// The last row of a process number.
    latest: HashMap<u32, Who>,
    /// Numbers of the processes that ended too soon, to count each once.
    too_soon: HashSet<u32>,
    pending: Vec<(Who, Capture)>,
    own: Option<PathBuf>,
    left_out: u64,
    overflows: u64,
}

/// An open, and what the kernel says of who did it.
#[derive(Debug)]
pub struct Opener {
    /// The number of the process; 0 if it has none here.
    pub pid: u32,
    /// What names the process for good.
    pub process: Option<Descriptor>,
    /// Whether the kernel gives that at all.
    pub has_pidfd: bool,
}

impl Ledger {
    /// An empty one.
    pub fn new() -> Ledger {
        Ledger {
            started: Instant::now(),
            rows: HashMap::new(),
            latest: HashMap::new(),
            too_soon: HashSet::new(),
            pending: Vec::new(),
            own: processes::executable(std::process::id()),
            left_out: 0,
            overflows: 0,
        }
    }

    /// How long it has been kept.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = (&Who, &Row)> {
        self.rows.iter()
    }

    /// Opens by Windlass' own command.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How often the kernel's queue was full.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Events were lost.
    pub fn overflow(&mut self) {
        self.overflows += 1;
    }

    /// Counts an open. The first of a process makes a row, and takes what goes away with the process.
    pub fn opened(&mut self, opener: &Opener, source: usize, size: Option<u64>) {
        let who = self.who(opener);
        if matches!(&who, Who::Process { exe: Some(exe), .. } if self.own.as_deref() == Some(exe)) {
            self.left_out += 1;
            return;
        }
        let open = Open { size, at: self.elapsed() };
        let row = self.rows.entry(who.clone()).or_default();
        row.tally.count(open);
        row.sources.entry(source).or_default().count(open);
        row.last = open.at;
        match who {
            Who::Process { pid, .. } => {
                row.processes = 1;
                // Interpreters open files before they load the library. One that is linked in will never be seen so.
                if !row.has_tls_library && row.looks < LOOKS {
                    row.looks += 1;
                    self.capture(pid, &who);
                }
                self.latest.insert(pid, who);
            }
            Who::TooSoon if self.too_soon.insert(opener.pid) => row.processes += 1,
            Who::Outside => row.processes = 1,
            Who::TooSoon | Who::Former { .. } => {}
        }
        if self.rows.len() > ROWS {
            self.sum_up();
        }
    }

    /// What was taken of processes, and has to be looked into. That takes a while, so it is not done here.
    pub fn pending(&mut self) -> Vec<(Who, Capture)> {
        std::mem::take(&mut self.pending)
    }

    /// The result of that.
    pub fn learn(&mut self, who: &Who, facts: ProcessFacts) {
        let Some(row) = self.rows.get_mut(who) else { return };
        // A later look may have come too late.
        let is_known = row.facts.as_ref().is_some_and(|facts| !matches!(facts.windlass, Served::Unknown(_)));
        if !(is_known && matches!(facts.windlass, Served::Unknown(_))) {
            row.facts = Some(facts);
        }
    }

    fn who(&self, opener: &Opener) -> Who {
        let pid = opener.pid;
        if pid == 0 {
            return Who::Outside;
        }
        let found = processes::identity(pid).map(|(start_time, exe)| Who::Process { pid, start_time, exe });
        // Only now: what was read is of the process that opened, if that is still there.
        let is_there = match &opener.process {
            Some(process) => process.names_a_process(),
            None => !opener.has_pidfd,
        };
        // An ended process is the one that last had its number here.
        let found = found.filter(|who| is_there && !is_zombie(who)).or_else(|| self.latest.get(&pid).cloned());
        found.unwrap_or(Who::TooSoon)
    }

    fn capture(&mut self, pid: u32, who: &Who) {
        let Some(mut capture) = Capture::of(pid) else { return };
        let Who::Process { start_time, exe, .. } = who else { return };
        if capture.start_time() != *start_time || capture.exe() != exe.as_deref() {
            return;
        }
        if let Some(row) = self.rows.get_mut(who) {
            row.has_tls_library |= capture.has_tls_library();
        }
        self.pending.retain(|(known, _)| known != who);
        if self.pending.len() >= OPEN {
            capture.let_go();
        }
        if self.pending.len() < ROWS {
            self.pending.push((who.clone(), capture));
        }
    }

    fn sum_up(&mut self) {
        let mut processes: Vec<_> = self
            .rows
            .iter()
            .filter(|(who, _)| matches!(who, Who::Process { .. }))
            .map(|(who, row)| (row.last, who.clone()))
            .collect();
        processes.sort();
        for (_, who) in processes.into_iter().take(ROWS / 4) {
            let Some(row) = self.rows.remove(&who) else { continue };
            let Who::Process { pid, exe, .. } = &who else { continue };
            if self.latest.get(pid) == Some(&who) {
                self.latest.remove(pid);
            }
            self.rows.entry(Who::Former { exe: exe.clone() }).or_default().take_in(row);
        }
    }
}

impl Row {
    /// Adds what another row has; what it is about is as that one says.
    pub fn take_in(&mut self, other: Row) {
        self.tally.add(&other.tally);
        for (source, tally) in &other.sources {
            self.sources.entry(*source).or_default().add(tally);
        }
        self.processes += other.processes;
        self.last = self.last.max(other.last);
        self.facts = other.facts.or_else(|| self.facts.take());
    }
}

/// A process that has ended has no executable any more, nor has a kernel thread; nothing was learned from looking at it.
fn is_zombie(who: &Who) -> bool {
    matches!(who, Who::Process { exe: None, .. })
}

/// Looks into what is pending.
pub fn look_into(pending: Vec<(Who, Capture)>, images: &mut Images) -> Vec<(Who, ProcessFacts)> {
    pending.into_iter().map(|(who, capture)| (who, capture.facts(images))).collect()
}

/// The last part of a path, or all of it.
pub fn base(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
