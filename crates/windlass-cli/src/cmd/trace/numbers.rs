//! Numbers and names of a trace, as people read them.

use std::borrow::Cow;

use windlass_trace_report::Source;

/// Nanoseconds with three digits that count: `17.3 ms`.
pub fn time(nanoseconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| nanoseconds >= *unit) else {
        return format!("{nanoseconds} ns");
    };
    let value = nanoseconds as f64 / unit as f64;
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {name}")
}

/// A part of a whole.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Bytes, which can be less than nothing where more was freed than allocated.
pub fn bytes(bytes: i64) -> String {
    let size = bytes.unsigned_abs();
    let text = match size {
        0..1_024 => format!("{size} B"),
        1_024..1_048_576 => format!("{} KiB", (size + 512) / 1_024),
        _ => format!("{:.1} MiB", size as f64 / 1_048_576.0),
    };
    if bytes < 0 { format!("−{text}") } else { text }
}

/// Bytes, where they are known.
pub fn bytes_if_known(known: Option<i64>) -> String {
    known.map_or_else(|| String::from("not known"), bytes)
}

/// `1 load`, `2 loads`, `12,345 loads`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many times as much, in words that can't be misread.
pub fn ratio(stock: u64, windlass: u64) -> Option<String> {
    (stock > 0).then(|| percent(windlass as f64 / stock as f64))
}

/// What a load was asked to read, in one line.
pub fn sources(sources: &[Source]) -> String {
    fn one(source: &Source) -> Cow<'_, str> {
        match (source.kind.as_str(), source.path.as_deref()) {
            ("memory", _) => Cow::Borrowed("memory"),
            ("file", Some(path)) => Cow::Borrowed(path),
            ("directory", Some(path)) => Cow::Owned(format!("{path}/")),
            (kind, Some(path)) => Cow::Owned(format!("{path} ({})", kind.replace('-', " "))),
            (kind, None) => Cow::Owned(kind.replace('-', " ")),
        }
    }
    if sources.is_empty() { String::from("not known") } else { sources.iter().map(one).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let times =
            [(0, "0 ns"), (999, "999 ns"), (1_500, "1.50 µs"), (17_340_000, "17.3 ms"), (999_960_000, "1000 ms")];
        for (time_, text) in times {
            assert_eq!(time(time_), text);
        }
        assert_eq!(time(63_000_000_000), "63.0 s");
    }

    #[test]
    fn other_numbers_are_short() {
        assert_eq!((bytes(-2048), bytes(100), bytes(891_289)), ("−2 KiB".into(), "100 B".into(), "870 KiB".into()));
        assert_eq!((percent(0.0), percent(0.0312), percent(0.75)), ("0 %".into(), "3.1 %".into(), "75 %".into()));
        assert_eq!(
            (count(1, "load", "loads"), count(12_345, "load", "loads")),
            ("1 load".into(), "12,345 loads".into())
        );
    }
}
