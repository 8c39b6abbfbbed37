//! What a check is, and what it finds.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::measure::Cost;

/// One thing that the doctor looks for. Each is a constant in a file of its own.
#[derive(Debug)]
pub struct Check {
    /// By which it is named everywhere: lower-case words with hyphens. It never changes its meaning.
    pub id: &'static str,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// Of the worst that it finds. A finding may be less.
    pub severity: Severity,
    /// What is wrong about it, how it comes about, and how it is told from what only looks like it. Paragraphs are
    /// separated by an empty line, and are not broken into lines.
    pub explanation: &'static str,
    /// Looks. It must not change anything, nor follow what others put into its way: see [`Machine::read`].
    pub run: fn(&Machine<'_>, &mut Outcome),
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know: nobody needs to do anything.
    Note,
    /// Costs time, or will surprise somebody.
    Warning,
    /// A program trusts nothing, or not what is meant.
    Error,
}

/// What a check found, and what it could not look at.
#[derive(Debug, Default)]
pub struct Outcome {
    /// In the order in which they are shown.
    pub findings: Vec<Finding>,
    /// Where the check could not look.
    pub unseen: Unseens,
}

/// A list of what could not be looked at, each thing once. It may be long: the first ones are kept, all are counted.
#[derive(Debug, Default)]
pub struct Unseens {
    shown: Vec<Unseen>,
    known: HashSet<Unseen>,
    /// Those that are not kept, and whether only root could look there. One that was met twice counts twice.
    more: [usize; 2],
}

/// One fault, worded for the person who reads it. Text may hold what strangers wrote: whoever prints it escapes it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// At most that of the check.
    pub severity: Severity,
    /// What it is about: a path as programs on the machine name it, without that of `--root`.
    pub path: Option<PathBuf>,
    /// Where it can be seen, if it is not about a path: a file of /proc, or an executable.
    pub seen_at: Option<PathBuf>,
    /// In that file, from 1.
    pub line: Option<u64>,
    /// What it is about besides the path, in words that stay the same from run to run: fingerprints, file names, a
    /// variable with its value. By these a baseline tells a finding that has grown.
    pub about: Vec<String>,
    /// Whether the baseline has it.
    pub is_known: bool,
    /// What is so: a sentence without a full stop, that can stand behind the path.
    pub what: String,
    /// Particulars, one a line: certificates, file names.
    pub facts: Facts,
    /// The effect of the problem, for people.
    pub reason: String,
    /// The remedy, for people.
    pub remedy: String,
    /// Of what is found, measured here and now.
    pub cost: Option<Cost>,
}

/// A list that may be long. All are counted, and a few are kept.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The first facts, up to a limit.
    pub shown: Vec<String>,
    /// Those that are not kept.
    pub more: usize,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unseen {
    /// The path that could not be examined.
    pub path: PathBuf,
    /// The reason, for people.
    pub why: String,
    /// Only root could. That is no failure of a doctor who is not root.
    pub needs_root: bool,
}

/// So many particulars are kept of one finding.
const MAX_FACTS: usize = 100;
/// So many things are kept that could not be looked at: a user can make any number of them.
pub const MAX_UNSEEN: usize = 1000;

impl Severity {
    /// The severity with this name.
    pub fn named(name: &str) -> Option<Severity> {
        [Severity::Note, Severity::Warning, Severity::Error].into_iter().find(|severity| severity.name() == name)
    }

    /// As SARIF calls it (3.27.10), and everything else here.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Finding {
    /// A finding about `path`, of which `what` is so.
    pub fn new(severity: Severity, path: impl Into<PathBuf>, what: impl Into<String>) -> Finding {
        Finding { path: Some(path.into()), ..Finding::of_machine(severity, what) }
    }

    /// A finding that no one path stands for.
    pub fn of_machine(severity: Severity, what: impl Into<String>) -> Finding {
        Finding {
            severity,
            path: None,
            seen_at: None,
            line: None,
            about: Vec::new(),
            is_known: false,
            what: what.into(),
            facts: Facts::default(),
            reason: String::new(),
            remedy: String::new(),
            cost: None,
        }
    }

    /// Says where it can be seen.
    pub fn seen_at(self, path: impl Into<PathBuf>) -> Finding {
        Finding { seen_at: Some(path.into()), ..self }
    }

