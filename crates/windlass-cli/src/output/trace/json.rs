//! `trace --json`.

use windlass_trace_report::report::Report;

use windlass_machine::json;

/// Everything, as one object. Names of strangers in it drive no terminal.
pub fn render(report: &Report) -> String {
    json::render(report)
}
