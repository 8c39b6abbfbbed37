//! `trace --json`.

use crate::output::json;
use crate::trace::report::Report;

/// Everything, as one object. Names of strangers in it drive no terminal.
pub fn render(report: &Report) -> String {
    json::render(report)
}
