//! `cache status --json` and `cache clear --json`.

use serde::Serialize;

/// One JSON object, with a final newline.
pub fn render(result: &impl Serialize) -> String {
    // Strings and numbers in structs: nothing that serde_json could refuse.
    let mut json = serde_json::to_string_pretty(result).unwrap_or_default();
    json.push('\n');
    json
}
