//! The one definition of the command line; help, man pages and completions all come from it.

pub mod install;
pub mod prune;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::cmd::{cache, compile, completions, doctor, ls, man, run, top, trace};
use crate::exit::Exit;
use crate::help::Block::Example;
use crate::help::{self, Section, section};
use crate::output::stderr;
use crate::output::terminal::Terminal;
use windlass_machine::Failure;

const ABOUT: &str = "Load trusted CA certificates once, for every TLS context of a program";

/// What `windlass --help` prints behind the options.
pub const HELP: &[Section] = &[section(
    "Examples",
    &[
        Example("windlass run -- python3 app.py", "run app.py with shared root stores"),
        Example("windlass run --stats -- ./nightly.sh", "report at the end what was served and saved"),
        Example("windlass ls", "list the roots that OpenSSL trusts on this machine"),
        Example("windlass ls --json corporate.pem", "list the certificates of a file, as JSON"),
        Example("windlass compile", "compile the machine's roots for all later programs"),
    ],
)];

/// The command line of `windlass`.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, about = ABOUT, long_about = None, propagate_version = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program whose TLS contexts share root stores
    #[command(override_usage = "windlass run [OPTIONS] [--] PROGRAM [ARGS]...", long_about = run::args::ABOUT)]
    Run(run::args::RunArgs),
    /// List the trust anchors of a file or a hashed directory
    #[command(long_about = ls::args::ABOUT)]
    Ls(ls::args::LsArgs),
    /// Compile trust sources into indexed stores for all programs
    #[command(long_about = compile::args::ABOUT)]
    Compile(compile::args::CompileArgs),
    /// Show or remove compiled stores
    Cache(cache::args::CacheArgs),
    /// Check the trust stores of this machine for problems
    #[command(long_about = doctor::args::ABOUT)]
    Doctor(doctor::args::DoctorArgs),
    /// Move superfluous certificates to a backup, or put them back
    #[command(long_about = prune::ABOUT)]
    Prune(prune::PruneArgs),
    /// Keep compiled stores fresh, and make programs load the library
    #[command(long_about = install::INSTALL_ABOUT)]
    Install(install::InstallArgs),
    /// Undo what install did
    #[command(long_about = install::UNINSTALL_ABOUT)]
    Uninstall(install::UninstallArgs),
    /// Measure what a program spends on loading CA certificates
    #[command(override_usage = "windlass trace [OPTIONS] [--] PROGRAM [ARGS]...", long_about = trace::args::ABOUT)]
    Trace(trace::args::TraceArgs),
    /// Show which processes open CA bundles and hashed directories
    #[command(long_about = top::args::ABOUT)]
    Top(top::args::TopArgs),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page of windlass or of one of its subcommands
    Man(man::ManArgs),
}

/// The definition as clap's builder, with all help texts.
pub fn definition() -> clap::Command {
    let width = Terminal::stdout().width().unwrap_or(help::WIDEST).min(help::WIDEST);
    let command = Cli::command().term_width(usize::from(width));
    let examples = help::examples(width);
    help::with_help(command, "", width).after_help(examples)
}

/// Reads the command line of this process. If it is invalid or asks for help, this prints the answer and returns the
/// exit status.
pub fn parse() -> Result<Cli, ExitCode> {
    let parsed = definition().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| ended(&with_usage(error, std::env::args_os())))
}

/// Prints clap's message. Help that can't be written is a failure like any other output, unless nobody reads it.
fn ended(error: &clap::Error) -> ExitCode {
    let written = error.print().and_then(|()| std::io::stdout().flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let failure = Failure::other("standard output", error);
            stderr::line(&failure);
            Exit::from(failure.kind).into()
        }
        _ if error.use_stderr() => Exit::Usage.into(),
        _ => Exit::Success.into(),
    }
}

/// For options that exclude each other, clap's usage repeats the refused command line: this gives the general usage.
/// The refused argument may be the value of an option that takes one only behind an equals sign.
fn with_usage(mut error: clap::Error, arguments: impl Iterator<Item = OsString>) -> clap::Error {
    if error.kind() == ErrorKind::ArgumentConflict {
        let mut command = definition();
        command.build();
        let words: Vec<_> = arguments.skip(1).collect();
        for name in &words {
            let Some(subcommand) = command.find_subcommand(name).cloned() else { break };
            command = subcommand;
        }
        if let Some(meant) = words.windows(2).find_map(|pair| with_equals_sign(&command, &pair[0], &pair[1])) {
            let tip = StyledStr::from(format!("for a value, write '{meant}'"));
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    }
    error
}

/// Both words as one, if the first is an option that takes a value only behind an equals sign.
fn with_equals_sign(command: &clap::Command, option: &OsStr, value: &OsStr) -> Option<String> {
    let (name, value) = (option.to_str()?.strip_prefix("--")?, value.to_str()?);
    let takes_it = |known: &clap::Arg| known.is_require_equals_set() && known.get_long() == Some(name);
    // A control character would be one of the terminal's.
    let is_plain = !value.starts_with('-') && !value.contains(char::is_control);
    (is_plain && command.get_arguments().any(takes_it)).then(|| format!("--{name}={value}"))
}
