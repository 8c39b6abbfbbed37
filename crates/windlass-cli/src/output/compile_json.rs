//! `compile --json`.

use windlass_compile::report::Report;
use windlass_machine::json;

/// The report as one JSON object, with a final newline.
pub fn render(report: &Report) -> String {
    json::render(report)
}
