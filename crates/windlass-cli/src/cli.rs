//! The one definition of the command line; help, man pages and completions all come from it.

pub mod install;
pub mod prune;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::cmd::{cache, compile, doctor, top, trace};
use crate::exit::Exit;
use crate::output::stderr;
use windlass_machine::{Failure, FailureKind};

const ABOUT: &str = "Load trusted CA certificates once, for every program and every context";

const EXAMPLES: &str = "\
Examples:
  windlass run -- python3 app.py         app.py makes its TLS contexts from shared root stores
  windlass run --stats -- ./nightly.sh   the same, and at the end what was served and saved
  windlass ls                            the roots that OpenSSL trusts on this machine
  windlass ls --json corporate.pem       all about the certificates of a file, as JSON
  windlass compile                       compiles the machine's roots for all later programs
";

const RUN_ABOUT: &str = "\
Run PROGRAM with the Windlass preload library, so that it and its child processes load CA certificates once.

Standard streams, signals and the exit status are those of PROGRAM: without --stats and --add-ca, windlass replaces itself with \
PROGRAM; with them it stays as the parent, passes signals on (except real-time ones), and ends as PROGRAM ends. \
An LD_PRELOAD that is already set is kept, behind the library.

With --add-ca, PROGRAM and its child processes also trust the certificates in FILE, and nobody else does: for tests, in place of \
installing a certificate. Nothing is written to any store. At the end nothing is left, or an empty windlass-UID in /tmp (see TMPDIR).";

const RUN_HELP: &str = "\
Examples:
  windlass run -- python3 app.py
  windlass run --stats -- ruby -ropenssl -e 'OpenSSL::X509::Store.new.set_default_paths'
  windlass run --stats=json --stats-file=stats.json -- make check
  windlass run --add-ca test-ca.pem -- make check

Out of reach are programs that are static, setuid, setgid or have file capabilities, are of another
architecture or C library, or have a copy of OpenSSL or GnuTLS linked into them. If PROGRAM is one,
it runs without change, and the report of --stats says so, and which of these it is where the
executable tells. Its child processes are started by it, with the library in LD_PRELOAD: one that is
out of reach is not served, the report does not name it, and of one of another architecture or C
library the dynamic linker may say that it can't preload the library.

Environment:
  WINDLASS_PRELOAD_LIBRARY
          the library to use, instead of libwindlass_preload.so beside windlass, in ../lib/windlass
          or in ../lib/TRIPLET/windlass
  WINDLASS_MAX_AGE
          seconds that a loaded source may be used (default 86400; 0: never keep; -1: for ever); a
          source that changed is read again at once, whatever its age
  WINDLASS_STORE
          the only directory of compiled stores
  WINDLASS_DISABLE
          1: the library does nothing; --add-ca then works by the variables below alone
  TMPDIR
          where the files of --add-ca are while PROGRAM runs (default: /run for root,
          XDG_RUNTIME_DIR for others, else windlass-UID in /tmp, which stays)

Variables that --add-ca sets:
  SSL_CERT_FILE, REQUESTS_CA_BUNDLE, PIP_CERT, GIT_SSL_CAINFO, AWS_CA_BUNDLE, CARGO_HTTP_CAINFO,
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH
          a file with FILE and what the variable named before, or else the machine's own roots; some
          others likewise, where they are set already
  NODE_EXTRA_CA_CERTS, DENO_CERT, WINDLASS_ADD_CA
          FILE, for programs that trust it beside their own roots
  JDK_JAVA_OPTIONS
          where there is a Java: a trust store; the java command prints a line that it has read this

