//! What a run of programs spent on loading CA certificates: from the events of libwindlass_trace.so to a report. Events
//! are read as a stranger's (`reader.rs`, `limits.rs`), added up (`model/`), and get names of functions and
//! certificates. Runs with and without Windlass are measured beside that (`compare.rs`).

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
pub use model::Trace;
