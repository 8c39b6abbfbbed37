//! `windlass completions`.

use std::process::ExitCode;

use crate::cli::{self, CompletionsArgs};
use crate::failure::Failure;
use crate::output::stdout;

/// Prints the completion script of a shell.
pub fn run(arguments: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli::definition(), "windlass", &mut script);
    stdout::write(&script)
}
