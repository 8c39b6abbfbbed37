//! Arguments and help of `windlass top`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

use clap::{Args, ValueEnum};
use windlass_top::snapshot;

pub const ABOUT: &str = "\
Show which processes on this machine open CA bundles and hashed directories: how often, how many bytes, with which \
TLS library, and whether Windlass serves them.

The kernel reports each open (fanotify). No process is changed, slowed down or stopped. This needs root \
(CAP_SYS_ADMIN). Other users see only what /proc shows now: which processes have a TLS library, which of these files \
they hold open, and whether Windlass is loaded in them.

On a terminal, the table is refreshed in place: q quits, s changes the order, p groups processes by program. Without \
a terminal it is printed once: at the end of --duration, or after SIGINT or SIGTERM. Without root it is printed at \
once, and --duration and --interval have no effect.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass top", "refresh until q is pressed"),
            Example("windlass top --once", "watch for two seconds, then print"),
            Example("windlass top --duration 3600 --by program", "list the programs of an hour"),
            Example("windlass top --json --interval 10", "print a line of JSON every ten seconds"),
            Example("windlass top --watch /opt/app/ca.pem --once", "watch one more bundle"),
            Example("windlass top --metrics 9753 --duration 3600", "serve metrics for Prometheus for an hour"),
        ],
    ),
    section(
        "",
        &[
            Text(
                "Windlass watches the files and directories of OpenSSL and GnuTLS, and the private bundles of \
             Python, Java, .NET, NSS and others that it finds, in this root directory and in those of containers \
             and chroots. A file that is replaced is still watched. A container that starts is found within a \
             second.",
            ),
            Text(
                "BYTES is the size of the opened files. If a process opens the same file twice before windlass sees \
             the first open, both count as one; programs that parse the file take longer than that. A process \
             that has already ended when windlass examines it is counted, with the facts that are known.",
            ),
        ],
    ),
    section(
        "Output of --metrics",
        &[
            Text(
                "OpenMetrics text at http://ADDRESS/metrics. A port alone means 127.0.0.1; 0.0.0.0:9753 and [::]:9753 \
                 are reached from outside. Nothing is printed but the address, on standard error. It needs root.",
            ),
            Text(
                "Each of these has the labels pod_uid and container_id (empty outside of containers, \"other\" for \
                 containers beyond the limit), library (\"none\" without a TLS library), linkage, served (\"yes\", \
                 \"no\" or \"unknown\") and reason:",
            ),
            Item("windlass_opens_total", "files opened"),
            Item("windlass_listings_total", "directories opened"),
            Item("windlass_opened_bytes_total", "total size of these files"),
            Item("windlass_processes_total", "processes that opened a source"),
            Item("windlass_running_processes", "those that still run"),
            Item("windlass_closes_total", "closes of files of which the open was seen"),
            Item("windlass_held_open_seconds_total", "time between these opens and closes"),
            Text("The others are about the watch:"),
            Item("windlass_event_overflows_total", "how often events were lost"),
            Item("windlass_watch_failed", "1 if events could not be read"),
            Item("windlass_unread_processes", "processes that were not searched for TLS libraries"),
            Item("windlass_own_opens_total", "opens by windlass itself"),
            Item("windlass_watched_sources", "by kind, \"file\" or \"directory\""),
            Item("windlass_sources_left_out", "by what, \"places\", \"directories\" or \"roots\""),
            Item("windlass_containers", "containers that have metrics of their own"),
            Item("windlass_container_series", "their label sets"),
            Item("windlass_container_series_limit", "the most of these"),
            Item("windlass_start_time_seconds", "when the watch began"),
            Item("windlass_build_info", "by version"),
        ],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object; with --interval, one object on one line for each interval:"),
            SCHEMA,
            Item("watched", "whether opens were watched; if not, this is what /proc shows"),
            Item("why_not_watched", "the reason, or null"),
            Item("seconds", "time since the start of watching; all counts begin there"),
            List(
                "missed",
                "what is known to be missing:",
                &[
                    Item("overflows", "how often events were lost"),
                    Item("failed", "why events could not be read, or null; if it is set, the exit status is a failure"),
                    Item(
                        "left_out",
                        "{places, directories, roots}: numbers of places and homes, of directories with too many \
                         files, \
                 and of root directories that are not watched",
                    ),
                    Item("processes", "processes that this user may not examine"),
                    Item(
                        "unread",
                        "processes that were not searched for TLS libraries, because they are too large or block \
                         readers",
                    ),
                    Item("own_opens", "opens by windlass itself"),
                ],
            ),
            Item("totals", "{processes, opens, listings, bytes}"),
            Item("by", "\"process\" or \"program\""),
            List(
                "rows",
                "most expensive first, each with",
                &[
                    Item("pid", "or null, for several processes or for one outside this pid namespace"),
                    Item("processes", "number of processes in this row"),
                    Item("uid", "null if they differ"),
                    Item("user", "null if they differ"),
                    Item("exe", "the executable"),
                    Item("command", "all arguments of a process"),
                    Item("unknown", "why nothing is known of these processes, or null"),
                    Item("opens", "files opened; this field and the next three are null if opens were not watched"),
                    Item("listings", "directories opened"),
                    Item("bytes", "total size of these files"),
                    Item("opens_per_minute", "in the last minute; in the first minute, extrapolated"),
                    Item("open_descriptors", "descriptors open on a source now; null if opens were watched"),
                    Item(
                        "libraries",
                        "[{name, kind, version, linkage, path, whole}]: name is for people; linkage is \"dynamic\" or \
                 \"static\"; whole is false if only libcrypto is there",
                    ),
                    Item("windlass", "{served, reason, words}: served is true, false, or null if unknown"),
                    Item("sources", "[{path, mount_namespace, opens, listings, bytes}]"),
                ],
            ),
            Item(
                "sources",
                "what is watched: [{path, kind, why, mount_namespace, files, opens, listings, bytes}]; kind is \
             \"file\" or \"directory\"; files is the number of files in a directory; mount_namespace is null in \
             this root directory",
            ),
        ],
    ),
];

