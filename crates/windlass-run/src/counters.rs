//! The counters of a process tree, as `run --stats` reports them.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_machine::shell::quoted;

use super::add_ca::report::AddCa;
use super::parent::Ending;

/// The sections of the preload library's adapters, which count certificates (adapters/preload, labels.rs).
pub const ADAPTERS: [&str; 2] = ["openssl", "gnutls"];
/// In the first of them: processes in which any part of the library did something.
pub const PROCESSES: &str = "processes";
/// In each of them: loads that the added certificates went into.
const LOADS_WITH_ADDED_CA: &str = "loads-with-added-ca";
/// The section that counts served calls by function.
pub const SERVED: &str = "served";
/// The section that counts bypassed calls by reason.
pub const BYPASS: &str = "bypass";

/// The results of a run, for both output formats. The field names are those of the JSON, which `windlass run --help`
/// documents.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    /// The program, as named on the command line.
    pub program: String,
    /// The whole command, quoted for a shell.
    #[serde(skip)]
    pub command: String,
    /// The exit status; exactly one of this and `signal` is a number.
    pub exit_status: Option<u8>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Totals.
    pub summary: Summary,
    /// Why the library can't have reached the program; None if nothing is known against it.
    pub unreachable: Option<String>,
    /// Every counter, by section and name.
    pub counters: Counters,
    /// The effects of `--add-ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_ca: Option<AddCa>,
}

/// Counters by section and name: the part before the first slash, and the part after it.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// Totals of a run.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Processes in which the preload library did something.
    pub processes: u64,
    /// Calls answered from shared root stores.
    pub served: u64,
    /// Calls left to the original function.
    pub bypassed: u64,
    /// Certificates that the served calls would have parsed without Windlass.
    pub certificates: u64,
    /// Certificates that were parsed.
    pub parsed: u64,
    /// Certificates that did not have to be parsed.
    pub saved: u64,
}

impl Report {
    /// Builds the report from a snapshot of the counters.
    pub fn new(
        command: &[String],
        ending: Ending,
        unreachable: Option<String>,
        snapshot: Vec<(String, u64)>,
    ) -> Report {
        let mut counters = Counters::new();
        for (label, value) in snapshot {
            let (section, name) = label.split_once('/').unwrap_or(("other", &label));
            *counters.entry(section.to_owned()).or_default().entry(name.to_owned()).or_default() += value;
        }
        let (exit_status, signal) = ending.parts();
        let summary = Summary::of(&counters);
        let (program, command) = (command.first().cloned().unwrap_or_default(), quoted(command));
        Report { schema: 1, program, command, exit_status, signal, summary, unreachable, counters, add_ca: None }
    }
}

impl Report {
    /// Adds the effects of `--add-ca`.
    pub fn add_ca(&mut self, mut added: AddCa) {
        added.loads = of_adapters(&self.counters, LOADS_WITH_ADDED_CA);
        self.add_ca = Some(added);
    }
}

fn of_adapters(counters: &Counters, name: &str) -> u64 {
    ADAPTERS.iter().filter_map(|section| counters.get(*section)?.get(name)).sum()
}

impl Summary {
    fn of(counters: &Counters) -> Summary {
        let sum = |section: &str| counters.get(section).map_or(0, |names| names.values().sum());
        let adapters = |name: &str| of_adapters(counters, name);
        let (certificates, parsed) = (adapters("certificates-registered"), adapters("certificates-parsed"));
        Summary {
            processes: adapters(PROCESSES),
            served: sum(SERVED),
            bypassed: sum(BYPASS),
            certificates,
            parsed,
            saved: certificates.saturating_sub(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(snapshot: &[(&str, u64)]) -> Report {
        let snapshot = snapshot.iter().map(|(label, value)| ((*label).to_owned(), *value)).collect();
        Report::new(&[String::from("p")], Ending::Exited(0), None, snapshot)
    }

    #[test]
    fn totals_are_taken_over_sections() {
        let report = report(&[
            ("openssl/processes", 2),
            ("served/a", 3),
            ("served/b", 4),
            ("bypass/disabled", 5),
            ("openssl/certificates-registered", 1000),
            ("openssl/certificates-parsed", 10),
            ("gnutls/certificates-registered", 144),
            ("gnutls/certificates-parsed", 2),
        ]);
        let expected = Summary { processes: 2, served: 7, bypassed: 5, certificates: 1144, parsed: 12, saved: 1132 };
        assert_eq!(report.summary, expected);
    }

    #[test]
    fn a_label_without_a_section_is_kept() {
        assert_eq!(report(&[("odd", 1)]).counters["other"]["odd"], 1);
    }
}
