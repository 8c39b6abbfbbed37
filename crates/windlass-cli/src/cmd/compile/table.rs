//! `compile` for people.

use windlass_compile::report::{Report, Row, State};

use crate::output::columns;
use crate::output::terminal::printable;

/// The table, with the directory above it, and below it what else there is to say.
pub fn render(report: &Report, check: bool) -> String {
    let mut text = title(report, check);
    text.push_str(&columns::table(
        ["SOURCE", "STATE", "ANCHORS", "SIZE"],
        &[2, 3],
        report.sources.iter().map(cells).collect(),
    ));
    let notes: String = report.sources.iter().filter_map(note).collect();
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes);
    }
    text
}

fn title(report: &Report, check: bool) -> String {
    let mut title = format!("{} (", printable(&report.directory));
    if check {
        title.push_str("compiled stores");
    } else {
        let versions: Vec<_> = report.libcrypto.iter().map(|judge| printable(&judge.version)).collect();
        title.push_str(&format!("compiled stores; every certificate in them accepted by {}", versions.join(" and ")));
    }
    if let Some(root) = &report.root {
        title.push_str(&format!("; sources below {}", printable(root)));
    }
    title.push_str(")\n\n");
    title
}

fn cells(row: &Row) -> [String; 4] {
    let kind = if row.kind == "capath" { " (directory)" } else { "" };
    let anchors = row.anchors.map(|anchors| anchors.to_string()).unwrap_or_default();
    let size = row.bytes.map(columns::size).unwrap_or_default();
    [format!("{}{kind}", printable(&row.path)), row.state.words().into(), anchors, size]
}

/// More about a row, in a line of its own.
fn note(row: &Row) -> Option<String> {
    let goes_on = match row.state {
        // That is all there is to say.
        State::Missing if !row.named => return None,
        State::Absent if row.kind == "cafile" => return None,
        // The error says it.
        _ if row.named && row.state != State::Missing && !row.state.is_stale() && row.store.is_none() => return None,
        State::Unsupported | State::Unreadable => "; programs use it directly, as without Windlass",
        _ => "",
    };
    let keys = row.keys_not_decoded.filter(|keys| *keys > 0);
    let keys = keys.map(|keys| format!("libcrypto can't use the public key of {keys} certificates in it"));
    let said = [row.detail.clone(), keys].into_iter().flatten().collect::<Vec<_>>().join("; ");
    // Most details begin with the path that they are about.
    let path = if said.starts_with(&row.path) { String::new() } else { format!("{}: ", row.path) };
    (!said.is_empty()).then(|| format!("{}{goes_on}\n", printable(&(path + &said))))
}
