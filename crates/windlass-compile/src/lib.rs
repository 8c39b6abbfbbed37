//! Compiles sources of trust: which (`target.rs` has the directory that they go to), what came of each (`report.rs`),
//! and whether what was compiled is still true (`check.rs`, `status.rs`). Only what every libcrypto of the machine
//! accepts is written. The format of a compiled store, and how it is written, is in the core.

#![deny(unsafe_code)]

pub mod build;
pub mod check;
pub mod report;
pub mod status;
pub mod target;
