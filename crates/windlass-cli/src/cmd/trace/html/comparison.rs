//! Runs with and without Windlass, side by side.

use windlass_trace_report::report::Report;

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{count, ratio, time};
use crate::cmd::trace::text::comparison::{Of, warnings};
use crate::output::columns;

/// The section, if runs were compared.
pub fn render(report: &Report) -> String {
    let Some(comparison) = &report.comparison else {
        return String::new();
    };
    let (stock, windlass) = (&comparison.stock, &comparison.windlass);
    let rows = |what: &str, medians: [Option<u64>; 2], of: Of, text: fn(u64) -> String| {
        let is_shown = comparison.is_fair() && !comparison.overlaps(of);
        rows(what, medians, stock.spread(of).zip(windlass.spread(of)), is_shown, text)
    };
    let mut body = [
        rows("Wall time", [Some(stock.wall), Some(windlass.wall)], |run| Some(run.wall), time),
        rows("CPU time", [Some(stock.cpu), Some(windlass.cpu)], |run| Some(run.cpu), time),
        rows("Peak memory", [stock.peak_rss, windlass.peak_rss], |run| run.peak_rss, columns::size),
    ]
    .concat();
    body = format!("<div class=\"comparison\">\n{body}</div>\n");
    let warnings = warnings(comparison);
    body.extend(warnings.iter().map(|warning| format!("<p class=\"warning\">{}</p>\n", escaped(warning))));
    let runs = count(comparison.runs.into(), "run", "runs");
    let explanation = match comparison.runs {
        1 => format!("Measured: {runs} of each."),
        _ => format!("Measured: medians of {runs} of each, in turns, followed by minimum and maximum."),
    };
    section("comparison", "The same run with Windlass", &explanation, &body)
}

/// What the comparison comes to, if it comes to anything.
pub fn finding(report: &Report) -> String {
    let Some(comparison) = report.comparison.as_ref().filter(|comparison| comparison.is_fair()) else {
        return String::new();
    };
    let (stock, windlass) = (&comparison.stock, &comparison.windlass);
    if comparison.overlaps(|run| Some(run.wall)) || comparison.overlaps(|run| Some(run.cpu)) {
        return String::new();
    }
    let (Some(wall), Some(cpu)) = (ratio(stock.wall, windlass.wall), ratio(stock.cpu, windlass.cpu)) else {
        return String::new();
    };
    format!(
        " With Windlass the whole run takes <b>{wall}</b> of the time, and {cpu} of the CPU time, that it takes \
         without."
    )
}

/// The least and the most, without Windlass and with it.
type Spread = ((u64, u64), (u64, u64));

fn rows(
    what: &str,
    medians: [Option<u64>; 2],
    spread: Option<Spread>,
    is_shown: bool,
    text: fn(u64) -> String,
) -> String {
    let [Some(stock), Some(windlass)] = medians else {
        return format!(
            "<h3>{what}</h3><p class=\"detail\">unknown: too small to distinguish from the measuring process</p>\n"
        );
    };
    let widest = stock.max(windlass).max(1) as f64;
    let bar = |class: &str, name: &str, value: u64, spread: Option<(u64, u64)>| {
        let spread =
            spread.map(|(least, most)| format!(" <span class=\"detail\">{} to {}</span>", text(least), text(most)));
        format!(
            "<div class=\"pair\"><span>{name}</span><svg role=\"presentation\" height=\"16\"><rect class=\"{class}\" \
             width=\"{:.2}%\" height=\"16\" rx=\"3\"/></svg><span><b>{}</b>{}</span></div>\n",
            value as f64 / widest * 100.0,
            text(value),
            spread.unwrap_or_default()
        )
    };
    let (of_stock, of_windlass) = spread.unzip();
    let ratio = ratio(stock, windlass)
        .filter(|_| is_shown)
        .map(|ratio| format!(" <span>{ratio} of stock</span>"))
        .unwrap_or_default();
    format!(
        "<h3>{what}{ratio}</h3>\n{}{}",
        bar("stock", "stock", stock, of_stock),
        bar("windlass", "Windlass", windlass, of_windlass)
    )
}
