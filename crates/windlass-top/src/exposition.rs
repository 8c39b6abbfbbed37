//! The metrics as OpenMetrics text.

use std::fmt;
use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::series::{Labels, Place, SETS, Series, Values};
use super::source::{LeftOut, SourceKind};
use super::worker::State;

/// The format, as the answer's header names it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is shown, copied from the state of a watch.
#[derive(Debug)]
pub struct Exposition {
    series: Series,
    start: f64,
    sources: [u64; 2],
    left_out: LeftOut,
    overflows: u64,
    own_opens: u64,
    unread: u64,
    failed: bool,
}

impl Exposition {
    /// Copies the state, so that nobody waits while it is written.
    pub fn of(state: &State) -> Exposition {
        let count = |kind| state.sources.iter().filter(|source| source.kind == kind).count() as u64;
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Exposition {
            series: state.ledger.series.clone().unwrap_or_default(),
            start: since.saturating_sub(state.started.elapsed()).as_secs_f64().round(),
            sources: [count(SourceKind::File), count(SourceKind::Directory)],
            left_out: state.left_out,
            overflows: state.overflows,
            own_opens: state.ledger.left_out,
            unread: state.ledger.rows().filter(|(_, row)| row.unread).count() as u64,
            failed: state.failed.is_some(),
        }
    }

    /// The whole text.
    pub fn text(self) -> String {
        let mut registry = Registry::with_prefix("windlass");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // A string takes everything.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// The labels of a series, each with its value.
fn pairs(labels: &Labels) -> [(&'static str, &str); 6] {
    let (pod, container) = match &labels.place {
        Place::Host => ("", ""),
        Place::Other => ("other", "other"),
        Place::In(container) => {
            (container.pod.as_deref().unwrap_or_default(), container.id.as_deref().unwrap_or_default())
        }
    };
    [
        ("pod_uid", pod),
        ("container_id", container),
        ("library", &labels.library),
        ("linkage", labels.linkage),
        ("served", labels.served),
        ("reason", &labels.reason),
    ]
}

/// Writes metrics of one kind each.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    /// A metric without labels.
    fn one(&mut self, name: &str, help: &str, unit: Option<&Unit>, metric: &impl EncodeMetric) -> fmt::Result {
        metric.encode(self.0.encode_descriptor(name, help, unit, metric.metric_type())?)
    }

    /// A metric with a value for each of these labels.
    fn family<'l, M: EncodeMetric, const N: usize>(
        &mut self,
        (name, help, unit): (&str, &str, Option<&Unit>),
        values: impl Iterator<Item = ([(&'static str, &'l str); N], M)>,
    ) -> fmt::Result {
        let mut values = values.peekable();
        let Some((_, first)) = values.peek() else { return Ok(()) };
        let mut encoder = self.0.encode_descriptor(name, help, unit, first.metric_type())?;
        for (labels, metric) in values {
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A counter with a value for each series.
    fn series(&mut self, all: &Series, name: &str, help: &str, of: fn(&Values) -> u64) -> fmt::Result {
        let values = all.all().map(|(labels, values)| (pairs(labels), ConstCounter::new(of(values))));
        self.family((name, help, None), values)
    }
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut to = Writer(encoder);
        let all = &self.series;
        to.series(all, "opens", "Files of trust sources that were opened", |values| values.opens)?;
        to.series(all, "listings", "Directories of trust sources that were opened", |values| values.listings)?;
        to.series(all, "processes", "Processes that opened a trust source", |values| values.processes)?;
        to.series(all, "closes", "Closes of files of which the open was seen", |values| values.closes)?;
        let bytes = all.all().map(|(labels, values)| (pairs(labels), ConstCounter::new(values.bytes)));
        to.family(("opened", "Total size of the opened files", Some(&Unit::Bytes)), bytes)?;
        let held = all.all().map(|(labels, values)| (pairs(labels), ConstCounter::new(values.held.as_secs_f64())));
        to.family(("held_open", "Time between these opens and closes", Some(&Unit::Seconds)), held)?;
        let running = all.all().map(|(labels, values)| (pairs(labels), gauge(values.running)));
        to.family(("running_processes", "Processes that opened a trust source and still run", None), running)?;

        to.one("event_overflows", "How often the kernel dropped events", None, &ConstCounter::new(self.overflows))?;
        to.one("own_opens", "Opens by windlass itself", None, &ConstCounter::new(self.own_opens))?;
        let failed = gauge(u64::from(self.failed));
        to.one("watch_failed", "Whether events could not be read", None, &failed)?;
        let unread = gauge(self.unread);
        to.one("unread_processes", "Processes that were not searched for TLS libraries", None, &unread)?;
        let kinds = ["file", "directory"].map(|kind| [("kind", kind)]);
        let watched = kinds.into_iter().zip(self.sources.map(gauge));
        to.family(("watched_sources", "Trust sources that are watched", None), watched)?;
        let LeftOut { places, directories, roots } = self.left_out;
        let left_out = [("places", places), ("directories", directories), ("roots", roots)];
        let left_out = left_out.map(|(what, count)| ([("what", what)], gauge(count as u64)));
        to.family(("sources_left_out", "Trust sources beyond the limits", None), left_out.into_iter())?;

        let containers = all.containers().count() as u64;
        to.one("containers", "Containers that have series of their own", None, &gauge(containers))?;
        let sets = all.all().filter(|(labels, _)| matches!(labels.place, Place::In(_))).count() as u64;
        to.one("container_series", "Label sets of containers", None, &gauge(sets))?;
        let most = gauge(SETS as u64);
        to.one("container_series_limit", "The most label sets of containers", None, &most)?;
        let start = ConstGauge::new(self.start);
        to.one("start_time", "When the watch began, since the Unix epoch", Some(&Unit::Seconds), &start)?;
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        to.one("build", "The version of windlass", None, &version)
    }
}

fn gauge(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_machine::processes::Container;

    use super::super::who::Who;
    use super::*;

    fn exposition(series: Series) -> Exposition {
        Exposition {
            series,
            start: 1.0,
            sources: [2, 1],
            left_out: LeftOut::default(),
            overflows: 0,
            own_opens: 0,
            unread: 0,
            failed: false,
        }
    }

    #[test]
    fn each_series_has_all_labels() {
        let mut series = Series::default();
        let container = Container { pod: Some("p".into()), id: Some("c".into()), is_of_user: false };
        let values = Values { opens: 3, bytes: 9, held: Duration::from_millis(1500), ..Values::default() };
        series.add(Labels::new(&Who::TooSoon, &container, None, false), values, Duration::ZERO);
        let text = exposition(series).text();
        let labels = r#"{pod_uid="p",container_id="c",library="unknown",linkage="",served="unknown",reason="gone"}"#;
        for line in [
            format!("windlass_opens_total{labels} 3"),
            format!("windlass_opened_bytes_total{labels} 9"),
            format!("windlass_held_open_seconds_total{labels} 1.5"),
            r#"windlass_watched_sources{kind="directory"} 1"#.to_owned(),
            "# UNIT windlass_opened_bytes bytes".to_owned(),
            format!(r#"windlass_build_info{{version="{}"}} 1"#, env!("CARGO_PKG_VERSION")),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn a_watch_that_has_seen_nothing_has_no_series() {
        let text = exposition(Series::default()).text();
        assert!(!text.contains("windlass_opens") && text.contains("\nwindlass_container_series 0\n"), "{text}");
    }
}