/// Arguments of `windlass top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Watch this file or directory as well (repeatable)
    ///
    /// It is looked for in containers and chroots, too. With --metrics it need not exist here.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub watch: Vec<PathBuf>,

    /// Print a row for each process or for each program
    #[arg(long, value_enum, value_name = "UNIT", default_value_t = By::Process)]
    pub by: By,

    /// Sort rows by this column
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Sort::Bytes)]
    pub sort: Sort,

    /// Watch for one interval, print, and exit
    #[arg(long, conflicts_with = "duration")]
    pub once: bool,

    /// Exit after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,

    /// Refresh after this time [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    pub interval: Option<Duration>,

    /// Print JSON instead of a table
    ///
    /// With --interval, print one line for each interval.
    #[arg(long)]
    pub json: bool,

    /// Serve metrics at this address instead of printing
    ///
    /// ADDRESS is a port of 127.0.0.1, or an IP address with a port.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    #[arg(conflicts_with_all = ["json", "once", "interval", "by", "sort"])]
    pub metrics: Option<SocketAddr>,

    /// Keep the metrics of an ended container for this time [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "metrics")]
    pub keep: Option<Duration>,
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// One process
    Process,
    /// All processes of one executable
    Program,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Total size of the files opened, which programs have to parse
    Bytes,
    /// Number of files opened
    Opens,
    /// Number of files opened in the last minute
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

fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = "not a port, and not an IP address with a port, as in 9753, 0.0.0.0:9753 or [::1]:9753";
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    // A manifest with `[$(POD_IP)]:9753` does not know which kind of address a pod gets: brackets fit both.
    let in_brackets = text.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    match in_brackets.and_then(|(ip, port)| Some((ip.parse::<Ipv4Addr>().ok()?, port.parse().ok()?))) {
        Some(version_4) => Ok(version_4.into()),
        None => text.parse().map_err(|_| wrong.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, address_of) in [
            ("9753", "127.0.0.1:9753"),
            ("0", "127.0.0.1:0"),
            ("[::1]:9753", "[::1]:9753"),
            ("10.0.0.7:9753", "10.0.0.7:9753"),
            ("[10.0.0.7]:9753", "10.0.0.7:9753"),
        ] {
            assert_eq!(address(text), Ok(address_of.parse().unwrap()));
        }
        // In Go's notation `:9753` means all addresses: nobody gets these by mistake.
        for wrong in ["", ":9753", "localhost:9753", "65536", "127.0.0.1", "::1:9753", "[10.0.0.7]", "[10.0.0.7]:x"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

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
