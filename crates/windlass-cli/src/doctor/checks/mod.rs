//! One file for each check of OpenSSL's files, of the environment and of processes.

mod bundle_differs;
mod bundle_dropped;
mod dangling_links;
mod double_load;
mod duplicates;
mod environment_overrides;
mod expired;
mod hash_gap;
mod hash_link_missing;
mod hash_link_stale;
mod no_default_source;
mod not_ca;
mod not_yet_valid;
pub mod processes;
mod unparsable_entry;
mod verification_off;

use super::check::Check;

/// In the order in which they run.
pub const ALL: &[Check] = &[
    no_default_source::CHECK,
    bundle_dropped::CHECK,
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
];
