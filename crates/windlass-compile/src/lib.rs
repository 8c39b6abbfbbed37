//! Compiles sources of trust: the output directory (`target.rs`), the result for each source (`report.rs`), and whether
//! compiled stores are still valid (`check.rs`, `status.rs`). Only sources that every libcrypto of the machine accepts
//! are written. The core has the format of compiled stores and the code that writes them.

#![deny(unsafe_code)]

pub mod build;
pub mod check;
pub mod report;
pub mod status;
pub mod target;
