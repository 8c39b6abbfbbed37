//! Compiling sources of trust: which, where to, and what came of it.

pub mod build;
pub mod check;
pub mod report;
pub mod status;
pub mod target;
