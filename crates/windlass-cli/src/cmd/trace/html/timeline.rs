//! Loads along time: a row for each thread.

use std::collections::HashMap;

use windlass_trace_report::report::{Process, Report};
use windlass_trace_report::rows::{Row, Span};

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{count, time};

const MAX_ROWS: usize = 200;
/// Spans that would be drawn at the same place are one.
const PIXELS: u64 = 1_600;
const TICKS: u64 = 5;
const HEIGHT: u32 = 22;

/// The section, if there is anything to see.
pub fn render(report: &Report) -> String {
    if report.timeline.is_empty() {
        return String::new();
    }
    let processes: HashMap<_, _> = report.processes.iter().map(|process| (process.number, process)).collect();
    let whole = report.wall.max(1);
    let mut body = String::from("<div class=\"timeline\">\n");
    body.push_str(&axis(whole));
    for row in report.timeline.iter().take(MAX_ROWS) {
        body.push_str(&render_row(row, processes.get(&row.number).copied(), whole));
    }
    body.push_str("</div>\n");
    if report.timeline.len() > MAX_ROWS {
        let more = count((report.timeline.len() - MAX_ROWS) as u64, "more thread", "more threads");
        body.push_str(&format!("<p class=\"about\">{more} not shown.</p>\n"));
    }
    // Each has its own part of the row: where many short processes run, one would hide the other.
    let explanation = "Each row is a thread. Loads that are too close to be distinguished are one bar. <span \
                       class=\"legend\"><i class=\"key load\"></i>loads CA certificates</span> <span \
                       class=\"legend\"><i class=\"key connection\"></i>a connection begins</span> <span \
                       class=\"legend\"><i class=\"key life\"></i>the process runs</span>";
    section("timeline", "When it loads", explanation, &body)
}

/// Ticks at round times.
fn axis(whole: u64) -> String {
    let step = step(whole);
    let ticks = (0..=whole / step).map(|tick| {
        let x = (tick * step) as f64 * 100.0 / whole as f64;
        // A label in the middle of the last tick would be cut off.
        let anchor = match tick {
            0 => "start",
            _ if x > 96.0 => "end",
            _ => "middle",
        };
        let label = if tick == 0 { String::from("0") } else { time(tick * step) };
        format!("<text x=\"{x:.2}%\" y=\"12\" text-anchor=\"{anchor}\">{label}</text>")
    });
    format!(
        "<div class=\"label\"></div><svg class=\"axis\" role=\"presentation\" height=\"18\">{}</svg>\n",
        ticks.collect::<String>()
    )
}

/// 1, 2 or 5 times a power of ten, so that there are at most `TICKS` of them.
fn step(whole: u64) -> u64 {
    let mut power = 1u64;
    loop {
        if let Some(factor) = [1, 2, 5].into_iter().find(|factor| whole / (factor * power) <= TICKS) {
            return factor * power;
        }
        power *= 10;
    }
}

fn render_row(row: &Row, process: Option<&Process>, whole: u64) -> String {
    let thread = if row.pid == row.tid { String::new() } else { format!(" · thread {}", row.tid) };
    let at = |moment: u64| moment.min(whole) as f64 * 100.0 / whole as f64;
    let mut marks = String::new();
    if let Some(start) = process.and_then(|process| process.start) {
        let end = process.and_then(|process| process.end).unwrap_or(whole);
        let (left, right) = (at(start), at(end));
        marks.push_str(&format!(
            "<rect class=\"life\" x=\"{left:.3}%\" width=\"{:.3}%\" y=\"6\" height=\"4\"/>",
            (right - left).max(0.0)
        ));
    }
    for span in joined(&row.spans, whole) {
        marks.push_str(&format!(
            "<rect class=\"span\" x=\"{:.3}%\" width=\"{:.3}%\" y=\"2\" height=\"12\"><title>{}</title></rect>",
            at(span.start),
            at(span.start.saturating_add(span.duration)) - at(span.start),
            escaped(&describe(&span))
        ));
    }
    let mut places: Vec<(u64, u64)> = Vec::new();
    for (moment, number) in &row.connections {
        let pixel = moment.saturating_mul(PIXELS) / whole;
        match places.last_mut() {
            Some((last, sum)) if *last == pixel => *sum += number,
            _ => places.push((pixel, *number)),
        }
    }
    for (pixel, number) in places {
        let x = pixel.min(PIXELS) as f64 * 100.0 / PIXELS as f64;
        let title = count(number, "connection", "connections");
        marks.push_str(&format!(
            "<rect class=\"mark\" x=\"{x:.3}%\" width=\"2\" y=\"16\" height=\"6\"><title>{title}</title></rect>"
        ));
    }
    format!(
        "<div class=\"label\"><b>{}</b> {}{thread}</div><svg class=\"row\" height=\"{HEIGHT}\">{marks}</svg>\n",
        escaped(&row.program),
        row.pid
    )
}

fn joined(spans: &[Span], whole: u64) -> Vec<Span> {
    let pixel = whole / PIXELS;
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        let end = span.start.saturating_add(span.duration);
        match joined.last_mut() {
            Some(last) if span.start < last.start.saturating_add(last.duration).saturating_add(pixel) => {
                last.duration = last.duration.max(end.saturating_sub(last.start));
                last.calls = last.calls.saturating_add(span.calls);
                last.certificates = last.certificates.saturating_add(span.certificates);
                last.function = last.function.take().filter(|function| span.function.as_ref() == Some(function));
            }
            _ => joined.push(Span { function: span.function.clone(), ..*span }),
        }
    }
    joined
}

fn describe(span: &Span) -> String {
    let function = span.function.as_deref().unwrap_or("several functions");
    let calls = count(span.calls, "call", "calls");
    let certificates = count(span.certificates, "certificate", "certificates");
    format!("{function}: {calls}, {certificates}, {} from {}", time(span.duration), time(span.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_round_times() {
        let steps = [
            (1, 1),
            (5, 1),
            (499, 100),
            (500, 100),
            (599, 100),
            (600, 200),
            (1_100, 200),
            (u64::MAX / 10, 500_000_000_000_000_000),
        ];
        for (whole, wanted) in steps {
            assert_eq!(step(whole), wanted, "{whole}");
        }
        assert!(step(u64::MAX) > 0);
    }

    #[test]
    fn a_connection_hides_no_load() {
        let spans = vec![Span { start: 0, duration: 5, calls: 1, certificates: 2, function: None }];
        let row = Row { number: 7, pid: 7, tid: 7, program: String::from("a"), spans, connections: vec![(2, 1)] };
        let html = render_row(&row, None, 100);
        let number = |class: &str, name: &str| -> u32 {
            let rect = html.split("<rect ").find(|rect| rect.contains(&format!("class=\"{class}\""))).unwrap();
            let value = rect.split(&format!(" {name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        assert!(number("span", "y") + number("span", "height") <= number("mark", "y"), "{html}");
        assert!(number("mark", "y") + number("mark", "height") <= HEIGHT, "{html}");
    }

    #[test]
    fn bars_that_touch_are_one() {
        let span =
            |start, duration| Span { start, duration, calls: 1, certificates: 2, function: Some(String::from("f")) };
        let joined = joined(&[span(0, 100), span(100, 50), span(900_000, 10)], 1_600_000);
        let bars: Vec<_> = joined.iter().map(|span| (span.start, span.duration, span.calls)).collect();
        assert_eq!(bars, [(0, 150, 2), (900_000, 10, 1)]);
    }
}
