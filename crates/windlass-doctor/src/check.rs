//! The definition of a check, and its findings. What is serialized is the JSON that `windlass doctor --help` documents.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_machine::processes::lossy;

use super::machine::Machine;
use super::measure::Cost;

/// One fault that the doctor looks for. Each check is a constant in a file of its own.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Its identifier everywhere: lower-case words with hyphens. The meaning of an identifier never changes.
    pub id: &'static str,
    /// The fault, in a few words.
    pub title: &'static str,
    /// The highest severity of its findings.
    pub severity: Severity,
    /// Why the fault matters, how it comes about, and how it differs from similar situations. Paragraphs are separated
    /// by an empty line, and are not broken into lines.
    pub explanation: &'static str,
    /// Runs the check. It must not change anything, nor follow paths that others control: see [`Machine::read`].
    #[serde(skip)]
    pub run: fn(&Machine<'_>, &mut Outcome),
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information: no action is needed.
    Note,
    /// Costs time, or will surprise somebody.
    Warning,
    /// A program trusts nothing, or trusts other certificates than intended.
    Error,
}

/// The findings of a check, and the paths it could not examine.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings, in display order.
    pub findings: Vec<Finding>,
    /// The paths that the check could not examine.
    pub unseen: Unseens,
}

/// The paths that could not be examined, each once. The list may be long: the first ones are kept, all are counted.
#[derive(Debug, Default)]
pub struct Unseens {
    shown: Vec<Unseen>,
    known: HashSet<Unseen>,
    /// The number of entries that are not kept, by whether only root could examine them. Repeated ones count again.
    more: [usize; 2],
}

/// One fault, worded for the user. The text may contain strangers' input: the output code escapes it.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// At most the severity of the check.
    pub severity: Severity,
    /// Whether it is in the baseline.
    #[serde(rename = "known")]
    pub is_known: bool,
    /// The subject: a path as programs on the machine name it, without the directory of `--root`.
    #[serde(serialize_with = "lossy::option")]
    pub path: Option<PathBuf>,
    /// Where the fault shows, if it is not about a path: a file of /proc, or an executable.
    #[serde(skip)]
    pub seen_at: Option<PathBuf>,
    /// The line in that file, from 1.
    pub line: Option<u64>,
    /// The subject besides the path, in words that stay the same from run to run: fingerprints, file names, a variable
    /// with its value. By these, a baseline recognises a finding that has grown.
    #[serde(skip)]
    pub about: Vec<String>,
    /// The fault: a sentence without a full stop, which can follow the path.
    pub what: String,
    /// Details, one per line: certificates, file names.
    #[serde(flatten)]
    pub facts: Facts,
    /// The effect of the fault, for display.
    pub reason: String,
    /// The remedy, for display.
    pub remedy: String,
    /// The cost of the fault, measured here and now.
    pub cost: Option<Cost>,
}

/// A list that may be long. All entries are counted, and a few are kept.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The first facts, up to a limit.
    #[serde(rename = "facts")]
    pub shown: Vec<String>,
    /// The number of entries that are not kept.
    #[serde(rename = "more_facts")]
    pub more: usize,
}

/// A path that could not be examined.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Unseen {
    /// The path that could not be examined.
    #[serde(serialize_with = "lossy::path")]
    pub path: PathBuf,
    /// The reason, for display.
    pub why: String,
    /// Only root could examine it. For a doctor without root's rights, this is not a failure.
    pub needs_root: bool,
}

/// The most details kept for one finding.
const MAX_FACTS: usize = 100;
/// The most unexamined paths kept: a user can make any number of them.
pub const MAX_UNSEEN: usize = 1000;

impl Severity {
    /// The severity with this name.
    pub fn named(name: &str) -> Option<Severity> {
        [Severity::Note, Severity::Warning, Severity::Error].into_iter().find(|severity| severity.name() == name)
    }

    /// The name, as in SARIF (3.27.10) and in all other output.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Finding {
    /// A finding about `path`, with the fault `what`.
    pub fn new(severity: Severity, path: impl Into<PathBuf>, what: impl Into<String>) -> Finding {
        Finding { path: Some(path.into()), ..Finding::of_machine(severity, what) }
    }

    /// A finding that is not about one path.
    pub fn of_machine(severity: Severity, what: impl Into<String>) -> Finding {
        Finding {
            severity,
            is_known: false,
            path: None,
            seen_at: None,
            line: None,
            about: Vec::new(),
            what: what.into(),
            facts: Facts::default(),
            reason: String::new(),
            remedy: String::new(),
            cost: None,
        }
    }

    /// Sets the file in which the fault shows.
    pub fn seen_at(self, path: impl Into<PathBuf>) -> Finding {
        Finding { seen_at: Some(path.into()), ..self }
    }

    /// Sets the line.
    pub fn at_line(self, line: Option<u64>) -> Finding {
        Finding { line, ..self }
    }

    /// Sets the subject besides the path.
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

    /// Sets the cost, if it could be measured.
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

    /// Adds a path that could not be examined. Several checks read the same files: each records it once.
    pub fn not_seen(&mut self, unseen: Unseen) {
        self.unseen.add(unseen);
    }

    /// The value; or None, with the path recorded as unexamined.
    pub fn seen<T>(&mut self, looked: Result<T, Unseen>) -> Option<T> {
        looked.map_err(|unseen| self.not_seen(unseen)).ok()
    }
}

impl Unseens {
    /// Adds an entry, unless it is in the list already.
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

    /// The entries that are kept, in the order of their occurrence.
    pub fn shown(&self) -> &[Unseen] {
        &self.shown
    }

    /// The number of all entries, including those that are not kept.
    pub fn count(&self) -> usize {
        self.shown.len() + self.more.iter().sum::<usize>()
    }

    /// The number of entries that only root could examine.
    pub fn need_root(&self) -> usize {
        self.shown.iter().filter(|unseen| unseen.needs_root).count() + self.more[1]
    }
}

impl Unseen {
    /// With the reason `why`, in the words of an operating system or a reader.
    pub fn new(path: &Path, why: impl std::fmt::Display) -> Unseen {
        Unseen { path: path.to_owned(), why: why.to_string(), needs_root: false }
    }
}

/// `1 link leads nowhere`, `2 links lead nowhere`: a number, and the words behind it for one, and for several.
pub fn counted(count: usize, [one, several]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
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
