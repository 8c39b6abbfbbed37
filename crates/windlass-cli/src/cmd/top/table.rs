//! `top` for people.

use windlass_top::snapshot::{By, Entry, Missed, Snapshot, Sort, program, watched};

use super::columns::{Column, cut, fitted};
use crate::output::columns;
use crate::output::terminal::printable;

/// Names are chosen by strangers: they don't get more room than this.
const NAME: usize = 28;
/// A path is the longest of them.
const SOURCE: usize = 200;

/// Everything, with the totals above.
pub fn whole(snapshot: &Snapshot, width: Option<u16>) -> String {
    format!("{}\n{}", head(snapshot), table(snapshot, width.map(usize::from)))
}

/// As much as a terminal of this size can show.
pub fn screen(snapshot: &Snapshot, sort: Sort, (width, height): (u16, u16)) -> String {
    let mut lines: Vec<String> = head(snapshot).lines().map(str::to_owned).collect();
    let order = match sort {
        Sort::Bytes => "bytes",
        Sort::Opens => "opens",
        Sort::Rate => "rate",
    };
    let keys = if snapshot.watched {
        format!("q: end   s: order ({order})   p: by program")
    } else {
        "q: end   p: by program".to_owned()
    };
    lines.push(keys);
    lines.push(String::new());
    lines.extend(table(snapshot, Some(usize::from(width))).lines().map(str::to_owned));
    let height = usize::from(height).max(1);
    if lines.len() > height {
        let hidden = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(format!("... and {hidden} more"));
    }
    lines.iter().map(|line| cut(line, usize::from(width)) + "\n").collect()
}

fn head(snapshot: &Snapshot) -> String {
    let places = places(snapshot);
    if !snapshot.watched {
        let why = snapshot.why_not_watched.as_deref().unwrap_or_default();
        let mut text = format!("Opens are not watched: {}\n", printable(why));
        text.push_str(&format!(
            "Not shown: opens and their sizes; short-lived processes; files open in containers. Known: {places}\n"
        ));
        if snapshot.missed.processes > 0 {
            text.push_str(&format!(
                "Also not shown: {} processes that this user may not examine\n",
                snapshot.missed.processes
            ));
        }
        text.push_str(&missing(&snapshot.missed));
        return text;
    }
    let totals = &snapshot.totals;
    let mut text = format!(
        "{} opens of {} by {} process{} in {:.0} s; watching {places}\n",
        totals.opens.unwrap_or(0),
        columns::size(totals.bytes.unwrap_or(0)),
        totals.processes,
        if totals.processes == 1 { "" } else { "es" },
        snapshot.seconds,
    );
    if snapshot.missed.overflows > 0 {
        text.push_str(&format!(
            "Events were lost {} times: there were more than the kernel keeps\n",
            snapshot.missed.overflows
        ));
    }
    text.push_str(&missing(&snapshot.missed));
    text
}

/// What strangers can bring about, and what nobody should have to guess.
fn missing(missed: &Missed) -> String {
    let mut text = String::new();
    if let Some(why) = &missed.failed {
        text.push_str(&format!("Not all events could be read: {}\n", printable(why)));
    }
    let left_out = &missed.left_out;
    let parts = [
        (left_out.places, "place or home", "places or homes"),
        (left_out.directories, "directory with too many files", "directories with too many files"),
        (left_out.roots, "root directory", "root directories"),
    ];
    let words = |(count, one, many): &(usize, &str, &str)| format!("{count} {}", if *count == 1 { one } else { many });
    let parts: Vec<_> = parts.iter().filter(|(count, ..)| *count > 0).map(words).collect();
    if !parts.is_empty() {
        text.push_str(&format!("Too much to watch; left out: {}\n", parts.join(", ")));
    }
    match missed.unread {
        0 => {}
        1 => text.push_str("1 process was not searched for TLS libraries: it is too large, or blocks readers\n"),
        count => text.push_str(&format!(
            "{count} processes were not searched for TLS libraries: they are too large, or block readers\n"
        )),
    }
    text
}

