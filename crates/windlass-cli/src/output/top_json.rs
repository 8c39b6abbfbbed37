//! `top --json`.

use super::json;
use crate::top::snapshot::Snapshot;

/// One object.
pub fn render(snapshot: &Snapshot) -> String {
    json::render(snapshot)
}

/// One object on one line.
pub fn line(snapshot: &Snapshot) -> String {
    json::line(snapshot)
}
