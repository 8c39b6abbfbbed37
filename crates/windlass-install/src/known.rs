//! What a record may hold: the few things that `windlass install` does, and nothing else. Undoing is done with the
//! rights of whoever asks for it, so a record gives no names of its own.

use std::path::{Component, Path, PathBuf};

use super::files;
use super::machine::LIST;
use super::place::Place;
use super::record::{Change, Kind, Mark, Target};
use super::{service, shell, upkeep};

/// Whether it is a change that `windlass install` makes in such a place.
pub fn is_known(change: &Change, place: &Place) -> bool {
    let path = &*change.path;
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain || !path.is_absolute() {
        return change.target == Target::Upkeep && is_started(change);
    }
    // Only an empty one is ever removed.
    if change.kind == Kind::Directory {
        return true;
    }
    let is = |known: PathBuf| path == known;
    let is_file = matches!(change.kind, Kind::File { .. });
    match (place.home(), &change.target) {
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