/// What is watched, in numbers.
pub fn places(snapshot: &Snapshot) -> String {
    let (files, directories, in_them) = watched(&snapshot.sources);
    let count = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let in_them = if snapshot.watched { format!(" with {}", count(in_them, "file", "files")) } else { String::new() };
    format!("{} and {}{in_them}", count(files, "file", "files"), count(directories, "directory", "directories"))
}

fn table(snapshot: &Snapshot, width: Option<usize>) -> String {
    let rows = &snapshot.rows;
    if rows.is_empty() {
        return match snapshot.watched {
            true => "No process has opened any of it so far.\n".to_owned(),
            false => "No process that this user can examine has a TLS library, or holds any of it open.\n".to_owned(),
        };
    }
    let column = |title, is_number, cell: fn(&Entry) -> String| Column {
        title,
        is_number,
        cells: rows.iter().map(cell).collect(),
    };
    let mut all = match snapshot.by {
        By::Process => vec![column("PID", true, pid), column("USER", false, user), column("PROGRAM", false, name)],
        By::Program => vec![
            column("PROGRAM", false, name),
            column("PROCESSES", true, |row| row.processes.to_string()),
            column("USER", false, user),
        ],
    };
    if snapshot.watched {
        all.extend([column("OPENS", true, opens), column("/MIN", true, rate), column("BYTES", true, bytes)]);
    }
    all.extend([column("TLS LIBRARY", false, library), column("WINDLASS", false, windlass)]);
    if !snapshot.watched {
        all.push(column("OPEN", true, descriptors));
    }
    all.push(column("SOURCE", false, source));
    fitted(all, width)
}

fn pid(row: &Entry) -> String {
    row.pid.map(|pid| pid.to_string()).unwrap_or_default()
}

fn user(row: &Entry) -> String {
    row.user.as_deref().map(|user| cut(&printable(user), NAME)).unwrap_or_default()
}

fn name(row: &Entry) -> String {
    let several =
        if row.pid.is_none() && row.unknown.is_some() { format!("{} ", row.processes) } else { String::new() };
    // Words of our own are not cut.
    let room = if row.unknown.is_some() { usize::MAX } else { NAME };
    several + &cut(&printable(&program(row)), room)
}

fn opens(row: &Entry) -> String {
    row.opens.map(|opens| opens.to_string()).unwrap_or_default()
}

fn rate(row: &Entry) -> String {
    row.opens_per_minute.map(|rate| format!("{rate:.0}")).unwrap_or_default()
}

fn bytes(row: &Entry) -> String {
    row.bytes.map(columns::size).unwrap_or_default()
}

fn descriptors(row: &Entry) -> String {
    row.open_descriptors.filter(|count| *count > 0).map(|count| count.to_string()).unwrap_or_default()
}

/// The one that matters most, and how many others there are.
fn library(row: &Entry) -> String {
    let whole = row.libraries.iter().filter(|library| library.library.whole).count();
    let Some(first) = row.libraries.first() else { return String::new() };
    let others = whole.saturating_sub(1);
    let others = if others > 0 { format!(" +{others}") } else { String::new() };
    cut(&printable(&first.name), NAME) + &others
}

fn windlass(row: &Entry) -> String {
    row.windlass.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn source(row: &Entry) -> String {
    let Some(first) = row.sources.first() else { return String::new() };
    let elsewhere = first.mount_namespace.map(|namespace| format!(" (mnt:{})", namespace.0)).unwrap_or_default();
    let others = row.sources.len() - 1;
    let others = if others > 0 { format!(" +{others}") } else { String::new() };
    cut(&printable(&first.path.to_string_lossy()), SOURCE) + &elsewhere + &others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let mut missed = Missed::default();
        assert_eq!(missing(&missed), "");
        (missed.left_out.places, missed.left_out.roots, missed.unread) = (1, 2, 1);
        missed.failed = Some("x\x1b".to_owned());
        let text = missing(&missed);
        assert!(text.starts_with("Not all events could be read: x\\u{1b}\n"), "{text}");
        assert!(text.contains(": 1 place or home, 2 root directories\n1 process was not searched"), "{text}");
    }
}
