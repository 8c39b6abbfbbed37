//! The changes that a record may hold: the few that `windlass install` makes, and no others. Undoing runs with the
//! rights of the user who asks for it, and therefore a record cannot introduce names of its own.

use std::path::{Component, Path, PathBuf};

use windlass_journal::{Directory, record};
use windlass_machine::Failure;

use super::destination::{Destination, Last};
use super::files;
use super::machine::LIST;
use super::record::{Change, FILE_NAME, Kind, Mark, Record, Target};
use super::{service, shell, upkeep};

/// Reads the record of a place; None if there is none.
pub fn read(destination: &Destination) -> Result<Option<Record>, Failure> {
    let directory = destination.real(&destination.state, Last::Followed)?;
    let Some(directory) = Directory::open_trusted(&directory)? else { return Ok(None) };
    record::read(&directory, FILE_NAME, |record: &Record| {
        let change = record.changes.iter().find(|change| !is_known(change, destination))?;
        Some(format!("`windlass install` does no such thing: {} at {}", change.target, change.path.display()))
    })
}

/// Whether `windlass install` makes this change in this kind of place.
fn is_known(change: &Change, destination: &Destination) -> bool {
    let path = &*change.path;
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain || !path.is_absolute() {
        return change.target == Target::Upkeep && is_started(change);
    }
    // Safe, because only an empty directory is ever removed.
    if change.kind == Kind::Directory {
        return true;
    }
    let is = |known: PathBuf| path == known;
    let is_file = matches!(change.kind, Kind::File { .. });
    match (destination.home(), &change.target) {
        (Some(home), Target::Library) => is_file && is_library(path, &files::of_user(home)),
        (Some(home), Target::Shell) => match &change.kind {
            Kind::File { .. } => path.starts_with(home) && path.ends_with(shell::FISH),
            Kind::Edit { mark: Mark::Block, .. } => {
                path.starts_with(home) && shell::PROFILES.iter().any(|name| path.ends_with(name))
            }
            _ => false,
        },
        (None, Target::Command) => is_file && is(files::COMMAND.into()),
        (None, Target::Library) => is_file && is_library(path, Path::new(files::LOCAL)),
        (None, Target::Upkeep) => match &change.kind {
            Kind::File { .. } => upkeep::FILES.iter().any(|known| path == Path::new(known)),
            Kind::Link { .. } => is(upkeep::link()),
            Kind::Stores => is(upkeep::STORES.into()),
            _ => false,
        },
        (None, Target::Service(unit)) => {
            is_file && service::unit_name(unit).is_ok_and(|name| name == *unit) && is(service::drop_in(unit))
        }
        (None, Target::Machine) => is(LIST.into()) && matches!(&change.kind, Kind::Edit { mark: Mark::Names(_), .. }),
        _ => false,
    }
}

fn is_library(path: &Path, directory: &Path) -> bool {
    [files::library_in(directory), files::trace_library_in(directory)].iter().any(|known| path == known)
}

fn is_started(change: &Change) -> bool {
    matches!(&change.kind, Kind::Started { unit } if unit == upkeep::WATCH && change.path == Path::new(upkeep::WATCH))
}
