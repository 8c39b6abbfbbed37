//! `windlass uninstall`.

use std::process::ExitCode;

use super::install::{agreed, home, must_be_root};
use crate::cli::install::UninstallArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::install::{self, Home, Place, Target};
use crate::output::{install_json, install_plan, stdout};

/// Shows what is to be undone, and does it.
pub fn run(arguments: &UninstallArgs) -> Result<ExitCode, Failure> {
    let how = &arguments.how;
    let services = arguments.service.iter().map(|name| match name.strip_suffix(".service") {
        Some(_) => name.clone(),
        None => format!("{name}.service"),
    });
    let mut targets: Vec<_> = services.map(Target::Service).collect();
    targets.extend(arguments.machine.then_some(Target::Machine));

    let mut places = Vec::new();
    let all = targets.is_empty() && !arguments.shell;
    // What a user has installed stands on what the machine has: it goes first.
    if arguments.shell {
        places.push((Place::user(&home()?), vec![Target::Shell]));
    } else if let (true, None, Some(home)) = (all, &how.root, Home::from_environment(|name| std::env::var_os(name))) {
        places.push((Place::user(&home), Vec::new()));
    }
    if all || !targets.is_empty() {
        places.push((Place::system(how.root.as_deref())?, targets));
    }

    let mut found = false;
    for (place, targets) in &places {
        let Some(plan) = install::plan_removal(place, targets)? else {
            if !how.dry_run {
                install::tidy(place)?;
            }
            continue;
        };
        found = true;
        let text = if how.json {
            install_json::removal(&plan, place, how.dry_run)
        } else {
            install_plan::removal(&plan, place)
        };
        stdout::write(text.as_bytes())?;
        if how.dry_run || (plan.is_empty() && !targets.is_empty()) {
            continue;
        }
        if place.state.starts_with("/var") {
            must_be_root(place, "`windlass uninstall --shell` undoes what concerns only you")?;
        }
        if !agreed(how)? {
            return Ok(Exit::Failure.into());
        }
        install::apply_removal(place, targets, &plan)?;
        if !how.json {
            stdout::write(b"Done.\n")?;
        }
    }
    if !found && !how.json {
        stdout::write(b"Nothing to do: no installation is recorded.\n")?;
    }
    Ok(Exit::Success.into())
}
