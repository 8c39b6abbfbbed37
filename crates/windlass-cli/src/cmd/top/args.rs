//! Arguments and help of `windlass top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_top::snapshot;

pub const ABOUT: &str = "\
Watch who on this machine opens CA bundles and hashed directories: which processes, how often, how much, with which TLS \
library, and whether Windlass serves them.

The kernel reports each open (fanotify); no process is touched, slowed or kept waiting. That needs root (CAP_SYS_ADMIN). \
Without it, only what /proc shows is printed: which processes have a TLS library, what they hold open now, and whether \
Windlass is in them.

On a terminal the table is refreshed in place: q ends, s changes the order, p puts processes together by program. \
Elsewhere it is printed once, at the end of --duration, or after SIGINT or SIGTERM; without root at once, as there is nothing to \
wait for: --duration and --interval mean nothing then.";

pub const HELP: &str = "\
Examples:
  windlass top                                   live, until q is pressed
  windlass top --once                            watches for two seconds, then prints
  windlass top --duration 3600 --by program      the programs of an hour
  windlass top --json --interval 10              one line of JSON every ten seconds
  windlass top --watch /opt/app/ca.pem --once    a bundle that is known to nobody

Watched are the files and directories of OpenSSL and GnuTLS, and the private ones of Python, Java,
.NET, NSS and others that are found, in this root directory and in those of containers and chroots.
A file that is replaced is watched on; a container that starts is found within a second.

BYTES is the size of what was opened. Two opens of one file by one process count as one when they
come before this program has seen the first: programs that parse what they open are slower.
A process that has ended when it is looked at is counted, with what is known of it.

Output of --json, one object; with --interval, one object on a line each time:
  schema           1; a larger number means a change that readers must know of
  watched          whether opens were watched, or only /proc was looked at
  why_not_watched  why they were not, or null
  seconds          from the start of the watching; all counts are from there
  missed           what is known to be missing:
    overflows         how often events were lost
    failed            why events could not be read, or null; the exit status is a failure then
    left_out          {places, directories, roots}: more than is watched of places and homes, of
                      directories that have too many files, of root directories
    processes         that this user may not look into
    unread            processes that were not searched for TLS libraries: they are too large, or
                      keep whoever looks waiting
    own_opens         opens by windlass itself
  totals           {processes, opens, listings, bytes}
  by               \"process\" or \"program\"
  rows             most expensive first, each with
    pid               or null, for several processes or none of this pid namespace
    processes         how many these are
    uid, user         null where they differ
    exe, command      the executable, and all arguments of a process
    unknown           why nothing is known of these processes, or null
    opens             files that were opened; null where opens were not watched, as the next three
    listings          directories that were opened
    bytes             sizes of these files
    opens_per_minute  in the last minute; in the first, as if it went on so
    open_descriptors  descriptors open on a source now; null where opens were watched
    libraries         [{name, kind, version, linkage, path, whole}]: name is for people; linkage is
                      \"dynamic\" or \"static\"; whole is false where only libcrypto is there
    windlass          {served, reason, words}: true, false, or null if it is not known
    sources           [{path, mount_namespace, opens, listings, bytes}]
  sources          what is watched: [{path, kind, why, mount_namespace, files, opens, listings,
                   bytes}]; kind is \"file\" or \"directory\", files are those of a directory;
                   mount_namespace is null in this root directory
";

/// Arguments of `windlass top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Watch this file or directory as well; may be given several times
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub watch: Vec<PathBuf>,

    /// A line for each process, or for each program
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Process)]
    pub by: By,

    /// What comes first
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Sort::Bytes)]
    pub sort: Sort,

    /// Watch for one interval, print, and end
    #[arg(long, conflicts_with = "duration")]
    pub once: bool,

    /// End after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,

    /// Time between two refreshes [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    pub interval: Option<Duration>,

    /// Print everything as JSON; a line for each interval, if that is given
    #[arg(long)]
    pub json: bool,
}

/// What a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A process
    Process,
    /// All processes of an executable
    Program,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Sizes of the files that were opened: what programs have to parse
    Bytes,
    /// Number of files that were opened
    Opens,
    /// The same in the last minute
    Rate,
}

impl From<By> for snapshot::By {
    fn from(by: By) -> Self {
        match by {
            By::Process => snapshot::By::Process,
            By::Program => snapshot::By::Program,
        }
    }
}

impl From<Sort> for snapshot::Sort {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Bytes => snapshot::Sort::Bytes,
            Sort::Opens => snapshot::Sort::Opens,
            Sort::Rate => snapshot::Sort::Rate,
        }
    }
}

/// A year is long enough, and fits every clock.
const LONGEST: f64 = 366.0 * 86400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err("not a time between 0 and a year".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn interval(text: &str) -> Result<Duration, String> {
    seconds(text)
        .and_then(|time| if time < Duration::from_millis(100) { Err("less than 0.1".to_owned()) } else { Ok(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        for wrong in ["", "x", "-1", "NaN", "inf", "1e300", "2s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert!(interval("0").is_err() && interval("0.1").is_ok());
    }
}
