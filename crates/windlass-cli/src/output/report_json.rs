//! `run --stats=json`.

use windlass_machine::json;
use windlass_run::counters::Report;

/// The report as one line of JSON, so that it can be told from what the program wrote to the same stream.
pub fn render(report: &Report) -> String {
    json::line(report)
}
