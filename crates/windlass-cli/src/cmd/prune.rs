//! `windlass prune`.

use std::ffi::OsStr;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use windlass::Timestamp;
use windlass_doctor::machine::Machine;
use windlass_machine::Failure;
use windlass_prune::{self as prune, Backup, Backups, Image, Wanted};

use super::install::agreed;
use crate::cli::install::HowArgs;
use crate::cli::prune::PruneArgs;
use crate::exit::Exit;
use crate::output::{prune_json, prune_plan, stderr, stdout};

/// Shows what is to go, to come back, or went, and does it.
pub fn run(arguments: &PruneArgs) -> Result<ExitCode, Failure> {
    let how = HowArgs { dry_run: arguments.dry_run, yes: arguments.yes, root: None, json: arguments.json };
    match &arguments.undo {
        _ if arguments.list => list(arguments),
        Some(which) => undo(arguments, which, &how),
        None => take_away(arguments, &how),
    }
}

fn take_away(arguments: &PruneArgs, how: &HowArgs) -> Result<ExitCode, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = Timestamp(i64::try_from(now).unwrap_or(i64::MAX));
    // Whose homes there are, the doctor knows.
    let image = match &arguments.root {
        None => None,
        Some(root) => Image::open(root).map_err(|error| {
            Failure::other(format!("can't use {}", root.display()), error)
                .advise("--root names the directory that an image lies in")
        })?,
    };
    let image = image.as_ref();
    let is_usual = arguments.paths.is_empty();
    let homes = if is_usual { Machine::new(image.map(Image::root), &[], false).homes } else { Vec::new() };
    let PruneArgs { paths: named, tests, force, .. } = arguments;
    let plan = prune::plan(&Wanted { named, homes: &homes, tests: *tests, force: *force, image }, now)?;
    let text = if how.json { prune_json::plan(&plan, how.dry_run)? } else { prune_plan::plan(&plan) };
    stdout::write(text.as_bytes())?;
    let refused = plan.is_refused();
    if how.dry_run || plan.is_empty() {
        return Ok(if refused { Exit::Failure } else { Exit::Success }.into());
    }
    if !agreed(how, "prune")? {
        return declined();
    }
    let backups = Backups::open_or_make(&prune::usual(arguments.backups.as_deref())?)?;
    let done = prune::apply(&plan, &backups, now)?;
    done.left.iter().for_each(|left| stderr::line(&prune_plan::left(left)));
    if let (Some(name), false) = (&done.backup, how.json) {
        stdout::write(
            prune_plan::done(done.moved, name, &backups.directory.path, arguments.backups.is_some()).as_bytes(),
        )?;
    }
    Ok(if done.left.is_empty() && !refused { Exit::Success } else { Exit::Failure }.into())
}

fn undo(arguments: &PruneArgs, which: &str, how: &HowArgs) -> Result<ExitCode, Failure> {
    let path = prune::usual(arguments.backups.as_deref())?;
    let backups = Backups::open(&path)?;
    let all = all(backups.as_ref())?;
    let found = all.into_iter().rev().find(|backup| which.is_empty() || backup.name == OsStr::new(which));
    let (Some(backups), Some(backup)) = (&backups, found) else {
        if !which.is_empty() {
            return Err(Failure::other(format!("--undo={which}"), format!("no such backup in {}", path.display()))
                .advise("windlass prune --list says which there are"));
        }
        let text = if how.json {
            prune_json::undo(None, how.dry_run)?
        } else {
            String::from("Nothing to undo: there is no backup.\n")
        };
        return stdout::write(text.as_bytes());
    };
    let steps = prune::plan_undo(&backup);
    let text = if how.json {
        prune_json::undo(Some((&backup, &steps)), how.dry_run)?
    } else {
        prune_plan::undo(&backup, &steps)
    };
    stdout::write(text.as_bytes())?;
    if how.dry_run {
        return Ok(Exit::Success.into());
    }
    if !agreed(how, "prune --undo")? {
        return declined();
    }
    put_back(backup, backups, how)
}

fn declined() -> Result<ExitCode, Failure> {
    stdout::write(b"Nothing was done.\n")?;
    Ok(Exit::Failure.into())
}

fn put_back(backup: Backup, backups: &Backups, how: &HowArgs) -> Result<ExitCode, Failure> {
    let left = prune::put_back(backup, backups)?;
    left.iter().for_each(|left| stderr::line(&prune_plan::left(left)));
    if !left.is_empty() {
        return Ok(Exit::Failure.into());
    }
    if how.json { Ok(Exit::Success.into()) } else { stdout::write(b"Done.\n") }
}

fn list(arguments: &PruneArgs) -> Result<ExitCode, Failure> {
    let path = prune::usual(arguments.backups.as_deref())?;
    let backups = Backups::open(&path)?;
    let all = all(backups.as_ref())?;
    let text = if arguments.json { prune_json::list(&all)? } else { prune_plan::list(&all, &path) };
    stdout::write(text.as_bytes())
}

/// Those that can be read; the others are told.
fn all(backups: Option<&Backups>) -> Result<Vec<Backup>, Failure> {
    let Some(backups) = backups else { return Ok(Vec::new()) };
    let (all, damaged) = backups.all()?;
    damaged.iter().for_each(stderr::line);
    Ok(all)
}
