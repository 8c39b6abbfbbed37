//! `windlass man`.

mod page;

use std::process::ExitCode;

use clap::Args;
use windlass_machine::{Failure, FailureKind};

use crate::cli;
use crate::help::Block::Example;
use crate::help::{Section, section};
use crate::output::stdout;

/// The pages, besides that of windlass itself.
const PAGES: [&str; 14] = [
    "run",
    "ls",
    "compile",
    "cache",
    "cache-status",
    "cache-clear",
    "doctor",
    "prune",
    "install",
    "uninstall",
    "trace",
    "top",
    "completions",
    "man",
];

/// What `--help` prints behind the options.
pub const HELP: &[Section] =
    &[section("Examples", &[Example("windlass man | man -l -", ""), Example("windlass man run > windlass-run.1", "")])];

/// Arguments of `windlass man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The subcommand; if it is not given, print the page of windlass itself
    #[arg(value_parser = PAGES)]
    pub subcommand: Option<String>,
}

/// What belongs together, besides the page of windlass itself.
const TOGETHER: [&[&str]; 6] = [
    &["run", "trace", "install"],
    &["trace", "top"],
    &["ls", "doctor", "prune"],
    &["compile", "cache", "cache-status", "cache-clear"],
    &["compile", "install", "uninstall"],
    &["completions", "man"],
];

/// Prints a manual page, in roff.
pub fn run(arguments: &ManArgs) -> Result<ExitCode, Failure> {
    let mut definition = cli::definition();
    definition.build();
    let see_also = see_also(&definition, arguments.subcommand.as_deref());
    let page = match &arguments.subcommand {
        None => definition,
        Some(name) => {
            // cache-status is the page of `cache status`.
            let parts = || name.split('-');
            let found = parts().try_fold(&definition, |command, part| command.find_subcommand(part)).cloned();
            let found = found.ok_or_else(|| Failure::new(FailureKind::Usage, name, "no such subcommand"))?;
            // clap_mangen takes the title from the name; git's convention for subcommands is command-subcommand(1).
            found.name(format!("windlass-{name}"))
        }
    };
    // `help` has no page: it shows the others'.
    let has_help = page.find_subcommand("help").is_some();
    let page = if has_help { page.mut_subcommand("help", |help| help.hide(true)) } else { page };
    let name = arguments.subcommand.as_deref().unwrap_or_default();
    let roff =
        page::render(page, name, &see_also).map_err(|error| Failure::other("cannot make the manual page", error))?;
    stdout::write(roff.as_bytes())
}

fn see_also(definition: &clap::Command, name: Option<&str>) -> Vec<String> {
    let page = |name: &str| format!("windlass-{name}");
    let Some(name) = name else {
        let names = definition.get_subcommands().map(clap::Command::get_name);
        return names.filter(|name| *name != "help").map(page).collect();
    };
    let mut names: Vec<&str> = Vec::new();
    for other in TOGETHER.iter().filter(|all| all.contains(&name)).flat_map(|all| all.iter()) {
        if *other != name && !names.contains(other) {
            names.push(other);
        }
    }
    std::iter::once(String::from("windlass")).chain(names.into_iter().map(page)).collect()
}
