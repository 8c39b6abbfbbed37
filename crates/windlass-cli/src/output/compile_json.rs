//! `compile --json`.

use windlass_compile::report::Report;

/// The report as one JSON object, with a final newline.
pub fn render(report: &Report) -> String {
    // Strings and numbers in structs: nothing that serde_json could refuse.
    let mut json = serde_json::to_string_pretty(report).unwrap_or_default();
    json.push('\n');
    json
}
