//! Every exit status of the command, in one place.

use std::process::ExitCode;

use windlass_doctor::report::Verdict;
use windlass_machine::FailureKind;

/// How the command ends, when it is not `run` passing on the status of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done.
    Success = 0,
    /// Something failed that has no status of its own, such as writing the output.
    Failure = 1,
    /// The command line was not understood. clap ends with the same number.
    Usage = 2,
    /// A source of trust is missing or can't be read.
    SourceUnreadable = 3,
    /// A source of trust was read, but holds something that Windlass does not accept.
    SourceUnsupported = 4,
    /// `compile --check` found a compiled store that is stale, or none.
    StoreStale = 5,
    /// A source lost so many anchors that `compile` did not believe it.
    StoreShrinks = 6,
    /// `doctor` found nothing worse than warnings.
    DoctorWarnings = 7,
    /// `doctor` found errors.
    DoctorErrors = 8,
    /// `doctor` found nothing, but could not look at everything.
    DoctorBlind = 9,
    /// A condition of `trace --fail-if` holds.
    TraceLimit = 10,
    /// `run` failed before it came to the program. 125 to 127 are those of env(1) and timeout(1).
    RunFailed = 125,
    /// `run` found the program, but could not execute it.
    NotExecutable = 126,
    /// `run` did not find the program.
    NotFound = 127,
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
        self as u8
    }

    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Failure => "any other failure, for example output that can't be written",
            Exit::Usage => "invalid command line",
            Exit::SourceUnreadable => "the source is missing or unreadable",
            Exit::SourceUnsupported => "the source holds something that Windlass does not accept",
            Exit::StoreStale => "with --check: a compiled store is stale or missing",
            Exit::StoreShrinks => "the source lost more than half of its anchors",
            Exit::DoctorWarnings => "the worst finding is a warning",
            Exit::DoctorErrors => "the worst finding is an error",
            Exit::DoctorBlind => "no findings, but not everything could be examined",
            Exit::TraceLimit => "a condition of --fail-if holds or can't be evaluated",
            Exit::RunFailed => "a required library or file can't be used",
            Exit::NotExecutable => "PROGRAM was found, but can't be executed",
            Exit::NotFound => "PROGRAM was not found",
        }
    }

    /// What it means of one subcommand, where more can be said.
    fn meaning_of(self, subcommand: &str) -> &'static str {
        match (self, subcommand) {
            (Exit::DoctorWarnings, "doctor") => {
                "the worst finding that counts is a warning, or a note with --fail-on note"
            }
            (Exit::DoctorBlind, "doctor") => "no finding counts, but not everything could be examined",
            (Exit::Failure, "prune") => "declined, nobody to ask, something was left in place, or any other failure",
            (Exit::Failure, "install" | "uninstall") => "declined, nobody to ask, or any other failure",
            (Exit::SourceUnreadable, "prune") => "a given PATH is missing or not a directory",
            (Exit::RunFailed, "run") => "the preload library, the counters or a file of --add-ca can't be used",
            (Exit::RunFailed, "trace") => "a library of Windlass or a report file can't be used",
            _ => self.meaning(),
        }
    }

    /// The subcommands that can end with it; all, if none is named.
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

    /// The exit statuses of a subcommand and their meanings, and a remark on them. The page of `cache clear` is named
    /// `cache-clear`; without a name, these are the statuses of all subcommands.
    pub fn table(page: &str) -> (Vec<(u8, String)>, Option<&'static str>) {
        let subcommand = page.split('-').next().unwrap_or_default();
        let is_one = !subcommand.is_empty();
        let can_be = |exit: &Exit| !is_one || exit.subcommands().is_empty() || exit.subcommands().contains(&subcommand);
        let meaning = |exit: Exit| match exit.subcommands() {
            _ if is_one => exit.meaning_of(subcommand).to_owned(),
            [] => exit.meaning().to_owned(),
            subcommands => format!("{}: {}", subcommands.join(", "), exit.meaning()),
        };
        let lines = Self::ALL.into_iter().filter(can_be).map(|exit| (exit.status(), meaning(exit)));
        let remark = (!is_one || RUN.contains(&subcommand)).then_some(TAIL);
        (lines.collect(), remark)
    }
}

const RUN: [&str; 2] = ["run", "trace"];
const TAIL: &str = "Once PROGRAM runs, `run` and `trace` end as PROGRAM does: with the same status or signal.";

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
        let (all, _) = Exit::table("");
        let mut seen = std::collections::BTreeSet::new();
        for exit in Exit::ALL {
            assert!(seen.insert(exit.status()), "{exit:?} repeats a status");
            let is_there = |table: &[(u8, String)], meaning: &str| {
                table.iter().any(|(status, said)| *status == exit.status() && said.ends_with(meaning))
            };
            assert!(is_there(&all, exit.meaning()), "{exit:?}");
            for subcommand in exit.subcommands() {
                let (table, _) = Exit::table(subcommand);
                assert!(is_there(&table, exit.meaning_of(subcommand)), "{subcommand}: {exit:?}");
            }
            assert_eq!(is_there(&Exit::table("install").0, ""), exit.subcommands().is_empty());
        }
        assert_eq!(Exit::table("cache-clear"), Exit::table("cache"));
    }
}
