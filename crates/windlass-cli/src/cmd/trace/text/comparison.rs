//! What was measured.

use windlass_trace_report::compare::Comparison;
use windlass_trace_report::measure::Measured;

use crate::cmd::trace::numbers::{count, ratio, time};
use crate::output::columns;
use crate::output::wrap::wrapped;

/// The table, and what is to be known of it.
pub fn render(comparison: &Comparison, width: u16) -> String {
    let size = |bytes: Option<u64>| bytes.map(columns::size).unwrap_or_else(|| String::from("not known"));
    let (stock, windlass) = (&comparison.stock, &comparison.windlass);
    let mut rows = Vec::new();
    let mut add = |what: &str, medians: [Option<u64>; 2], of: Of, text: &dyn Fn(Option<u64>) -> String| {
        let [stock_median, windlass_median] = medians;
        let part = stock_median.zip(windlass_median).filter(|_| comparison.is_fair() && !comparison.overlaps(of));
        let part = part.and_then(|(stock, windlass)| ratio(stock, windlass)).unwrap_or_default();
        rows.push([what.to_owned(), text(stock_median), text(windlass_median), part]);
        if let (Some(stock), Some(windlass)) = (stock.spread(of), windlass.spread(of)) {
            for (name, stock, windlass) in [("  min", stock.0, windlass.0), ("  max", stock.1, windlass.1)] {
                rows.push([String::from(name), text(Some(stock)), text(Some(windlass)), String::new()]);
            }
        }
    };
    let duration = |known: Option<u64>| time(known.unwrap_or(0));
    add("wall time", [Some(stock.wall), Some(windlass.wall)], |run| Some(run.wall), &duration);
    add("CPU time", [Some(stock.cpu), Some(windlass.cpu)], |run| Some(run.cpu), &duration);
    add("peak memory", [stock.peak_rss, windlass.peak_rss], |run| run.peak_rss, &size);
    let table = columns::table(["MEDIAN", "STOCK", "WINDLASS", "WINDLASS / STOCK"], &[1, 2, 3], rows);
    let runs = count(comparison.runs.into(), "run", "runs");
    let warnings = warnings(comparison);
    let warnings: String = warnings.iter().map(|warning| wrapped(warning, "  ", "    ", Some(width))).collect();
    format!("\nMeasured: {runs} of each, in turns\n{table}{warnings}")
}

/// What is measured of a run.
pub type Of = fn(&Measured) -> Option<u64>;

const MEASURES: [(&str, Of); 3] =
    [("wall time", |run| Some(run.wall)), ("CPU time", |run| Some(run.cpu)), ("peak memory", |run| run.peak_rss)];

/// Why the measured runs may have done other work than the traced one.
pub fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.endings_differ {
        warnings.push(String::from(
            "Not all runs ended alike (including the traced run): they may have done different work, so no ratio is \
             shown.",
        ));
    }
    if comparison.loads_differ {
        let loads = count(comparison.loads.unwrap_or(0), "load", "loads");
        warnings.push(format!(
            "A traced run under the conditions of the measured runs made {loads}, unlike the first traced run: it \
             did different work, so no ratio is shown."
        ));
    }
    let overlapping: Vec<_> =
        MEASURES.iter().filter(|(_, of)| comparison.overlaps(of)).map(|(name, _)| *name).collect();
    if comparison.is_fair() && !overlapping.is_empty() {
        warnings.push(format!(
            "No ratio is shown for {}: the runs with and without Windlass overlap, so the difference may be chance. \
             Try an idle machine or more runs (--compare={}).",
            overlapping.join(" and "),
            comparison.runs.saturating_mul(4).min(1000)
        ));
    }
    if comparison.input_differs {
        warnings.push(String::from(
            "The measured runs had an empty standard input; standard input of the traced run was a pipe or a file.",
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_trace_report::compare::Side;

    fn comparison(stock: [u64; 3], windlass: [u64; 3]) -> Comparison {
        let run = |wall| Measured { wall, cpu: wall, peak_rss: None, exit_status: Some(0), signal: None };
        let side =
            |walls: [u64; 3]| Side { wall: walls[1], cpu: walls[1], samples: walls.map(run).into(), ..Side::default() };
        Comparison {
            runs: 3,
            stock: side(stock),
            windlass: side(windlass),
            endings_differ: false,
            loads: None,
            loads_differ: false,
            input_differs: false,
        }
    }

    #[test]
    fn runs_that_overlap_have_no_ratio() {
        let apart = render(&comparison([300, 310, 320], [100, 110, 120]), 120);
        assert!(apart.contains("35 %") && !apart.contains("No ratio"), "{apart}");
        let close = render(&comparison([300, 310, 320], [290, 295, 300]), 120);
        assert!(!close.contains('%') && close.contains("No ratio is shown for wall time and CPU time"), "{close}");
        assert!(close.contains("--compare=12"), "{close}");
    }
}
