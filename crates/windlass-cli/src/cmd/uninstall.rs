//! `windlass uninstall`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use windlass_install::{self as install, Destination, Home, Target, Undo};
use windlass_machine::Failure;

use super::install::{agreed, home, must_be_root};
use crate::cli::install::{HowArgs, UninstallArgs};
use crate::exit::Exit;
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

    let mut destinations = Vec::new();
    let all = targets.is_empty() && !arguments.shell;
    // What a user has installed stands on what the machine has: it goes first.
    if arguments.shell {
        destinations.push((Destination::user(&home()?), vec![Target::Shell]));
    } else if all && how.root.is_none() && !rustix::process::geteuid().is_root() {
        // Root is asked about the machine; its HOME may be another user's.
        let home = Home::of_this_user(|name| std::env::var_os(name));
        destinations.extend(home.map(|home| (Destination::user(&home), Vec::new())));
    }
    if all || !targets.is_empty() {
        destinations.push((Destination::system(how.root.as_deref())?, targets));
    }

    let mut planned = Vec::new();
    for (destination, targets) in &destinations {
        planned.push((
            destination,
            targets,
            Removal::plan(destination, targets).map_err(|failure| destination.told(failure))?,
        ));
    }
    let nothing = planned.iter().all(|(_, _, removal)| matches!(removal, Removal::Nothing));
    if how.json {
        // Several are of one root directory: there is no shell of an image.
        let root = destinations.last().map_or(Path::new("/"), |(destination, _)| destination.root());
        let steps = planned.iter().flat_map(|(_, _, removal)| removal.steps());
        stdout::write(install_json::removal(steps, root, how.dry_run).as_bytes())?;
    } else if nothing {
        stdout::write(b"Nothing to do: no installation is recorded.\n")?;
    }
    for (destination, targets, removal) in &planned {
        if !uninstall(destination, targets, removal, how).map_err(|failure| destination.told(failure))? {
            return Ok(Exit::Failure.into());
        }
    }
    Ok(Exit::Success.into())
}

/// What is to be done in a place.
enum Removal {
    /// Nothing is recorded.
    Nothing,
    /// To undo what is recorded.
    Undo(Vec<Undo>),
    /// To remove what a removal left that was killed at its very end.
    Tidy(Vec<PathBuf>),
}

impl Removal {
    fn plan(destination: &Destination, targets: &[Target]) -> Result<Removal, Failure> {
        if let Some(plan) = install::plan_removal(destination, targets)? {
            return Ok(Removal::Undo(plan));
        }
        let left = install::leftovers(destination)?;
        Ok(if left.is_empty() { Removal::Nothing } else { Removal::Tidy(left) })
    }

    fn steps(&self) -> &[Undo] {
        if let Removal::Undo(plan) = self { plan } else { &[] }
    }

    /// For people.
    fn text(&self, destination: &Destination) -> String {
        let line = |path: &PathBuf| {
            format!(
                "  {}\n     remove: left over from a command that was killed\n",
                destination.shown(&destination.inside(path))
            )
        };
        match self {
            Removal::Nothing => String::new(),
            Removal::Undo(plan) => install_plan::removal(plan, destination),
            Removal::Tidy(left) => format!("To do:\n{}", left.iter().map(line).collect::<String>()),
        }
    }
}

/// Says whether it was agreed to.
fn uninstall(destination: &Destination, targets: &[Target], removal: &Removal, how: &HowArgs) -> Result<bool, Failure> {
    if !how.json {
        stdout::write(removal.text(destination).as_bytes())?;
    }
    let is_nothing = match removal {
        Removal::Nothing => true,
        Removal::Undo(plan) => plan.is_empty() && !targets.is_empty(),
        Removal::Tidy(_) => false,
    };
    if how.dry_run || is_nothing {
        return Ok(true);
    }
    // What concerns the machine is root's to change, what concerns a user that user's.
    if destination.home().is_none() {
        must_be_root(destination, "`windlass uninstall --shell` undoes what concerns only you")?;
    }
    if !agreed(how, "uninstall")? {
        return Ok(false);
    }
    match removal {
        Removal::Nothing => {}
        Removal::Undo(plan) => {
            install::apply_removal(destination, targets, plan)?;
            if !how.json {
                stdout::write(b"Done.\n")?;
            }
        }
        Removal::Tidy(_) => install::tidy(destination)?,
    }
    Ok(true)
}
