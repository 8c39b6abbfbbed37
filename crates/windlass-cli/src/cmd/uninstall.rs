//! `windlass uninstall`.

use std::process::ExitCode;

use super::install::{agreed, home, must_be_root};
use crate::cli::install::{HowArgs, UninstallArgs};
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
    } else if all && how.root.is_none() && !rustix::process::geteuid().is_root() {
        // Root is asked about the machine; its HOME may be another user's.
        let home = Home::of_this_user(|name| std::env::var_os(name));
        places.extend(home.map(|home| (Place::user(&home), Vec::new())));
    }
    if all || !targets.is_empty() {
        places.push((Place::system(how.root.as_deref())?, targets));
    }

    let mut found = false;
    for (place, targets) in &places {
        match uninstall(place, targets, how).map_err(|failure| place.told(failure))? {
            Outcome::Refused => return Ok(Exit::Failure.into()),
            Outcome::Nothing => {}
            Outcome::Done => found = true,
        }
    }
    if let (false, Some((place, _))) = (found, places.last()) {
        let nothing = || "Nothing to do: no installation is recorded.\n".to_owned();
        let text = if how.json { install_json::removal(&[], place, how.dry_run) } else { nothing() };
        stdout::write(text.as_bytes())?;
    }
    Ok(Exit::Success.into())
}

enum Outcome {
    /// Nothing is recorded.
    Nothing,
    /// All of it was shown, and done if it was to be.
    Done,
    /// The answer was no.
    Refused,
}

fn uninstall(place: &Place, targets: &[Target], how: &HowArgs) -> Result<Outcome, Failure> {
    let Some(plan) = install::plan_removal(place, targets)? else {
        return tidy(place, how);
    };
    let text =
        if how.json { install_json::removal(&plan, place, how.dry_run) } else { install_plan::removal(&plan, place) };
    stdout::write(text.as_bytes())?;
    if how.dry_run || (plan.is_empty() && !targets.is_empty()) {
        return Ok(Outcome::Done);
    }
    may_change(place)?;
    if !agreed(how, "uninstall")? {
        return Ok(Outcome::Refused);
    }
    install::apply_removal(place, targets, &plan)?;
    if !how.json {
        stdout::write(b"Done.\n")?;
    }
    Ok(Outcome::Done)
}

/// What concerns the machine is root's to change, what concerns a user that user's.
fn may_change(place: &Place) -> Result<(), Failure> {
    match place.home() {
        Some(_) => Ok(()),
        None => must_be_root(place, "`windlass uninstall --shell` undoes what concerns only you"),
    }
}

/// Removes what a removal that was killed at its very end left.
fn tidy(place: &Place, how: &HowArgs) -> Result<Outcome, Failure> {
    let left = install::leftovers(place)?;
    if left.is_empty() {
        return Ok(Outcome::Nothing);
    }
    if how.json {
        stdout::write(install_json::removal(&[], place, how.dry_run).as_bytes())?;
    } else {
        let line = |path: &std::path::PathBuf| {
            format!("  {}\n     remove: a killed command left it\n", place.shown(&place.inside(path)))
        };
        stdout::write(format!("To do:\n{}", left.iter().map(line).collect::<String>()).as_bytes())?;
    }
    if how.dry_run {
        return Ok(Outcome::Done);
    }
    may_change(place)?;
    if !agreed(how, "uninstall")? {
        return Ok(Outcome::Refused);
    }
    install::tidy(place)?;
    Ok(Outcome::Done)
}
