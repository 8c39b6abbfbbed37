//! Who opened what, since the start of the watching.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use windlass_machine::processes::{Capture, ProcessFacts, Served, Unseen};

use super::pending::{Captures, Pending};
use super::tally::{Open, Tally};
use super::who::{Seen, Who};

/// Processes that have a row of their own. Of more, those that were silent longest are summed up by program.
pub const ROWS: usize = 2048;
/// Programs that have a row of their own then. A path is whatever its owner calls it.
const PROGRAMS: usize = 1000;
/// How often a process is looked at again that has no TLS library.
const LOOKS: u32 = 64;

/// What is known of one of them.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What it is; `None` where nothing is known, or not yet.
    pub facts: Option<ProcessFacts>,
    /// Totals of everything that it opened.
    pub tally: Tally,
    /// Totals by source.
    pub sources: BTreeMap<usize, Tally>,
    /// How many processes these are.
    pub processes: u64,
    /// It makes whoever looks at it wait.
    pub unread: bool,
    last: Duration,
    looks: u32,
    has_tls_library: bool,
}

/// The counted opens of all processes.
#[derive(Debug)]
pub struct Ledger {
    started: Instant,
    rows: HashMap<Who, Row>,
    /// How many of them are of one process, and of the former ones of a program.
    processes: usize,
    programs: usize,
    /// The last row of a process number.
    latest: HashMap<u32, Who>,
    /// Numbers of the processes that ended too soon, to count each once.
    too_soon: HashSet<u32>,
    pending: Pending,
    left_out: u64,
    overflows: u64,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Ledger {
        Ledger {
            started: Instant::now(),
            rows: HashMap::new(),
            latest: HashMap::new(),
            too_soon: HashSet::new(),
            pending: Pending::default(),
            processes: 0,
            programs: 0,
            left_out: 0,
            overflows: 0,
        }
    }

    /// How long it has been kept.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The counted opens of all processes.
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

    /// Counts an open. Gives the process, if more has to be known of it: the caller captures it, without keeping this
    /// one waiting.
    pub fn opened(&mut self, seen: Seen, source: usize, size: Option<u64>) -> Option<Who> {
        if seen.is_own {
            self.left_out += 1;
            return None;
        }
        let pid = seen.pid;
        // An ended process is the one that last had its number here.
        let who = seen.who.or_else(|| self.latest.get(&pid).cloned()).unwrap_or(Who::TooSoon);
        let open = Open { size, at: self.elapsed() };
        let is_new = !self.rows.contains_key(&who);
        let row = self.rows.entry(who.clone()).or_default();
        row.tally.count(open);
        row.sources.entry(source).or_default().count(open);
        row.last = open.at;
        match who {
            Who::Process { pid, .. } => {
                row.processes = 1;
                self.processes += usize::from(is_new);
                // Interpreters open files before they load the library. One that is linked in will never be seen so.
                let is_open = !row.has_tls_library && !row.unread && row.looks < LOOKS;
                row.looks += u32::from(is_open);
                self.latest.insert(pid, who.clone());
                if self.processes > ROWS {
                    self.sum_up();
                }
                return is_open.then_some(who);
            }
            Who::TooSoon if self.too_soon.insert(pid) => row.processes += 1,
            Who::Outside => row.processes = 1,
            Who::TooSoon | Who::Former { .. } | Who::Others => {}
        }
        None
    }

    /// Keeps what was captured of a process, until somebody looks into it.
    pub fn captured(&mut self, who: &Who, capture: Capture) {
        let Who::Process { start_time, exe, .. } = who else { return };
        if capture.start_time() != *start_time || capture.exe() != exe.as_deref() {
            return;
        }
        let Some(row) = self.rows.get_mut(who) else { return };
        row.has_tls_library |= capture.has_tls_library();
        self.pending.add(who, capture);
    }

    /// A process made whoever looked at it wait.
    pub fn unread(&mut self, who: &Who) {
        if let Some(row) = self.rows.get_mut(who) {
            row.unread = true;
        }
    }

    /// What was taken of processes, and has to be looked into. That takes a while, so it is not done here.
    pub fn pending(&mut self) -> Captures {
        self.pending.take()
    }

    /// What could not be looked into this time.
    pub fn put_back(&mut self, rest: Captures) {
        self.pending.put_back(rest);
    }

    /// The result of that.
    pub fn learn(&mut self, who: &Who, facts: ProcessFacts) {
        let Some(row) = self.rows.get_mut(who) else { return };
        row.unread = facts.windlass == Served::Unknown(Unseen::Unread);
        // A later look may have come too late.
        let is_known = row.facts.as_ref().is_some_and(|facts| !matches!(facts.windlass, Served::Unknown(_)));
        if !(is_known && matches!(facts.windlass, Served::Unknown(_))) {
            row.facts = Some(facts);
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
            self.processes -= 1;
            let Who::Process { pid, exe, .. } = &who else { continue };
            if self.latest.get(pid) == Some(&who) {
                self.latest.remove(pid);
            }
            let mut former = Who::Former { exe: exe.clone() };
            if !self.rows.contains_key(&former) {
                match self.programs < PROGRAMS {
                    true => self.programs += 1,
                    false => former = Who::Others,
                }
            }
            self.rows.entry(former).or_default().take_in(row);
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
        self.unread |= other.unread;
        self.last = self.last.max(other.last);
        self.facts = other.facts.or_else(|| self.facts.take());
    }
}

#[cfg(test)]
mod tests {
    use super::super::who::Opener;
    use super::*;
    use windlass_machine::processes::ExecutableId;

    fn seen(pid: u32, exe: &str) -> Seen {
        Seen { pid, who: Some(Who::Process { pid, start_time: 1, exe: Some(exe.into()) }), is_own: false }
    }

    #[test]
    fn many_programs_take_no_room_without_end() {
        let mut ledger = Ledger::new();
        let all = 5 * ROWS as u32;
        for pid in 1..=all {
            assert!(ledger.opened(seen(pid, &format!("/x/{pid}")), 0, Some(1)).is_some());
        }
        let count = |is_it: fn(&Who) -> bool| ledger.rows().filter(|(who, _)| is_it(who)).count();
        let (former, others) = (count(|who| matches!(who, Who::Former { .. })), count(|who| *who == Who::Others));
        assert_eq!((former, others, ledger.programs), (PROGRAMS, 1, PROGRAMS));
        assert_eq!(count(|who| matches!(who, Who::Process { .. })), ledger.processes);
        assert!(ledger.processes <= ROWS && ledger.latest.len() == ledger.processes);
        let sum = ledger
            .rows()
            .fold((0, 0), |(opens, processes), (_, row)| (opens + row.tally.opens, processes + row.processes));
        assert_eq!(sum, (u64::from(all), u64::from(all)));
    }

    #[test]
    fn only_this_very_program_is_left_out() {
        let own = ExecutableId::of(std::process::id());
        let opener = |pid| Opener { pid, process: None, has_pidfd: false };
        assert!(own.is_some() && opener(std::process::id()).look(own).is_own);
        assert!(!opener(std::process::id()).look(None).is_own);
        assert!(!opener(std::os::unix::process::parent_id()).look(own).is_own);
        let mut ledger = Ledger::new();
        assert!(ledger.opened(opener(std::process::id()).look(own), 0, Some(1)).is_none());
        assert_eq!((ledger.left_out(), ledger.rows().count()), (1, 0));
    }
}
