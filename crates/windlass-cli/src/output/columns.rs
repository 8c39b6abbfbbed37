//! Plain columns, as all tables of the command have them, and numbers for people.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use unicode_width::UnicodeWidthChar;

/// Blanks between columns.
pub const GAP: u16 = 2;

/// A table without lines; `numbers` are the columns that are set flush right. Each line has its line end.
pub fn table<const N: usize>(header: [&str; N], numbers: &[usize], rows: Vec<[String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP));
        if numbers.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// As many as leave room for a sign that something is missing.
pub fn fitting(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= width
    };
    characters.take_while(fits).collect()
}

/// A number of bytes, as `412 KiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", (bytes + unit / 2) / unit))
}

/// How long ago something was, as `3 h`.
pub fn age(age: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(86400, "d"), (3600, "h"), (60, "min")];
    let seconds = age.as_secs();
    let unit = UNITS.into_iter().find(|(unit, _)| seconds >= *unit);
    unit.map_or_else(|| format!("{seconds} s"), |(unit, name)| format!("{} {name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let sizes = [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (421_888, "412 KiB"), (160 << 20, "160 MiB")];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text);
        }
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (86_400 * 3, "3 d")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = vec![["a".into(), "1".into()], ["bcd".into(), "23".into()]];
        assert_eq!(table(["X", "N"], &[1], rows), "X     N\na     1\nbcd  23\n");
    }
}
