//! Everything that is printed: one file for each form.

pub mod anchors_json;
pub mod anchors_table;
pub mod man;
pub mod report;
pub mod report_json;
pub mod stderr;
pub mod stdout;
pub mod terminal;
