//! Loads along time, with a resolution that bounds the memory for a long run.

use std::collections::BTreeMap;

use super::super::event::Load;

/// The limit on spans; beyond it, neighbours are joined until half of the spans are left.
const MAX_SPANS: usize = 20_000;
const MAX_MARKS: usize = 20_000;
/// In nanoseconds: the first distance at which neighbours are joined, and the last (two days).
const FLOOR: u64 = 1_000_000;
const CEILING: u64 = FLOOR << 27;

/// A period in which a thread loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub pid: u32,
    pub tid: u32,
    pub start: u64,
    pub end: u64,
    /// Loads in it.
    pub calls: u64,
    pub certificates: u64,
    /// Number of the entry point; `None` for several.
    pub entry: Option<usize>,
}

/// All loads and connections.
#[derive(Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    /// Loads of one thread closer together than this are one span.
    gap: u64,
    connections: BTreeMap<(u32, u32, u64), u64>,
    /// Connections closer together than this are not distinguished.
    grain: u64,
    not_listed: u64,
}

impl Timeline {
    /// All spans, in no particular order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Connections: process, thread, time, and count.
    pub fn connections(&self) -> impl Iterator<Item = (u32, u32, u64, u64)> {
        self.connections.iter().map(|((pid, tid, time), count)| (*pid, *tid, *time, *count))
    }

    /// The distance in nanoseconds below which neighbouring loads of a thread were joined.
    pub fn gap(&self) -> u64 {
        self.gap
    }

    /// Loads and connections that are missing here, because there were too many threads.
    pub fn not_listed(&self) -> u64 {
        self.not_listed
    }

    /// Adds a load.
    pub fn load(&mut self, load: &Load, entry: Option<usize>) {
        let Some(start) = load.t else {
            return;
        };
        if self.spans.len() >= MAX_SPANS {
            self.join();
        }
        if self.spans.len() >= MAX_SPANS {
            self.not_listed += 1;
            return;
        }
        let certificates = load.parsed().unwrap_or(0);
        let end = start.saturating_add(load.wall.unwrap_or(0));
        self.spans.push(Span { pid: load.pid, tid: load.tid, start, end, calls: load.calls(), certificates, entry });
    }

    /// Adds a connection.
    pub fn connection(&mut self, pid: u32, tid: u32, time: Option<u64>) {
        let Some(time) = time else {
            return;
        };
        while self.connections.len() >= MAX_MARKS && self.grain < CEILING {
            self.grain = (self.grain * 2).max(FLOOR);
            let mut coarser = BTreeMap::new();
            for ((pid, tid, time), count) in std::mem::take(&mut self.connections) {
                *coarser.entry((pid, tid, time - time % self.grain)).or_default() += count;
            }
            self.connections = coarser;
        }
        if self.connections.len() >= MAX_MARKS {
            self.not_listed += 1;
            return;
        }
        *self.connections.entry((pid, tid, time - time % self.grain.max(1))).or_default() += 1;
    }

    /// Joins neighbours at increasing distances, until half of the room is free or nothing is left to join.
    fn join(&mut self) {
        while self.spans.len() > MAX_SPANS / 2 && self.gap < CEILING {
            self.gap = (self.gap * 2).max(FLOOR);
            let gap = self.gap;
            self.spans.sort_unstable_by_key(|span| (span.pid, span.tid, span.start));
            self.spans.dedup_by(|next, kept| {
                let near = (next.pid, next.tid) == (kept.pid, kept.tid) && next.start <= kept.end.saturating_add(gap);
                if near {
                    kept.end = kept.end.max(next.end);
                    kept.calls = kept.calls.saturating_add(next.calls);
                    kept.certificates = kept.certificates.saturating_add(next.certificates);
                    kept.entry = kept.entry.filter(|entry| next.entry == Some(*entry));
                }
                near
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;
    use super::*;
    use crate::event::Event;

    fn at(t: u64, pid: u32) -> Box<Load> {
        let line = load(pid, 1, 0, "").replace("\"t\":100", &format!("\"t\":{t}"));
        let Ok(Event::Load(load)) = serde_json::from_str(&line) else { panic!("{line}") };
        load
    }

    #[test]
    fn a_long_run_keeps_its_shape() {
        let mut timeline = Timeline::default();
        for number in 0..100_000u64 {
            timeline.load(&at(number * 1_000_000, 1), Some(0));
        }
        assert!(timeline.spans().len() <= MAX_SPANS);
        assert_eq!(timeline.spans().iter().map(|span| span.calls).sum::<u64>(), 100_000);
        assert!(timeline.gap() > 0 && timeline.spans().iter().all(|span| span.entry == Some(0)));
    }

    #[test]
    fn many_processes_are_bounded_too() {
        let mut timeline = Timeline::default();
        for pid in 0..(MAX_SPANS as u32 + 100) {
            timeline.load(&at(5, pid), None);
            timeline.connection(pid, 1, Some(7));
        }
        assert!(timeline.spans().len() <= MAX_SPANS);
        assert!(timeline.connections().count() <= MAX_MARKS);
        assert_eq!(timeline.not_listed(), 200);
    }
}
