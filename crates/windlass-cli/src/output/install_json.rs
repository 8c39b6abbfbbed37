//! The plans of `windlass install` and `windlass uninstall`, for programs.

use std::path::Path;
use windlass_machine::json;

use serde::Serialize;
use windlass_install::{Plan, Step, Undo};

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
struct Installation<'a> {
    steps: Vec<&'a Step>,
    notes: Vec<&'a String>,
}

#[derive(Serialize)]
struct Removal<'a> {
    steps: Vec<&'a Undo>,
}

/// What is to be done, and what is there already: one plan after the other, as one.
pub fn plans(plans: &[&Plan], root: &Path, dry_run: bool) -> String {
    let steps = plans.iter().flat_map(|plan| &plan.steps).collect();
    let notes = plans.iter().flat_map(|plan| &plan.notes).collect();
    json::render(&Document { schema: SCHEMA, root, dry_run, plan: Installation { steps, notes } })
}

/// What is to be undone.
pub fn removal<'a>(steps: impl IntoIterator<Item = &'a Undo>, root: &Path, dry_run: bool) -> String {
    let steps = steps.into_iter().collect();
    json::render(&Document { schema: SCHEMA, root, dry_run, plan: Removal { steps } })
}
