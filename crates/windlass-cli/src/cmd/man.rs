//! `windlass man`.

use std::process::ExitCode;

use crate::cli::{self, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, stdout};

/// Prints a manual page, in roff.
pub fn run(arguments: &ManArgs) -> Result<ExitCode, Failure> {
    let mut definition = cli::definition();
    definition.build();
    let page = match &arguments.subcommand {
        None => definition,
        Some(name) => {
            // cache-status is the page of `cache status`.
            let parts = || name.split('-');
            let found = parts().try_fold(&definition, |command, part| command.find_subcommand(part)).cloned();
            let found = found.ok_or_else(|| Failure::new(Exit::Usage, name, "no such subcommand"))?;
            // clap_mangen takes the title from the name; git's convention for subcommands is command-subcommand(1).
            found.name(format!("windlass-{name}"))
        }
    };
    let roff = output::man::render(page).map_err(|error| Failure::new(Exit::Failure, "manual page", error))?;
    stdout::write(&roff)
}
