//! The plans of `windlass install` and `windlass uninstall`, for people. Paths may be of somebody else's making.

use std::path::Path;

use windlass_install::{Destination, Plan, Step, Undo};

use super::terminal::printable;

/// What is to be done, and what is there already.
pub fn plan(plan: &Plan, destination: &Destination) -> String {
    let (to_do, there): (Vec<&Step>, Vec<_>) = plan.steps.iter().partition(|step| step.to_do);
    let mut text = String::new();
    if to_do.is_empty() {
        text.push_str(&format!("Nothing to do{}: everything is in place.\n", in_root(destination)));
    } else {
        text.push_str(&format!("To do{}:\n", in_root(destination)));
    }
    for (number, step) in to_do.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", number + 1, shown(destination, &step.path)));
        text.push_str(&format!("     {}\n     why: {}\n", printable(&step.what), printable(&step.why)));
    }
    if !there.is_empty() {
        text.push_str("Already in place:\n");
    }
    for step in there {
        text.push_str(&format!("  {} {}\n", shown(destination, &step.path), printable(&step.what)));
    }
    for note in &plan.notes {
        text.push_str(&format!("Note: {}\n", printable(note)));
    }
    text
}

/// What is to be undone, and what stays.
pub fn removal(plan: &[Undo], destination: &Destination) -> String {
    if plan.is_empty() {
        return format!("Nothing to do{}: no such installation is recorded.\n", in_root(destination));
    }
    let mut text = format!("To do{}:\n", in_root(destination));
    for (number, undo) in plan.iter().enumerate() {
        text.push_str(&format!(
            "  {}. {}\n     {}\n",
            number + 1,
            shown(destination, &undo.path),
            printable(undo.what)
        ));
    }
    if let Some(stores) = windlass_install::stores_that_stay(destination, plan) {
        let clear = match destination.is_machine() {
            true => String::from("`windlass cache clear` removes them"),
            false => String::from("remove them by hand if nothing needs them"),
        };
        text.push_str(&format!(
            "Note: the compiled stores in {} were there before the installation, so they stay; {clear}\n",
            shown(destination, stores)
        ));
    }
    text
}

fn in_root(destination: &Destination) -> String {
    if destination.is_machine() {
        String::new()
    } else {
        format!(" in the image {}", printable(&destination.root().to_string_lossy()))
    }
}

fn shown(destination: &Destination, path: &Path) -> String {
    printable(&destination.shown(path)).into_owned()
}