    /// The line that it is about.
    pub fn at_line(self, line: Option<u64>) -> Finding {
        Finding { line, ..self }
    }

    /// Says what it is about besides the path.
    pub fn about(mut self, about: impl IntoIterator<Item = String>) -> Finding {
        self.about.extend(about);
        self
    }

    /// Adds details, such as certificates and file names.
    pub fn facts(mut self, facts: impl IntoIterator<Item = String>) -> Finding {
        facts.into_iter().for_each(|fact| self.facts.add(fact));
        self
    }

    /// Sets the effect of the problem.
    pub fn reason(self, reason: impl Into<String>) -> Finding {
        Finding { reason: reason.into(), ..self }
    }

    /// Sets the remedy.
    pub fn remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    /// Says what it costs, if that could be measured.
    pub fn cost(self, cost: Option<Cost>) -> Finding {
        Finding { cost, ..self }
    }
}

impl Facts {
    /// Adds a fact.
    pub fn add(&mut self, fact: String) {
        if self.shown.len() < MAX_FACTS { self.shown.push(fact) } else { self.more += 1 }
    }
}

impl Outcome {
    /// Adds a finding.
    pub fn found(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Notes what could not be looked at. Several checks look at the same files: each says it once.
    pub fn not_seen(&mut self, unseen: Unseen) {
        self.unseen.add(unseen);
    }

    /// The value, or a note of what could not be looked at.
    pub fn seen<T>(&mut self, looked: Result<T, Unseen>) -> Option<T> {
        looked.map_err(|unseen| self.not_seen(unseen)).ok()
    }
}

impl Unseens {
    /// One more, if it is not known already.
    pub fn add(&mut self, unseen: Unseen) {
        if self.known.contains(&unseen) {
            return;
        }
        if self.shown.len() == MAX_UNSEEN {
            self.more[usize::from(unseen.needs_root)] += 1;
            return;
        }
        self.known.insert(unseen.clone());
        self.shown.push(unseen);
    }

    /// Appends another list.
    pub fn extend(&mut self, other: &Unseens) {
        other.shown.iter().for_each(|unseen| self.add(unseen.clone()));
        self.more.iter_mut().zip(other.more).for_each(|(more, others)| *more += others);
    }

    /// Those that are kept, in the order in which they were met.
    pub fn shown(&self) -> &[Unseen] {
        &self.shown
    }

    /// All, the ones that are not kept too.
    pub fn count(&self) -> usize {
        self.shown.len() + self.more.iter().sum::<usize>()
    }

    /// Those of all that only root could look at.
    pub fn need_root(&self) -> usize {
        self.shown.iter().filter(|unseen| unseen.needs_root).count() + self.more[1]
    }
}

impl Unseen {
    /// For `why`, as an operating system or a reader says it.
    pub fn new(path: &Path, why: impl std::fmt::Display) -> Unseen {
        Unseen { path: path.to_owned(), why: why.to_string(), needs_root: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_counted_not_kept() {
        let finding = Finding::of_machine(Severity::Note, "x").facts((0..MAX_FACTS + 7).map(|n| n.to_string()));
        assert_eq!((finding.facts.shown.len(), finding.facts.more), (MAX_FACTS, 7));
    }

    #[test]
    fn what_was_not_seen_is_told_once_and_not_kept_without_end() {
        let one = |number: usize| Unseen { needs_root: number % 2 == 1, ..Unseen::new(Path::new("/a"), number) };
        let mut outcome = Outcome::default();
        for number in (0..MAX_UNSEEN + 7).chain(0..5) {
            outcome.not_seen(one(number));
        }
        let unseen = &outcome.unseen;
        assert_eq!((unseen.shown().len(), unseen.count()), (MAX_UNSEEN, MAX_UNSEEN + 7));
        assert_eq!(unseen.need_root(), MAX_UNSEEN / 2 + 3);
        assert_eq!(MAX_UNSEEN, 1000);
        let mut all = Unseens::default();
        all.extend(unseen);
        all.add(one(3));
        assert_eq!((all.shown().len(), all.count(), all.need_root()), (MAX_UNSEEN, MAX_UNSEEN + 7, MAX_UNSEEN / 2 + 3));
    }

    #[test]
    fn severities_are_in_order() {
        assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
    }
}
