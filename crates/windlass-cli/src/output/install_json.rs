//! The plans of `windlass install` and `windlass uninstall`, for programs.

use std::path::Path;

use serde::Serialize;

use crate::install::{Place, Plan, Undo};

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    root: &'a Path,
    dry_run: bool,
    #[serde(flatten)]
    plan: T,
}

#[derive(Serialize)]
struct Removal<'a> {
    steps: &'a [Undo],
}

/// What is to be done, and what is there already.
pub fn plan(plan: &Plan, place: &Place, dry_run: bool) -> String {
    render(&Document { schema: SCHEMA, root: place.root(), dry_run, plan })
}

/// What is to be undone.
pub fn removal(steps: &[Undo], place: &Place, dry_run: bool) -> String {
    render(&Document { schema: SCHEMA, root: place.root(), dry_run, plan: Removal { steps } })
}

fn render(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
