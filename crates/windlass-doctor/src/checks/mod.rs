//! The checks of OpenSSL's files, of the environment and of processes, one file each.

mod block_skipped;
mod bundle_differs;
mod bundle_dropped;
mod bundle_missing;
mod dangling_links;
mod double_load;
mod duplicates;
mod environment_overrides;
mod expired;
mod hash_gap;
mod hash_link_missing;
mod hash_link_stale;
mod local_not_taken;
mod no_default_source;
mod not_ca;
mod not_readable;
mod not_yet_valid;
mod private_key_readable;
pub mod processes;
mod token_no_anchors;
mod unparsable_entry;
mod verification_off;

use super::check::{Check, Finding, Outcome, Severity, counted};
use super::directory::Directory;
use super::machine::Machine;

/// All checks, in the order in which they run.
pub const ALL: &[Check] = &[
    no_default_source::CHECK,
    bundle_dropped::CHECK,
    block_skipped::CHECK,
    bundle_missing::CHECK,
    not_readable::CHECK,
    private_key_readable::CHECK,
    local_not_taken::CHECK,
    double_load::CHECK,
    bundle_differs::CHECK,
    hash_link_missing::CHECK,
    hash_link_stale::CHECK,
    hash_gap::CHECK,
    dangling_links::CHECK,
    unparsable_entry::CHECK,
    duplicates::CHECK,
    expired::CHECK,
    not_yet_valid::CHECK,
    not_ca::CHECK,
    environment_overrides::CHECK,
    verification_off::CHECK,
    processes::CHECK,
    token_no_anchors::CHECK,
];

/// A warning about each hashed directory with a fault: `what` is it, as in [`counted`].
fn warn_of_directories(
    machine: &Machine<'_>,
    outcome: &mut Outcome,
    facts: impl Fn(&Directory) -> Vec<String>,
    what: [&str; 2],
    reason: &str,
    remedy: impl Fn(std::path::Display<'_>) -> String,
) {
    let sources = machine.sources_for(outcome);
    for directory in &sources.directories {
        let facts = facts(directory);
        if facts.is_empty() {
            continue;
        }
        let what = counted(facts.len(), what);
        let finding = Finding::new(Severity::Warning, &directory.real, what).about(facts.iter().cloned()).facts(facts);
        outcome.found(finding.reason(reason).remedy(remedy(directory.real.display())));
    }
}
