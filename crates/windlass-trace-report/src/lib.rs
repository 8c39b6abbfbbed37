//! The cost of loading CA certificates in a run of programs: from the events of libwindlass_trace.so to a report.
//! Events are untrusted input (`reader.rs`, `limits.rs`); they are summed up (`model/`), and get the names of functions
//! and certificates. Runs with and without Windlass are measured separately (`compare.rs`).

#![deny(unsafe_code)]

pub mod certificates;
pub mod compare;
mod event;
pub mod fail_if;
pub mod frames;
mod interrupts;
mod limits;
pub mod measure;
mod model;
pub mod reach;
pub mod reader;
pub mod report;
pub mod rows;
pub mod running;
pub mod scratch;
mod symbols;

pub use event::Source;
pub use model::{Sum, Trace};
