//! `cache status --json` and `cache clear --json`.

use serde::Serialize;
use windlass_machine::json;

/// One JSON object, with a final newline.
pub fn render(result: &impl Serialize) -> String {
    json::render(result)
}
