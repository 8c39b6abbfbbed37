//! Finds faults in the trust stores of this machine, or of an image. A check is one file under `checks/` (OpenSSL's
//! files, the environment, processes) or `private/` (stores that programs bring along); `registry.rs` has the list of
//! all.

#![deny(unsafe_code)]

pub mod baseline;
mod bundle;
mod certificate;
pub mod check;
mod checks;
mod directory;
mod distribution;
mod environment;
mod homes;
pub mod machine;
pub mod measure;
mod p11_kit;
mod pem;
mod private;
pub mod registry;
pub mod report;
mod sources;
#[cfg(test)]
mod testing;
mod token;
