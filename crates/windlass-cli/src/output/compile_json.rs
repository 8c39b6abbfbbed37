//! `compile --json`.

use super::json;
use crate::compile::report::Report;

/// The report as one JSON object, with a final newline.
pub fn render(report: &Report) -> String {
    json::render(report)
}
