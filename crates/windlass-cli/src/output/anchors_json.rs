//! `ls --json`.

use windlass_machine::anchors::listing::Listing;
use windlass_machine::json;

/// The listing as one JSON object, with a final newline.
pub fn render(listing: &Listing) -> String {
    json::render(listing)
}
