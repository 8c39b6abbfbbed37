//! What a run of programs spent on loading CA certificates: from the events of libwindlass_trace.so to a report.

pub mod certificates;
pub mod compare;
pub mod event;
pub mod fail_if;
pub mod frames;
pub mod interrupts;
pub mod limits;
pub mod measure;
pub mod model;
pub mod reach;
pub mod reader;
pub mod report;
pub mod rows;
pub mod running;
pub mod scratch;
pub mod symbols;