Report of --stats=json, one object on one line:
  schema       1; a larger number means a change that readers must know of
  program      as it was named
  exit_status  of the program, or null where a signal ended it
  signal       its number, or null
  summary      {processes, served, bypassed, certificates, parsed, saved}: processes that came to
               load certificates; calls; certificates that those calls stood for, that were parsed,
               and that were not
  unreachable  why the library can't have come to the program, or found no library to serve in it,
               where that is known; else null
  counters     every counter by section and name: {served: {function: calls}, bypass: {reason:
               calls}, cache: {...}, ...}; more may be added
  add_ca       with --add-ca: {certificates: [{subject, sha256_fingerprint, file}], loads: loads of
               OpenSSL and GnuTLS that they were added to, variables: {name: file}, left: {name: why
               it was left as it was}}
";

const LS_ABOUT: &str = "\
List the certificates of SOURCE, the trust anchors: a file of PEM certificates (CAfile), or a directory of files named by subject hash \
(CApath, as made by `openssl rehash`).

Without SOURCE, the one that OpenSSL's default paths name here: SSL_CERT_FILE, else cert.pem in OPENSSLDIR; where that \
file does not exist, SSL_CERT_DIR, else certs in OPENSSLDIR. The output says which was taken, and why.

A file may also be one certificate in DER, which OpenSSL would not take as a CAfile.";

const LS_HELP: &str = "\
Examples:
  windlass ls
  windlass ls /etc/ssl/certs
  windlass ls --json | jq -r '.anchors[] | select(.expired) | .subject'

The table is coloured on a terminal only, unless NO_COLOR is set; COLUMNS overrides its width.

Output of --json, one object:
  schema      1; a larger number means a change that readers must know of
  source      {kind: \"cafile\" or \"capath\", path, reason}
  summary     {anchors, distinct, duplicates, expired, not_yet_valid, not_ca}
  anchors     in the order of the source, each with
    index                   position, from 0
    subject, issuer         distinguished names as in RFC 4514
    name                    common name, else organizational unit, else organization, else subject
    serial                  hexadecimal
    not_before, not_after   RFC 3339, UTC
    key                     {algorithm, bits, curve}; bits for RSA, curve for EC, else null
    subject_hash            OpenSSL's: the file name in a hashed directory
    subject_key_id          hexadecimal, or null
    sha256_fingerprint      hexadecimal, of the whole certificate
    self_issued             subject and issuer are equal, byte for byte
    ca                      it may vouch for others, as X509_check_ca of OpenSSL sees it
    expired, not_yet_valid  as of now
    duplicate               repeats an earlier certificate byte for byte
    shares_subject          a different certificate here has the same subject
";

/// The command line of `windlass`.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, about = ABOUT, long_about = None, max_term_width = 120)]
#[command(after_long_help = format!("{EXAMPLES}\n{}", Exit::help()), after_help = EXAMPLES)]
#[command(propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program whose TLS contexts share root stores
    #[command(override_usage = "windlass run [OPTIONS] [--] PROGRAM [ARGS]...")]
    #[command(long_about = RUN_ABOUT, after_long_help = format!("{RUN_HELP}\n{}", Exit::help_of("run")))]
    Run(RunArgs),
    /// List the trust anchors of a file or a hashed directory
    #[command(long_about = LS_ABOUT, after_long_help = format!("{LS_HELP}\n{}", Exit::help_of("ls")))]
    Ls(LsArgs),
    /// Compile sources of trust, so that programs need not read and index them
    #[command(long_about = compile::args::ABOUT, after_long_help = format!("{}\n{}", compile::args::HELP, Exit::help_of("compile")))]
    Compile(compile::args::CompileArgs),
    /// Show or remove compiled stores
    #[command(after_long_help = format!("{}\n{}", cache::args::HELP, Exit::help_of("cache")))]
    Cache(cache::args::CacheArgs),
    /// Say what is wrong with the trust stores of this machine
    #[command(long_about = doctor::args::ABOUT, after_long_help = format!("{}\n{}", doctor::args::HELP, Exit::help_of("doctor")))]
    Doctor(doctor::args::DoctorArgs),
    /// Take away superfluous certificates, and put them back
    #[command(long_about = prune::ABOUT, after_long_help = format!("{}\n{}", prune::HELP, Exit::help_of("prune")))]
    Prune(prune::PruneArgs),
    /// Keep compiled stores fresh, and make programs load the library
    #[command(long_about = install::INSTALL_ABOUT)]
    Install(install::InstallArgs),
    /// Undo what install did
    #[command(long_about = install::UNINSTALL_ABOUT)]
    Uninstall(install::UninstallArgs),
    /// Find out what a program spends on loading CA certificates
    #[command(override_usage = "windlass trace [OPTIONS] [--] PROGRAM [ARGS]...")]
    #[command(long_about = trace::args::ABOUT, after_long_help = format!("{}\n{}", trace::args::HELP, Exit::help_of("trace")))]
    Trace(trace::args::TraceArgs),
    /// Watch who opens CA bundles and hashed directories
    #[command(long_about = top::args::ABOUT, after_long_help = format!("{}\n{}", top::args::HELP, Exit::help_of("top")))]
    Top(top::args::TopArgs),
    /// Print the completion script of a shell
    #[command(after_long_help = format!("{COMPLETIONS_HELP}\n{}", Exit::help_of("completions")))]
    Completions(CompletionsArgs),
    /// Print the manual page of windlass or of one of its subcommands
    #[command(after_long_help = format!("{MAN_HELP}\n{}", Exit::help_of("man")))]
    Man(ManArgs),
}

