//! `windlass prune` for programs.

use std::ffi::OsString;
use windlass_machine::json;

use serde::Serialize;
use windlass_machine::Failure;
use windlass_prune::{Backup, Plan, Undo};

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<T> {
    schema: u32,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct Planned<'a> {
    dry_run: bool,
    #[serde(flatten)]
    plan: &'a Plan,
}

#[derive(Serialize)]
struct Undone<'a> {
    dry_run: bool,
    backup: Option<String>,
    steps: &'a [Undo],
}

#[derive(Serialize)]
struct Listed<T> {
    backups: Vec<T>,
}

#[derive(Serialize)]
struct Entry<'a, T> {
    name: String,
    made: &'a str,
    finished: bool,
    entries: &'a [T],
}

/// What is to go.
pub fn plan(plan: &Plan, dry_run: bool) -> Result<String, Failure> {
    render(Planned { dry_run, plan })
}

/// What is to come back.
pub fn undo(found: Option<(&Backup, &[Undo])>, dry_run: bool) -> Result<String, Failure> {
    let name = found.map(|(backup, _)| text(&backup.name));
    render(Undone { dry_run, backup: name, steps: found.map(|(_, steps)| steps).unwrap_or_default() })
}

/// What went.
pub fn list(all: &[Backup]) -> Result<String, Failure> {
    let backups = all.iter().map(|backup| Entry {
        name: text(&backup.name),
        made: &backup.record.made,
        finished: backup.record.finished,
        entries: &backup.record.entries,
    });
    render(Listed { backups: backups.collect() })
}

fn text(name: &OsString) -> String {
    name.to_string_lossy().into_owned()
}

/// What can't be shown may not be done either.
fn render(content: impl Serialize) -> Result<String, Failure> {
    json::try_render(&Document { schema: SCHEMA, content })
        .map_err(|error| Failure::other("can't write it as JSON", error))
}
