//! The ledger: the opens of each process since the start of the watch.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use windlass_machine::processes::{Capture, Container, ProcessFacts, Served, Unseen};

use super::pending::Pending;
use super::series::{Labels, Series, Values};
use super::tally::{Open, Tally};
use super::who::{Seen, Who};

/// The most processes with a row of their own. Beyond that, the longest silent ones are summed up by program.
pub const ROWS: usize = 2048;
/// The most programs with a row of their own in those sums. A program's owner can give it any number of paths.
const PROGRAMS: usize = 1000;
/// How long facts about a process are waited for, before its opens go into a series without them.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a process without a TLS library is inspected again.
const LOOKS: u32 = 64;

/// One row: the facts and sums for a process or a group of processes.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The facts about the process; `None` if they are unknown, or not known yet.
    pub facts: Option<ProcessFacts>,
    /// Totals of everything that it opened.
    pub tally: Tally,
    /// Totals by source.
    pub sources: BTreeMap<usize, Tally>,
    /// The number of processes in this row.
    pub processes: u64,
    /// It makes its readers wait.
    pub unread: bool,
    /// Its container; only known if there are series.
    pub container: Container,
    /// What is in no series yet.
    unfolded: Values,
    last: Duration,
    looks: u32,
    has_tls_library: bool,
}

/// The counted opens of all processes.
#[derive(Debug, Default)]
pub struct Ledger {
    rows: HashMap<Who, Row>,
    /// How many of the rows are single processes, and how many are former processes of a program.
    processes: usize,
    programs: usize,
    /// The last row for each process id.
    latest: HashMap<u32, Who>,
    /// The ids of processes that ended too soon, to count each once.
    too_soon: HashSet<u32>,
    /// Captures of processes, until their executables are searched. The search takes a while, and is not done here.
    pub pending: Pending,
    /// Opens by Windlass's own command.
    pub left_out: u64,
    /// The counts by container, if they are wanted.
    pub series: Option<Series>,
}

impl Ledger {
    /// An empty ledger, with or without series.
    pub fn new(by_container: bool) -> Ledger {
        Ledger { series: by_container.then(Series::default), ..Ledger::default() }
    }

    /// The counted opens of all processes.
    pub fn rows(&self) -> impl Iterator<Item = (&Who, &Row)> {
        self.rows.iter()
    }

    /// Counts an open. Returns the process if more must be learned about it: the caller then captures it, without
    /// holding up this ledger.
    pub fn opened(&mut self, seen: Seen, source: usize, open: Open) -> Option<Who> {
        if seen.is_own {
            self.left_out += 1;
            return None;
        }
        let pid = seen.pid;
        // For an ended process: the last process with this id.
        let who = seen.who.or_else(|| self.latest.get(&pid).cloned()).unwrap_or(Who::TooSoon);
        let is_new = !self.rows.contains_key(&who);
        let row = self.rows.entry(who.clone()).or_default();
        row.tally.count(open);
        row.sources.entry(source).or_default().count(open);
        row.unfolded.count(open);
        row.last = open.at;
        match who {
            Who::Process { pid, .. } => {
                row.processes = 1;
                if is_new {
                    row.container = seen.container;
                    row.unfolded.processes = 1;
                }
                self.processes += usize::from(is_new);
                // Interpreters open files before they load the library. A library that is linked in never shows in this
                // way.
                let is_open = !row.has_tls_library && !row.unread && row.looks < LOOKS;
                row.looks += u32::from(is_open);
                self.latest.insert(pid, who.clone());
                if self.processes > ROWS {
                    self.sum_up();
                }
                return is_open.then_some(who);
            }
            Who::TooSoon if self.too_soon.insert(pid) => {
                row.processes += 1;
                row.unfolded.processes += 1;
            }
            Who::Outside => row.processes = 1,
            Who::TooSoon | Who::Former { .. } | Who::Others => {}
        }
        None
    }

    /// Whether a process has a row.
    pub fn has(&self, who: &Who) -> bool {
        self.rows.contains_key(who)
    }

    /// Counts how long a process held a file open.
    pub fn closed(&mut self, pid: u32, held: Duration) {
        let row = self.latest.get(&pid).and_then(|who| self.rows.get_mut(who));
        if let Some(row) = row {
            row.unfolded.closes += 1;
            row.unfolded.held += held;
        }
    }

    /// Puts into the series what was counted since the last call, with the facts that are known now.
    pub fn fold(&mut self, now: Duration) {
        let Some(series) = &mut self.series else { return };
        for (who, row) in &mut self.rows {
            let may_learn = row.facts.is_none() && !row.unread && matches!(who, Who::Process { .. });
            if !(may_learn && now.saturating_sub(row.last) < PATIENCE) {
                row.fold(who, series, now);
            }
        }
    }

    /// Keeps the capture of a process until its executable is searched.
    pub fn captured(&mut self, who: &Who, capture: Capture) {
        let Who::Process { start_time, exe, .. } = who else { return };
        if capture.start_time() != *start_time || capture.exe() != exe.as_deref() {
            return;
        }
        let Some(row) = self.rows.get_mut(who) else { return };
        row.has_tls_library |= capture.has_tls_library();
        self.pending.add(who, capture);
    }

    /// Records that a process made its reader wait.
    pub fn unread(&mut self, who: &Who) {
        if let Some(row) = self.rows.get_mut(who) {
            row.unread = true;
        }
    }

