//! `windlass prune` for programs.

use std::ffi::OsString;

use serde::Serialize;

use crate::prune::{Backup, Plan, Undo};

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
struct Listed<'a> {
    backups: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: String,
    made: &'a str,
    finished: bool,
    entries: serde_json::Value,
}

/// What is to go.
pub fn plan(plan: &Plan, dry_run: bool) -> String {
    render(Planned { dry_run, plan })
}

/// What is to come back.
pub fn undo(found: Option<(&Backup, &[Undo])>, dry_run: bool) -> String {
    let name = found.map(|(backup, _)| text(&backup.name));
    render(Undone { dry_run, backup: name, steps: found.map(|(_, steps)| steps).unwrap_or_default() })
}

/// What went.
pub fn list(all: &[Backup]) -> String {
    let entry = |backup: &Backup| serde_json::to_value(&backup.record.entries).unwrap_or_default();
    let backups = all.iter().map(|backup| Entry {
        name: text(&backup.name),
        made: &backup.record.made,
        finished: backup.record.finished,
        entries: entry(backup),
    });
    render(Listed { backups: backups.collect() })
}

fn text(name: &OsString) -> String {
    name.to_string_lossy().into_owned()
}

fn render(content: impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(&Document { schema: SCHEMA, content }).unwrap_or_default();
    text.push('\n');
    text
}
