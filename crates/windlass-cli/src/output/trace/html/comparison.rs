//! Runs with and without Windlass, side by side.

use super::section;
use crate::output::columns;
use crate::output::trace::numbers::{ratio, time};
use crate::trace::report::Report;

/// The section, if runs were compared.
pub fn render(report: &Report) -> String {
    let Some(comparison) = &report.comparison else {
        return String::new();
    };
    let (stock, windlass) = (&comparison.stock, &comparison.windlass);
    let mut body = [
        rows("Wall time", Some(stock.wall), Some(windlass.wall), time),
        rows("CPU time", Some(stock.cpu), Some(windlass.cpu), time),
        rows("Peak memory", stock.peak_rss, windlass.peak_rss, columns::size),
    ]
    .concat();
    body = format!("<div class=\"comparison\">\n{body}</div>\n");
    if comparison.endings_differ {
        body.push_str("<p class=\"warning\">Not all runs ended alike: they may have done different work.</p>\n");
    }
    let explanation = format!("Measured: medians of {} runs of each, in turns.", comparison.runs);
    section("comparison", "The same run with Windlass", &explanation, &body)
}

fn rows(what: &str, stock: Option<u64>, windlass: Option<u64>, text: fn(u64) -> String) -> String {
    let (Some(stock), Some(windlass)) = (stock, windlass) else {
        return format!(
            "<h3>{what}</h3><p class=\"detail\">not known: too small to be told from the measuring process</p>\n"
        );
    };
    let widest = stock.max(windlass).max(1) as f64;
    let bar = |class: &str, name: &str, value: u64| {
        format!(
            "<div class=\"pair\"><span>{name}</span><svg role=\"presentation\" height=\"16\"><rect class=\"{class}\" \
             width=\"{:.2}%\" height=\"16\" rx=\"3\"/></svg><span class=\"number\">{}</span></div>\n",
            value as f64 / widest * 100.0,
            text(value)
        )
    };
    let ratio = ratio(stock, windlass).map(|ratio| format!(" <span>{ratio} of stock</span>")).unwrap_or_default();
    format!("<h3>{what}{ratio}</h3>\n{}{}", bar("stock", "stock", stock), bar("windlass", "Windlass", windlass))
}
