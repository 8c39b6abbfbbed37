//! `run --stats=json`.

use windlass_run::counters::Report;

/// The report as one line of JSON, so that it can be told from what the program wrote to the same stream.
pub fn render(report: &Report) -> String {
    // Strings and numbers in structs and maps with string keys: nothing that serde_json could refuse.
    let mut json = serde_json::to_string(report).unwrap_or_default();
    json.push('\n');
    json
}
