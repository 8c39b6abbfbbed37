//! `windlass`: runs programs with the preload library, and shows what a source of trust holds.

#![deny(unsafe_code)]

mod cli;
mod cmd;
mod exit;
mod help;
mod output;

use std::process::ExitCode;

use cli::Command;
use exit::Exit;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let result = match cli.command {
        Command::Run(arguments) => cmd::run::run(&arguments),
        Command::Ls(arguments) => cmd::ls::run(&arguments),
        Command::Compile(arguments) => cmd::compile::run(&arguments),
        Command::Cache(arguments) => cmd::cache::run(&arguments),
        Command::Doctor(arguments) => cmd::doctor::run(&arguments),
        Command::Prune(arguments) => cmd::prune::run(&arguments),
        Command::Install(arguments) => cmd::install::run(&arguments),
        Command::Uninstall(arguments) => cmd::uninstall::run(&arguments),
        Command::Trace(arguments) => cmd::trace::run(&arguments),
        Command::Top(arguments) => cmd::top::run(&arguments),
        Command::Completions(arguments) => cmd::completions::run(&arguments),
        Command::Man(arguments) => cmd::man::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            output::stderr::line(&failure);
            Exit::from(failure.kind).into()
        }
    }
}
