//! The plans of `windlass install` and `windlass uninstall`, for people. Paths may be of somebody else's making.

use std::path::Path;

use windlass_install::{Place, Plan, Step, Undo};

use super::terminal::printable;

/// What is to be done, and what is there already.
pub fn plan(plan: &Plan, place: &Place) -> String {
    let (to_do, there): (Vec<&Step>, Vec<_>) = plan.steps.iter().partition(|step| step.to_do);
    let mut text = String::new();
    if to_do.is_empty() {
        text.push_str(&format!("Nothing to do{}: all is in place.\n", in_root(place)));
    } else {
        text.push_str(&format!("To do{}:\n", in_root(place)));
    }
    for (number, step) in to_do.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", number + 1, shown(place, &step.path)));
        text.push_str(&format!("     {}\n     why: {}\n", printable(&step.what), printable(&step.why)));
    }
    if !there.is_empty() {
        text.push_str("There already:\n");
    }
    for step in there {
        text.push_str(&format!("  {} {}\n", shown(place, &step.path), printable(&step.what)));
    }
    for note in &plan.notes {
        text.push_str(&format!("Note: {}\n", printable(note)));
    }
    text
}

/// What is to be undone.
pub fn removal(plan: &[Undo], place: &Place) -> String {
    if plan.is_empty() {
        return format!("Nothing to do{}: nothing of that kind is recorded.\n", in_root(place));
    }
    let mut text = format!("To do{}:\n", in_root(place));
    for (number, undo) in plan.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n     {}\n", number + 1, shown(place, &undo.path), printable(undo.what)));
    }
    text
}

fn in_root(place: &Place) -> String {
    if place.is_machine() {
        String::new()
    } else {
        format!(" in the image {}", printable(&place.root().to_string_lossy()))
    }
}

fn shown(place: &Place, path: &Path) -> String {
    printable(&place.shown(path)).into_owned()
}
