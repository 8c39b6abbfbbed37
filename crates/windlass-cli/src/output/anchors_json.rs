//! `ls --json`.

use windlass_machine::anchors::listing::Listing;

/// The listing as one JSON object, with a final newline.
pub fn render(listing: &Listing) -> String {
    // Strings, numbers and booleans in structs: nothing that serde_json could refuse.
    let mut json = serde_json::to_string_pretty(listing).unwrap_or_default();
    json.push('\n');
    json
}
