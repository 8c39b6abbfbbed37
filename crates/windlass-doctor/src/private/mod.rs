//! Checks of the stores that programs bring along instead of using the system's trust.

mod budget;
mod compare;
mod dotnet_disallowed;
mod dotnet_store;
mod java_keystore;
mod nss_database;
mod p11_kit_module;
mod private_bundle;

use super::check::Check;

/// All checks, in the order in which they run.
pub const ALL: &[Check] = &[
    private_bundle::CHECK,
    java_keystore::CHECK,
    nss_database::CHECK,
    p11_kit_module::CHECK,
    dotnet_store::CHECK,
    dotnet_disallowed::CHECK,
];
