//! Every exit status of the command, in one place.

use std::process::ExitCode;

use windlass_doctor::report::Verdict;
use windlass_machine::FailureKind;

/// How the command ends, when it is not `run` passing on the status of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Success,
    /// Something failed that has no status of its own, such as writing the output.
    Failure,
    /// The command line was not understood. clap ends with the same number.
    Usage,
    /// A source of trust is missing or can't be read.
    SourceUnreadable,
    /// A source of trust was read, but holds something that Windlass does not accept.
    SourceUnsupported,
    /// `compile --check` found a compiled store that is stale, or none.
    StoreStale,
    /// A source lost so many anchors that `compile` did not believe it.
    StoreShrinks,
    /// `doctor` found nothing worse than warnings.
    DoctorWarnings,
    /// `doctor` found errors.
    DoctorErrors,
    /// `doctor` found nothing, but could not look at everything.
    DoctorBlind,
    /// A condition of `trace --fail-if` holds.
    TraceLimit,
    /// `run` failed before it came to the program. 125 to 127 are those of env(1) and timeout(1).
    RunFailed,
    /// `run` found the program, but could not execute it.
    NotExecutable,
    /// `run` did not find the program.
    NotFound,
}

impl Exit {
    /// All of them, in the order in which the help text lists them.
    pub const ALL: [Exit; 14] = [
        Exit::Success,
        Exit::Failure,
        Exit::Usage,
        Exit::SourceUnreadable,
        Exit::SourceUnsupported,
        Exit::StoreStale,
        Exit::StoreShrinks,
        Exit::DoctorWarnings,
        Exit::DoctorErrors,
        Exit::DoctorBlind,
        Exit::TraceLimit,
        Exit::RunFailed,
        Exit::NotExecutable,
        Exit::NotFound,
    ];

    /// The number that the parent process sees.
    pub const fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::SourceUnreadable => 3,
            Exit::SourceUnsupported => 4,
            Exit::StoreStale => 5,
            Exit::StoreShrinks => 6,
            Exit::DoctorWarnings => 7,
            Exit::DoctorErrors => 8,
            Exit::DoctorBlind => 9,
            Exit::TraceLimit => 10,
            Exit::RunFailed => 125,
            Exit::NotExecutable => 126,
            Exit::NotFound => 127,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Failure => "another failure, such as output that can't be written",
            Exit::Usage => "the command line was not understood",
            Exit::SourceUnreadable => "the source is missing or can't be read",
            Exit::SourceUnsupported => "the source holds something that Windlass does not accept",
            Exit::StoreStale => "with --check: a compiled store is stale or missing",
            Exit::StoreShrinks => "the source lost more than half of its anchors",
            Exit::DoctorWarnings => "the worst finding is a warning",
            Exit::DoctorErrors => "the worst finding is an error",
            Exit::DoctorBlind => "nothing was found, but not everything could be looked at",
            Exit::TraceLimit => "a condition of --fail-if holds, or can't be judged",
            Exit::RunFailed => "a library or a file that is needed can't be used",
            Exit::NotExecutable => "PROGRAM was found, but can't be executed",
            Exit::NotFound => "PROGRAM was not found",
        }
    }

    /// What it means of one subcommand, where more can be said.
    fn meaning_of(self, subcommand: &str) -> &'static str {
        match (self, subcommand) {
            (Exit::DoctorWarnings, "doctor") => {
                "the worst finding that counts is a warning, or a note (--fail-on note)"
            }
            (Exit::DoctorBlind, "doctor") => "nothing was found that counts, but not everything could be looked at",
            (Exit::Failure, "prune") => "not agreed to, nobody to ask, something was left alone, or another failure",
            (Exit::Failure, "install" | "uninstall") => "not agreed to, nobody to ask, or another failure",
            (Exit::SourceUnreadable, "prune") => "a PATH that was named is missing, or no directory",
            (Exit::RunFailed, "run") => "the preload library, the counters or a file of --add-ca can't be used",
            (Exit::RunFailed, "trace") => "a library of Windlass or a file for a report can't be used",
            _ => self.meaning(),
        }
    }

    /// The subcommands that can end so; all, if none is named.
    const fn subcommands(self) -> &'static [&'static str] {
        match self {
            Exit::Success | Exit::Failure | Exit::Usage => &[],
            Exit::SourceUnreadable => &["ls", "compile", "top", "prune"],
            Exit::SourceUnsupported => &["ls", "compile"],
            Exit::StoreStale | Exit::StoreShrinks => &["compile"],
            Exit::DoctorWarnings | Exit::DoctorErrors | Exit::DoctorBlind => &["doctor"],
            Exit::TraceLimit => &["trace"],
            Exit::RunFailed | Exit::NotExecutable | Exit::NotFound => &RUN,
        }
    }

    /// The section of the help text that documents all exit statuses.
    pub fn help() -> String {
        let line = |exit: Exit| match exit.subcommands() {
            [] => exit.line(exit.meaning()),
            subcommands => exit.line(&format!("{}: {}", subcommands.join(", "), exit.meaning())),
        };
        format!("{HEAD}{}\n{TAIL}", Self::ALL.map(line).concat())
    }

    /// The same for one subcommand.
    pub fn help_of(subcommand: &str) -> String {
        let can_be = |exit: &Exit| exit.subcommands().is_empty() || exit.subcommands().contains(&subcommand);
        let lines: String =
            Self::ALL.into_iter().filter(can_be).map(|exit| exit.line(exit.meaning_of(subcommand))).collect();
        if RUN.contains(&subcommand) { format!("{HEAD}{lines}\n{TAIL}") } else { format!("{HEAD}{lines}") }
    }

    fn line(self, meaning: &str) -> String {
        format!("  {:>3}  {meaning}\n", self.status())
    }
}

const RUN: [&str; 2] = ["run", "trace"];
const HEAD: &str = "Exit status:\n";
const TAIL: &str = "Once PROGRAM runs, `run` and `trace` end as PROGRAM does: same status, or same signal.";

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Healthy => Exit::Success,
            Verdict::Warnings => Exit::DoctorWarnings,
            Verdict::Errors => Exit::DoctorErrors,
            Verdict::Blind => Exit::DoctorBlind,
        }
    }
}

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Other => Exit::Failure,
            FailureKind::Usage => Exit::Usage,
            FailureKind::SourceUnreadable => Exit::SourceUnreadable,
            FailureKind::SourceUnsupported => Exit::SourceUnsupported,
            FailureKind::StoreShrinks => Exit::StoreShrinks,
            FailureKind::RunFailed => Exit::RunFailed,
            FailureKind::NotExecutable => Exit::NotExecutable,
            FailureKind::NotFound => Exit::NotFound,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_distinct_and_all_documented() {
        let help = Exit::help();
        let mut seen = std::collections::BTreeSet::new();
        for exit in Exit::ALL {
            assert!(seen.insert(exit.status()), "{exit:?} repeats a status");
            let is_there = |help: &str, meaning: &str| {
                let start = format!("  {:>3}  ", exit.status());
                help.lines().any(|line| line.starts_with(&start) && line.ends_with(meaning))
            };
            assert!(is_there(&help, exit.meaning()), "{exit:?}");
            for subcommand in exit.subcommands() {
                assert!(is_there(&Exit::help_of(subcommand), exit.meaning_of(subcommand)), "{subcommand}: {exit:?}");
            }
            assert_eq!(is_there(&Exit::help_of("install"), ""), exit.subcommands().is_empty());
        }
    }
}