const COMPLETIONS_HELP: &str = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish
";

const MAN_HELP: &str = "\
Examples:
  windlass man | man -l -
  windlass man run > windlass-run.1
";

/// Arguments of `windlass run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Report at the end, on standard error, what was served, bypassed and saved
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "table")]
    pub stats: Option<StatsFormat>,

    /// Write the report to FILE instead of standard error
    #[arg(long, value_name = "FILE", requires = "stats")]
    pub stats_file: Option<PathBuf>,

    /// Trust the CA certificates in FILE (PEM or DER), for this run only; can be given several times
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub add_ca: Vec<PathBuf>,

    /// The program, looked up in PATH as a shell would, and its arguments, passed on untouched
    // One list: what comes after the program is the program's, also where it looks like an option of ours.
    #[arg(value_name = "PROGRAM [ARGS]", required = true, trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// How the counters of `windlass run --stats` are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

/// Arguments of `windlass ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// A PEM file, a hashed directory, or a file of one certificate in DER
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    pub source: Option<PathBuf>,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `windlass completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `windlass man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The subcommand; without it, the page of windlass itself
    #[arg(value_parser = ["run", "ls", "compile", "cache", "cache-status", "cache-clear", "doctor", "prune", "install", "uninstall", "trace", "top", "completions", "man"])]
    pub subcommand: Option<String>,
}

/// The definition as clap's builder, for generators.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Reads the command line of this process. Where that is not understood, or asks for help, all is said, and this is how
/// to end.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| ended(&with_usage(error, std::env::args_os())))
}

/// Says what clap has to say. Help that can't be written is a failure as any other output, unless nobody reads it.
fn ended(error: &clap::Error) -> ExitCode {
    let written = error.print().and_then(|()| std::io::stdout().flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let failure = Failure::new(FailureKind::Other, "standard output", error);
            stderr::line(&failure);
            Exit::from(failure.kind).into()
        }
        _ if error.use_stderr() => Exit::Usage.into(),
        _ => Exit::Success.into(),
    }
}

/// clap's usage of what can't be together is what was given: the very thing that it has refused.
fn with_usage(mut error: clap::Error, arguments: impl Iterator<Item = OsString>) -> clap::Error {
    if error.kind() == ErrorKind::ArgumentConflict {
        let mut command = definition();
        command.build();
        for name in arguments.skip(1) {
            let Some(subcommand) = command.find_subcommand(name).cloned() else { break };
            command = subcommand;
        }
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    }
    error
}
