//! `windlass cache`.

pub mod args;
mod table;

use std::process::ExitCode;

use windlass::compiled::{self, Directories, WriteError};
use windlass_compile::status::{Removed, Status};
use windlass_compile::target;
use windlass_machine::{Failure, json};

use crate::output::stdout;
use crate::output::terminal::Terminal;
use args::{CacheArgs, CacheCommand, OutputArgs};

/// Shows or removes compiled stores.
pub fn run(arguments: &CacheArgs) -> Result<ExitCode, Failure> {
    match &arguments.command {
        CacheCommand::Status(output) => status(output),
        CacheCommand::Clear(output) => clear(output),
    }
}

fn status(output: &OutputArgs) -> Result<ExitCode, Failure> {
    let status = Status::of(&Directories::from_environment(|name| std::env::var_os(name)));
    let only = std::env::var_os("WINDLASS_STORE").is_some();
    let text =
        if output.json { json::render(&status) } else { table::status(&status, only, Terminal::stdout().width()) };
    stdout::write(text.as_bytes())
}

fn clear(output: &OutputArgs) -> Result<ExitCode, Failure> {
    let directory = target::own(true)?;
    let cleared = compiled::clear(&directory).map_err(|error| match error {
        WriteError::Io { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
            target::not_writable(&directory, &error)
        }
        error => Failure::other(format!("cannot clear {}", directory.display()), error),
    })?;
    let removed = Removed::of(&directory, &cleared);
    let text = if output.json { json::render(&removed) } else { table::removed(&removed) };
    stdout::write(text.as_bytes())
}
