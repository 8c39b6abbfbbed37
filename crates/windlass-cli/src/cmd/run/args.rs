//! Arguments and help of `windlass run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::help::Block::{Example, Item, Text};
use crate::help::{SCHEMA, Section, section};

pub const ABOUT: &str = "\
Run PROGRAM with the Windlass preload library. PROGRAM and its child processes then load CA certificates once per \
process, \
instead of once per TLS context.

PROGRAM keeps its standard streams, signals and exit status. Without --stats and --add-ca, windlass replaces itself \
with \
PROGRAM. With either of them it stays as the parent process, passes signals on (except real-time signals), and ends as \
PROGRAM ends. If LD_PRELOAD is already set, its libraries are kept, after this one.

With --add-ca, PROGRAM and its child processes also trust the certificates in FILE; no other process does. Tests can \
use \
it instead of installing a certificate. No trust store is changed. Afterwards nothing is left, except possibly an \
empty \
directory windlass-UID in /tmp (see TMPDIR).";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass run -- python3 app.py", ""),
            Example("windlass run --stats -- curl -sS -o /dev/null https://example.org", ""),
            Example("windlass run --stats=json --stats-file=stats.json -- make check", ""),
            Example("windlass run --add-ca test-ca.pem -- make check", ""),
        ],
    ),
    section(
        "",
        &[
            Text(
                "The library can't reach programs that are static, setuid or setgid, have file capabilities, are built \
                 for another architecture or C library, or have OpenSSL or GnuTLS linked into them. They run \
                 unchanged. If PROGRAM is one of them, the report of --stats says so, and why, if the executable \
                 shows it.",
            ),
            Text(
                "Child processes inherit the library through LD_PRELOAD. A child that can't be reached is not served, \
                 and the report does not name it. If it is built for another architecture or C library, the dynamic \
                 linker may print that it can't preload the library.",
            ),
        ],
    ),
    section(
        "Environment",
        &[
            Item(
                "WINDLASS_PRELOAD_LIBRARY",
                "The library to use, instead of libwindlass_preload.so beside windlass, in ../lib/windlass or in \
                 ../lib/TRIPLET/windlass.",
            ),
            Item(
                "WINDLASS_MAX_AGE",
                "How many seconds a loaded source may be used (default 86400; 0: never keep it; -1: no limit). A \
                 source that changed is read again at once, whatever its age.",
            ),
            Item(
                "WINDLASS_FOLLOW",
                "If 1, a program that keeps its TLS context trusts what its sources hold now, not what they held when \
                 it loaded them (OpenSSL only).",
            ),
            Item("WINDLASS_STORE", "The only directory in which the library looks for compiled stores."),
            Item(
                "WINDLASS_DISABLE",
                "If 1, the library does nothing; --add-ca then works only through the variables below.",
            ),
            Item(
                "TMPDIR",
                "The directory for the files of --add-ca while PROGRAM runs (default: /run for root; for other users \
                 XDG_RUNTIME_DIR, or else windlass-UID in /tmp, which is not removed).",
            ),
        ],
    ),
    section(
        "Variables that --add-ca sets",
        &[
            Text(
                "SSL_CERT_FILE, REQUESTS_CA_BUNDLE, PIP_CERT, GIT_SSL_CAINFO, AWS_CA_BUNDLE, CARGO_HTTP_CAINFO and \
                 GRPC_DEFAULT_SSL_ROOTS_FILE_PATH name a file with the certificates of FILE and those that the \
                 variable named before, or else the machine's own roots. Some other variables are set likewise, but \
                 only if they are set already.",
            ),
            Text(
                "NODE_EXTRA_CA_CERTS, DENO_CERT and WINDLASS_ADD_CA name FILE, for programs that trust it in addition \
                 to their own roots.",
            ),
            Text(
                "JDK_JAVA_OPTIONS names a trust store, if Java is installed. The java command prints a line that says \
                 it has read this variable.",
            ),
        ],
    ),
    section(
        "Report of --stats=json",
        &[
            Text("One JSON object on one line:"),
            SCHEMA,
            Item("program", "PROGRAM as given"),
            Item("exit_status", "of PROGRAM, or null if a signal ended it"),
            Item("signal", "the number of that signal, or null"),
            Item(
                "summary",
                "{processes, served, bypassed, certificates, parsed, saved}: processes that loaded CA certificates; \
                 calls served and bypassed; certificates that those calls stood for, that were parsed, and that were \
                 not",
            ),
            Item(
                "unreachable",
                "why the library can't have reached PROGRAM, or found no TLS library to serve in it, if that is \
                 known; else null",
            ),
            Item(
                "counters",
                "every counter by section and name: {served: {function: calls}, bypass: {reason: calls}, cache: \
                 {...}, ...}; more may be added",
            ),
            Item(
                "add_ca",
                "with --add-ca: {certificates: [{subject, sha256_fingerprint, file}], loads, variables: {name: file}, \
                 left: {name: reason}}: loads counts the loads of OpenSSL and GnuTLS that the certificates were added \
                 to; left has the variables that were not changed, and why",
            ),
        ],
    ),
];

/// Arguments of `windlass run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Report what was served, bypassed and saved when PROGRAM ends
    ///
    /// The report goes to standard error. FORMAT is table if it is not given.
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "table")]
    pub stats: Option<StatsFormat>,

    /// Write the report to FILE instead of standard error
    #[arg(long, value_name = "FILE", requires = "stats")]
    pub stats_file: Option<PathBuf>,

    /// Trust the CA certificates in FILE for this run only (repeatable)
    ///
    /// FILE is in PEM or DER.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub add_ca: Vec<PathBuf>,

    /// The program, looked up in PATH as in a shell, and its arguments
    ///
    /// All arguments after PROGRAM are its own, even if they look like options of windlass.
    // One list: what comes after the program is the program's, also where it looks like an option of ours.
    #[arg(value_name = "PROGRAM [ARGS]", required = true, trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// How the counters of `windlass run --stats` are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// A table for people
    Table,
    /// A JSON object on one line
    Json,
}
