//! Everything that is printed: one file for each form.

pub mod anchors_json;
pub mod anchors_table;
pub mod cache_json;
pub mod cache_table;
pub mod columns;
pub mod compile_json;
pub mod compile_progress;
pub mod compile_table;
pub mod doctor_explain;
pub mod doctor_json;
pub mod doctor_sarif;
pub mod doctor_table;
pub mod install_json;
pub mod install_plan;
pub mod man;
pub mod prune_json;
pub mod prune_plan;
pub mod report;
pub mod report_json;
pub mod stderr;
pub mod stdout;
pub mod terminal;
pub mod top_json;
pub mod top_table;
pub mod trace;
pub mod wrap;
