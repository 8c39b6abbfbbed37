//! What is wrong with the trust stores of this machine, or of an image. A check is one file under `checks/` (OpenSSL's files, the
//! environment, processes) or `private/` (what programs carry with them); `registry.rs` has the list of all.

pub mod baseline;
pub mod bundle;
pub mod certificate;
pub mod check;
pub mod checks;
pub mod directory;
mod distribution;
pub mod environment;
mod homes;
pub mod machine;
pub mod measure;
pub mod p11_kit;
pub mod pem;
pub mod private;
pub mod registry;
pub mod report;
pub mod sources;
#[cfg(test)]
pub mod testing;
pub mod token;
