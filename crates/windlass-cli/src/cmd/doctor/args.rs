//! Arguments and help of `windlass doctor`.

use std::path::PathBuf;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use windlass_doctor::check::Severity;
use windlass_doctor::registry;

pub const ABOUT: &str = "\
Check the trust stores of this machine, and the settings that make programs use other stores. Report each problem, \
its cost, and its remedy. Nothing is changed, and no program is run.

As root, doctor also sees the files of all users and the environment of running processes. Costs are measured now, \
with this machine's libcrypto. A finding whose cost can't be measured has none.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass doctor", ""),
            Example("windlass doctor --list", ""),
            Example("windlass doctor --explain double-load", ""),
            Example("windlass doctor --check expired,duplicates --json", ""),
            Example("windlass doctor --root /mnt/image --no-measure", ""),
            Example("windlass doctor --skip processes,private-bundle", ""),
            Example("windlass doctor --sarif > windlass.sarif", ""),
            Example("windlass doctor --write-baseline windlass.json", ""),
            Example("windlass doctor --baseline windlass.json", ""),
        ],
    ),
    section(
        "",
        &[
            Text(
                "In CI, the exit status is that of the worst finding that counts. `windlass doctor --fail-on error` \
             fails on errors only. Notes are not faults: they count only with --fail-on note. If something could \
             not be examined (9), the check fails in any case, since problems there are unknown.",
            ),
            Text(
                "A baseline is a list of accepted findings. With --baseline, only new findings are reported and \
             counted for the exit status. A known finding is new again if it has become worse or if something \
             was added to it, for example one more expired certificate. Costs, counts and line numbers don't \
             matter.",
            ),
            Text(
                "With --root, all paths, including symbolic links, are resolved within DIR. The check named \
             processes does not run, and the environment of this command is not examined. The libcrypto of this \
             machine decides what a certificate is. Remedies apply inside the image, except for commands that \
             name DIR.",
            ),
        ],
    ),
    section(
        "Environment",
        &[Item(
            "SSL_CERT_FILE, SSL_CERT_DIR",
            "These and similar variables are examined by the check environment-overrides. They do not change \
             where the other checks look.",
        )],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object:"),
            SCHEMA,
            Item("root", "the directory of --root, or null"),
            Item(
                "summary",
                "{checks, errors, warnings, notes, known, not_seen, needs_root}: checks that ran; new findings by \
             severity; findings in the baseline; things that could not be examined; how many of these only root \
             can examine",
            ),
            List(
                "checks",
                "those that ran, each with",
                &[
                    Item("id", "as in --list"),
                    Item("title", "as in --list"),
                    Item("severity", "of its worst findings: \"error\", \"warning\" or \"note\""),
                    List(
                        "findings",
                        "each with",
                        &[
                            Item("severity", "of this finding"),
                            Item("known", "whether it is in the baseline"),
                            Item("path", "the file or directory that it is about, or null"),
                            Item("line", "in that file, from 1, or null"),
                            Item("what", "the problem"),
                            Item("facts", "details: certificates, file names; the first 100 of them"),
                            Item("more_facts", "number of further details"),
                            Item("reason", "why it matters"),
                            Item("remedy", "what to do"),
                            Item(
                                "cost",
                                "null, or {nanoseconds, runs, per, what, library}: nanoseconds is the median CPU time \
                                 of so many runs, per \"context\"; the field what names the measured action, \
                                 library the libcrypto",
                            ),
                        ],
                    ),
                ],
            ),
            Item("not_seen", "each {path, why, needs_root}; the first 1,000 of them"),
        ],
    ),
    section(
        "Output of --sarif",
        &[Text(
            "SARIF 2.1.0 (OASIS). Paths are relative to the base ROOT. Each result has a location: a finding \
             that is not about a file has the /proc/PID/environ or the executable where it was seen. Findings in \
             the baseline are suppressed (kind external). A result has a fingerprint, \
             primaryLocationLineHash, of its check, its path and what a baseline knows it by: it stays the same from \
             one build of an image to the next.",
        )],
    ),
    section(
        "Output of --write-baseline",
        &[
            Text("One JSON object in FILE. FILE is replaced atomically."),
            Item("schema", "1; any other number is refused"),
            Item(
                "findings",
                "each {check, severity, path, about}: path is null if there is none; about has the parts that stay \
             the same: fingerprints of certificates, file names, variables",
            ),
        ],
    ),
];

/// Arguments of `windlass doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON instead of text
    #[arg(long, conflicts_with = "sarif")]
    pub json: bool,

    /// Print a SARIF log instead of text
    #[arg(long)]
    pub sarif: bool,

    /// Check the image in DIR instead of this machine
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Run only these checks (repeatable)
    #[arg(long = "check", value_name = "CHECK,...", value_delimiter = ',')]
    #[arg(value_parser = names(), hide_possible_values = true)]
    pub checks: Vec<String>,

    /// Do not run these checks (repeatable)
    #[arg(long, value_name = "CHECK,...", value_delimiter = ',', value_parser = names(), hide_possible_values = true)]
    pub skip: Vec<String>,

    /// Report only findings that are not in the baseline FILE
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write all findings to FILE as a baseline, and accept them
    ///
    /// The findings written do not count for the exit status.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "baseline")]
    pub write_baseline: Option<PathBuf>,

    /// The least severe findings that count for the exit status
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    pub fail_on: FailOn,

    /// Do not measure the cost of findings
    #[arg(long)]
    pub no_measure: bool,

    /// Explain one check, and run none
    #[arg(long, value_name = "CHECK", value_parser = names(), hide_possible_values = true)]
    #[arg(conflicts_with_all = ["json", "sarif", "list"], conflicts_with_all = OF_A_RUN)]
    pub explain: Option<String>,

    /// List all checks, and run none
    #[arg(long, conflicts_with = "sarif", conflicts_with_all = OF_A_RUN)]
    pub list: bool,
}

/// Options that mean nothing where no check runs.
const OF_A_RUN: [&str; 6] = ["root", "checks", "skip", "baseline", "write_baseline", "no_measure"];

/// What counts for the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Every finding
    Note,
}

impl FailOn {
    /// The least severity that counts.
    pub fn severity(self) -> Severity {
        match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        }
    }
}

/// The names of all checks: completions have them, and an error lists them.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(registry::all().map(|check| check.id))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_json_has_as_much_as_it_says() {
        assert_eq!(windlass_doctor::check::MAX_UNSEEN, 1000);
        assert!(format!("{:?}", super::HELP).contains("needs_root}; the first 1,000 of them"));
    }
}
