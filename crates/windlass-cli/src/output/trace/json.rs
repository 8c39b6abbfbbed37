//! `trace --json`.

use windlass_trace_report::report::Report;

use crate::output::terminal::printable_json;

/// Everything, as one object. Names of strangers in it drive no terminal.
pub fn render(report: &Report) -> String {
    // Strings and numbers in structs: nothing that serde_json could refuse.
    let mut json = serde_json::to_string_pretty(report).unwrap_or_default();
    json.push('\n');
    printable_json(&json).into_owned()
}
