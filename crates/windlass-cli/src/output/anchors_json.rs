//! `ls --json`.

use super::json;
use crate::anchors::listing::Listing;

/// The listing as one JSON object, with a final newline.
pub fn render(listing: &Listing) -> String {
    json::render(listing)
}