    /// Records the result of the search.
    pub fn learn(&mut self, who: &Who, facts: ProcessFacts) {
        let Some(row) = self.rows.get_mut(who) else { return };
        row.unread = facts.windlass == Served::Unknown(Unseen::Unread);
        // A later capture may have come too late.
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
        for (last, who) in processes.into_iter().take(ROWS / 4) {
            let Some(mut row) = self.rows.remove(&who) else { continue };
            if let Some(series) = &mut self.series {
                row.fold(&who, series, last);
            }
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
    /// The series in which this process counts.
    pub fn labels(&self, who: &Who) -> Labels {
        Labels::new(who, &self.container, self.facts.as_ref(), self.unread)
    }

    fn fold(&mut self, who: &Who, series: &mut Series, now: Duration) {
        if self.unfolded != Values::default() {
            let labels = self.labels(who);
            series.add(labels, std::mem::take(&mut self.unfolded), now);
        }
    }

    /// Adds the counts of another row; the facts are replaced by that row's.
    pub fn take_in(&mut self, other: Row) {
        self.tally.add(&other.tally);
        for (source, tally) in &other.sources {
            self.sources.entry(*source).or_default().add(tally);
        }
        self.processes += other.processes;
        self.unfolded.add(other.unfolded);
        self.unread |= other.unread;
        self.last = self.last.max(other.last);
        self.facts = other.facts.or_else(|| self.facts.take());
    }
}

#[cfg(test)]
mod tests {
    use super::super::who::Opener;
    use super::*;
    use windlass_machine::processes::{ExecutableId, Reason};

    fn seen(pid: u32, exe: &str) -> Seen {
        let who = Who::Process { pid, start_time: 1, exe: Some(exe.into()) };
        Seen { pid, who: Some(who), is_own: false, container: Container::default() }
    }

    const OPEN: Open = Open { size: Some(1), at: Duration::ZERO };

    #[test]
    fn many_programs_take_no_room_without_end() {
        let mut ledger = Ledger::default();
        let all = 5 * ROWS as u32;
        for pid in 1..=all {
            assert!(ledger.opened(seen(pid, &format!("/x/{pid}")), 0, OPEN).is_some());
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

    /// Opens, processes and the time that files were held open, of all series of this reason.
    fn counted(ledger: &Ledger, reason: &str) -> (u64, u64, u64) {
        let series = ledger.series.as_ref().unwrap().all().filter(|(labels, _)| labels.reason == reason);
        series.fold((0, 0, 0), |(opens, processes, held), (_, values)| {
            (opens + values.opens, processes + values.processes, held + values.held.as_secs())
        })
    }

    #[test]
    fn what_goes_into_a_series_stays_there() {
        let facts = |windlass| ProcessFacts {
            pid: 1,
            start_time: 1,
            uid: 0,
            exe: None,
            command: Vec::new(),
            libraries: Vec::new(),
            windlass,
        };
        let mut ledger = Ledger::new(true);
        let who = seen(1, "/x").who.unwrap();
        ledger.opened(seen(1, "/x"), 0, OPEN);
        ledger.closed(1, Duration::from_secs(3));
        ledger.closed(2, Duration::from_secs(100));
        ledger.fold(Duration::from_secs(1));
        assert_eq!(ledger.series.as_ref().unwrap().all().count(), 0, "the facts may still come");
        ledger.learn(&who, facts(Served::No(Reason::NoTlsLibrary)));
        ledger.fold(Duration::from_secs(1));
        ledger.fold(Duration::from_secs(2));
        assert_eq!(counted(&ledger, "no-tls-library"), (1, 1, 3));
        // It has loaded a library since.
        ledger.learn(&who, facts(Served::No(Reason::NotPreloaded)));
        ledger.opened(seen(1, "/x"), 0, OPEN);
        ledger.fold(Duration::from_secs(3));
        assert_eq!(counted(&ledger, "no-tls-library"), (1, 1, 3));
        assert_eq!(counted(&ledger, "not-preloaded"), (1, 0, 0));
        // Of this one nothing will ever be known.
        ledger.opened(seen(2, "/y"), 0, OPEN);
        ledger.fold(PATIENCE);
        assert_eq!(counted(&ledger, "gone"), (1, 1, 0));
    }

    #[test]
    fn rows_that_are_summed_up_are_in_the_series_before() {
        let mut ledger = Ledger::new(true);
        let all = 5 * ROWS as u32;
        for pid in 1..=all {
            ledger.opened(seen(pid, &format!("/x/{pid}")), 0, OPEN);
        }
        assert!(counted(&ledger, "gone").0 >= u64::from(all) - ROWS as u64);
        ledger.fold(Duration::from_secs(100));
        assert_eq!(counted(&ledger, "gone"), (u64::from(all), u64::from(all), 0));
    }

    #[test]
    fn only_this_very_program_is_left_out() {
        let own = ExecutableId::of(std::process::id());
        let opener = |pid| Opener { pid, process: None, has_pidfd: false };
        assert!(own.is_some() && opener(std::process::id()).look(own, |_| false).is_own);
        assert!(!opener(std::process::id()).look(None, |_| false).is_own);
        assert!(!opener(std::os::unix::process::parent_id()).look(own, |_| false).is_own);
        let mut ledger = Ledger::default();
        assert!(ledger.opened(opener(std::process::id()).look(own, |_| false), 0, OPEN).is_none());
        assert_eq!((ledger.left_out, ledger.rows().count()), (1, 0));
    }
}
