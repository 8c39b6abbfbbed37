//! Arguments and help of `windlass doctor`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use windlass_doctor::check::Severity;
use windlass_doctor::registry;

pub const ABOUT: &str = "\
Look at the trust stores of this machine and at what makes programs use others, and say what is wrong, what it costs, and \
what to do. Nothing is changed, and no program is run.

As root it also sees the files of all users and the environment of running processes. Costs are measured here and now, with \
this machine's libcrypto; what can't be measured has none.";

pub const HELP: &str = "\
Examples:
  windlass doctor
  windlass doctor --list
  windlass doctor --explain double-load
  windlass doctor --check expired,duplicates --json
  windlass doctor --root /mnt/image --no-measure
  windlass doctor --skip processes,private-bundle
  windlass doctor --sarif > windlass.sarif
  windlass doctor --write-baseline windlass.json
  windlass doctor --baseline windlass.json

For CI: the exit status tells the worst finding that counts. `windlass doctor --fail-on error` fails
on errors only. Notes are no faults: they count with --fail-on note alone. What could not be looked
at (9) fails in any case, as nobody knows what is there.

A baseline holds what was found once, and is accepted: --baseline reports what is new, and the exit
status counts that alone. New is also a finding that has become worse, or to which something was
added, such as one more expired certificate. Costs, counts and line numbers do not matter.

With --root, paths are those within DIR, links included. The check processes does not run then, and
nothing is said of the environment of this command. The libcrypto of this machine decides what a
certificate is. Remedies are meant inside the image, but for commands that name DIR.

Environment:
  SSL_CERT_FILE, SSL_CERT_DIR and their kind are looked at by the check environment-overrides, and
  change nothing about where the others look

Output of --json, one object:
  schema    1; a larger number means a change that readers must know of
  root      the directory of --root, or null
  summary   {checks, errors, warnings, notes, known, not_seen, needs_root}: checks that ran, new
            findings by severity, findings that the baseline has, things that could not be looked
            at, and those that only root can look at
  checks    those that ran, each with
    id, title  as in --list
    severity   of its worst findings: \"error\", \"warning\" or \"note\"
    findings   each with
      severity   of this one
      known      whether the baseline has it
      path       what it is about, or null
      line       in that file, from 1, or null
      what       what is so
      facts      particulars: certificates, file names; the first 100 of them
      more_facts how many there are besides
      reason     why it matters
      remedy     what to do
      cost       null, or {nanoseconds, runs, per, what, library}: CPU time, the median of so many
                 runs, paid for each \"context\", by doing this, with this library
  not_seen  each {path, why, needs_root}; the first 1,000 of them

Output of --sarif: SARIF 2.1.0 (OASIS). Paths are relative to the base ROOT. Each result has a
location: of what is not about a file the /proc/PID/environ or the executable where it was seen.
What the baseline has is suppressed (kind external).

Output of --write-baseline, one object in FILE, which is replaced at once:
  schema    1; another number is refused
  findings  each {check, severity, path, about}: path is null if there is none, about has what stays
            the same of the rest: fingerprints of certificates, file names, variables
";

/// Arguments of `windlass doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print everything as JSON
    #[arg(long, conflicts_with = "sarif")]
    pub json: bool,

    /// Print the findings as a SARIF log
    #[arg(long)]
    pub sarif: bool,

    /// Look at the image below DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Run only these checks; may be given several times
    #[arg(long = "check", value_name = "CHECK,...", value_delimiter = ',', value_parser = names(), hide_possible_values = true)]
    pub checks: Vec<String>,

    /// Do not run these checks; may be given several times
    #[arg(long, value_name = "CHECK,...", value_delimiter = ',', value_parser = names(), hide_possible_values = true)]
    pub skip: Vec<String>,

    /// Report only what FILE does not have
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write all that is found to FILE, as a baseline, and do not fail because of it
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "baseline")]
    pub write_baseline: Option<PathBuf>,

    /// The least severe finding that the exit status counts
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    pub fail_on: FailOn,

    /// Do not measure what findings cost
    #[arg(long)]
    pub no_measure: bool,

    /// Say all about one check, and look at nothing
    #[arg(long, value_name = "CHECK", value_parser = names(), hide_possible_values = true)]
    #[arg(conflicts_with_all = ["json", "sarif", "root", "checks", "skip", "baseline", "write_baseline", "no_measure", "list"])]
    pub explain: Option<String>,

    /// List all checks, and look at nothing
    #[arg(long, conflicts_with_all = ["sarif", "root", "checks", "skip", "baseline", "write_baseline", "no_measure"])]
    pub list: bool,
}

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
    /// The least that counts.
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
        assert!(super::HELP.contains("needs_root}; the first 1,000 of them"));
    }
}
