//! `top --json`.

use windlass_top::snapshot::Snapshot;

/// One object.
pub fn render(snapshot: &Snapshot) -> String {
    // Strings, numbers and booleans in structs, paths made to strings: nothing that serde_json could refuse.
    let mut json = serde_json::to_string_pretty(snapshot).unwrap_or_default();
    json.push('\n');
    json
}

/// One object on one line.
pub fn line(snapshot: &Snapshot) -> String {
    let mut json = serde_json::to_string(snapshot).unwrap_or_default();
    json.push('\n');
    json
}
