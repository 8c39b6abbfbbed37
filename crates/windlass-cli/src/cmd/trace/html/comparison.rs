//! Runs with and without Windlass, side by side.

use windlass_trace_report::measure::Measured;
use windlass_trace_report::report::Report;

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{count, percent, ratio, time};
use crate::cmd::trace::text::comparison::warnings;
use crate::output::columns;

/// The section, if runs were compared.
pub fn render(report: &Report) -> String {
    let Some(comparison) = &report.comparison else {
        return String::new();
    };
    let (stock, windlass) = (&comparison.stock, &comparison.windlass);
    let is_shown = |of: fn(&Measured) -> Option<u64>| comparison.is_fair() && !comparison.overlaps(of);
    let spread = |of: fn(&Measured) -> Option<u64>| stock.spread(of).zip(windlass.spread(of));
    let mut body = [
        rows(
            "Wall time",
            [Some(stock.wall), Some(windlass.wall)],
            spread(|run| Some(run.wall)),
            is_shown(|run| Some(run.wall)),
            time,
        ),
        rows(
            "CPU time",
            [Some(stock.cpu), Some(windlass.cpu)],
            spread(|run| Some(run.cpu)),
            is_shown(|run| Some(run.cpu)),
            time,
        ),
        rows(
            "Peak memory",
            [stock.peak_rss, windlass.peak_rss],
            spread(|run| run.peak_rss),
            is_shown(|run| run.peak_rss),
            columns::size,
        ),
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
    let part = |stock: u64, windlass: u64| (stock > 0).then(|| percent(windlass as f64 / stock as f64));
    let (Some(wall), Some(cpu)) = (part(stock.wall, windlass.wall), part(stock.cpu, windlass.cpu)) else {
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
