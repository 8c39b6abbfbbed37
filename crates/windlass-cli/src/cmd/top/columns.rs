//! The columns of `top`, fitted to a terminal: what matters least is shortened or left out first.

use unicode_width::UnicodeWidthStr;

use crate::output::columns::fitting;

/// Blanks between columns.
const GAP: usize = 2;

/// A column of the table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The title above the column.
    pub title: &'static str,
    /// A number: set flush right.
    pub is_number: bool,
    /// One for each row.
    pub cells: Vec<String>,
}

/// What is done, one after the other, until all fits.
enum Step {
    /// Its cells are cut, but not to less than this.
    Shorten(&'static str, usize),
    LeaveOut(&'static str),
}

/// What is opened, how much, and whether Windlass serves it stays longest.
const STEPS: [Step; 8] = [
    Step::Shorten("SOURCE", 24),
    Step::Shorten("PROGRAM", 16),
    Step::LeaveOut("/MIN"),
    Step::LeaveOut("TLS LIBRARY"),
    Step::Shorten("PROGRAM", 10),
    Step::LeaveOut("SOURCE"),
    Step::LeaveOut("USER"),
    Step::LeaveOut("OPENS"),
];

/// The table, in lines of at most so many columns, if it can be done.
pub fn fitted(columns: Vec<Column>, width: Option<usize>) -> String {
    let width = width.unwrap_or(usize::MAX);
    let mut shown = columns.clone();
    for taken in 1..=STEPS.len() {
        if total(&shown) <= width {
            break;
        }
        // From the start again: what is left out leaves room for what was shortened before.
        shown = after(&columns, &STEPS[..taken], width);
    }
    let columns = shown;
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    (0..=rows).map(|row| line(&columns, row.checked_sub(1))).collect()
}

/// The columns after these steps.
fn after(columns: &[Column], steps: &[Step], width: usize) -> Vec<Column> {
    let is_out =
        |column: &Column| steps.iter().any(|step| matches!(step, Step::LeaveOut(title) if *title == column.title));
    let mut columns: Vec<_> = columns.iter().filter(|column| !is_out(column)).cloned().collect();
    for step in steps {
        let Step::Shorten(title, least) = step else { continue };
        let excess = total(&columns).saturating_sub(width);
        for column in columns.iter_mut().filter(|column| column.title == *title && excess > 0) {
            let width = column.width().saturating_sub(excess).max(*least);
            // What is behind tells more of a path than what all of them begin with.
            let cut = if *title == "SOURCE" { cut_start } else { cut };
            column.cells.iter_mut().for_each(|cell| *cell = cut(cell, width));
        }
    }
    columns
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.width()).max().unwrap_or(0).max(self.title.width())
    }
}

fn total(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + GAP).sum::<usize>().saturating_sub(GAP)
}

/// The titles, or a row.
fn line(columns: &[Column], row: Option<usize>) -> String {
    let mut line = String::new();
    for column in columns {
        let cell = row.map_or(column.title, |row| column.cells.get(row).map_or("", String::as_str));
        let blanks = " ".repeat(column.width().saturating_sub(cell.width()));
        let (before, behind) = if column.is_number { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
        for part in [before, cell, behind, "  "] {
            line.push_str(part);
        }
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// The beginning of a text, in at most this many columns.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = fitting(text.chars(), width);
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// The end of `text`, in `width` columns.
fn cut_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let end: String = fitting(text.chars().rev(), width).chars().rev().collect();
    if width > 0 { format!("…{end}") } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let row = [
            ("PID", "1234567"),
            ("USER", "www-data"),
            ("PROGRAM", "python3.11 a-long-script.py"),
            ("OPENS", "147"),
            ("/MIN", "1421"),
            ("BYTES", "644 KiB"),
            ("TLS LIBRARY", "OpenSSL 3.0.19 (static)"),
            ("WINDLASS", "no: OpenSSL is linked in"),
            ("SOURCE", "/usr/lib/python3/dist-packages/certifi/cacert.pem +1"),
        ];
        let is_number = |title| ["PID", "OPENS", "/MIN", "BYTES"].contains(&title);
        row.map(|(title, cell)| Column { title, is_number: is_number(title), cells: vec![cell.to_owned()] }).into()
    }

    #[test]
    fn a_line_fits() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!((&*cut_start("abcd", 3), &*cut_start("漢字漢字", 4), &*cut_start("abcd", 0)), ("…cd", "…字", ""));
    }

    #[test]
    fn without_a_width_nothing_is_cut() {
        let text = fitted(columns(), None);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("    PID  USER      PROGRAM "), "{text}");
        assert!(lines[1].starts_with("1234567  www-data  python3.11 a-long-script.py    147"), "{text}");
        assert!(lines[1].ends_with("no: OpenSSL is linked in  /usr/lib/python3/dist-packages/certifi/cacert.pem +1"));
    }

    #[test]
    fn what_matters_most_is_there_in_narrow_windows() {
        for (width, wanted) in [
            (140, &["BYTES", "WINDLASS", "SOURCE", "TLS LIBRARY", "/MIN"][..]),
            (100, &["BYTES", "WINDLASS", "SOURCE", "certifi/cacert.pem +1", "linked in"]),
            (80, &["BYTES", "WINDLASS", "no: OpenSSL is linked in", "OPENS", "USER", "python3.11 a-long"]),
            (60, &["BYTES", "644 KiB", "WINDLASS", "no: OpenSSL is linked in"]),
        ] {
            let text = fitted(columns(), Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
            assert!(wanted.iter().all(|part| text.contains(part)), "{width}: {text}");
        }
    }
}
