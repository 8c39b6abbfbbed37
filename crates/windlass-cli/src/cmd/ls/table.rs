//! `ls` as a table for people.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;
use windlass_machine::anchors::listing::{Anchor, Listing};

use crate::output::columns::{self, GAP};
use crate::output::terminal::{Terminal, printable};

const HEADER: [&str; 5] = ["SUBJECT", "EXPIRES", "KEY", "SHA-256", "NOTE"];
/// Enough to tell certificates apart and to search for; the JSON has it whole.
const FINGERPRINT_DIGITS: usize = 16;
/// A subject narrower than this is no help: the table is wider than the terminal then.
const MIN_SUBJECT: usize = 12;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The table, with the source above and the totals below. `also` is a directory that OpenSSL uses beside the source.
pub fn render(listing: &Listing, also: Option<&Path>, terminal: Terminal) -> String {
    let source = &listing.source;
    let title = format!("{} ({}; {})", source.path, source.kind, source.reason);
    let mut text = format!("{}\n\n", terminal.paint(DIM, &printable(&title)));

    let mut rows: Vec<_> = listing.anchors.iter().map(cells).collect();
    fit(&mut rows, terminal);
    let styles = std::iter::once(BOLD).chain(listing.anchors.iter().map(style));
    // No cell has a line end, so lines and anchors correspond.
    for (line, style) in columns::table(HEADER, &[], rows).lines().zip(styles) {
        text.push_str(&terminal.paint(style, line));
        text.push('\n');
    }
    text.push_str(&format!("\n{}\n", summary(listing)));
    if let Some(directory) = also {
        let directory = directory.to_string_lossy();
        text.push_str(&format!("OpenSSL also looks up certificates in {}, by hash\n", printable(&directory)));
    }
    text
}

fn cells(anchor: &Anchor) -> [String; HEADER.len()] {
    let fingerprint: String = anchor.sha256_fingerprint.chars().take(FINGERPRINT_DIGITS).collect();
    let date = anchor.not_after.split('T').next().unwrap_or_default();
    [printable(&anchor.name).into_owned(), date.to_owned(), anchor.key.to_string(), fingerprint, notes(anchor)]
}

fn notes(anchor: &Anchor) -> String {
    let notes = [
        (!anchor.ca, "no CA"),
        (anchor.expired, "expired"),
        (anchor.not_yet_valid, "not yet valid"),
        (anchor.duplicate, "duplicate"),
        (anchor.shares_subject, "shares subject"),
    ];
    let notes: Vec<_> = notes.into_iter().filter_map(|(is, note)| is.then_some(note)).collect();
    notes.join(", ")
}

fn style(anchor: &Anchor) -> Style {
    if anchor.expired || anchor.not_yet_valid {
        RED
    } else if anchor.duplicate {
        YELLOW
    } else {
        Style::new()
    }
}

/// Cuts subjects, so that rows fit the terminal. The other columns are short, and useless when cut.
fn fit(rows: &mut [[String; HEADER.len()]], terminal: Terminal) {
    let Some(width) = terminal.width() else {
        return;
    };
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.chain([HEADER[column].width()]).max().unwrap_or(0) + usize::from(GAP)
    };
    let others: usize = (1..HEADER.len()).map(widest).sum::<usize>() - usize::from(GAP);
    let room = usize::from(width).saturating_sub(others + usize::from(GAP)).max(MIN_SUBJECT);
    for [subject, ..] in rows {
        if subject.width() > room {
            *subject = cut(subject, room);
        }
    }
}

/// The start of `text`, in `room` columns, with a sign that something is missing.
fn cut(text: &str, room: usize) -> String {
    format!("{}…", columns::fitting(text.chars(), room).trim_end())
}

fn summary(listing: &Listing) -> String {
    let summary = &listing.summary;
    // A certificate of no CA is an anchor for itself at most.
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let mut text = match (summary.anchors - summary.not_ca, summary.not_ca) {
        (anchors, 0) => format!("{anchors} trust anchor{}", plural(anchors)),
        (0, others) => format!("{others} certificate{} of no CA", plural(others)),
        (anchors, others) => {
            format!("{anchors} trust anchor{} and {others} certificate{} of no CA", plural(anchors), plural(others))
        }
    };
    let details =
        [(summary.duplicates, "duplicate"), (summary.expired, "expired"), (summary.not_yet_valid, "not yet valid")];
    for (count, detail) in details.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {detail}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn subjects_are_cut_by_columns_not_by_characters() {
        assert_eq!(cut("AffirmTrust Networking", 14), "AffirmTrust N…");
        assert_eq!(cut("AffirmTrust Networking", 13), "AffirmTrust…");
        assert_eq!(cut("政府憑證管理中心", 6), "政府…");
    }
}
