//! Everything that is printed: one file for each form.

pub mod anchors_json;
pub mod anchors_table;
pub mod cache_json;
pub mod cache_table;
pub mod columns;
pub mod compile_json;
pub mod compile_progress;
pub mod compile_table;
pub mod install_json;
pub mod install_plan;
pub mod man;
pub mod report;
pub mod report_json;
pub mod stderr;
pub mod stdout;
pub mod terminal;
