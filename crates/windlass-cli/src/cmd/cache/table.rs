//! `cache status` and `cache clear` for people.

use std::time::Duration;

use unicode_width::UnicodeWidthStr;
use windlass_compile::status::{Directory, DirectoryState, Removed, Status, Store};

use crate::output::columns;
use crate::output::terminal::printable;
use crate::output::wrap::wrapped;

/// All directories, in order, in lines of this width as far as names allow that.
pub fn status(status: &Status, only: bool, width: Option<u16>) -> String {
    let mut text = String::new();
    for (place, directory) in status.directories.iter().enumerate() {
        text.push_str(&format!("{}. {}{}\n", place + 1, printable(&directory.directory), said(directory)));
        if !directory.stores.is_empty() {
            text.push_str(&format!("\n{}\n", stores(&directory.stores, width)));
        }
    }
    match (only, status.directories.is_empty()) {
        (true, true) => text.push_str("WINDLASS_STORE is set, but not to an absolute path: no directory is used\n"),
        (true, false) => text.push_str("WINDLASS_STORE is set: no other directory is used\n"),
        (false, _) => {}
    }
    text
}

/// The removed files, one on a line.
pub fn removed(removed: &Removed) -> String {
    let mut text: String =
        removed.removed.iter().chain(&removed.leftovers).map(|path| format!("removed {}\n", printable(path))).collect();
    if text.is_empty() {
        text = format!("{}: nothing to remove\n", printable(&removed.directory));
    }
    text
}

fn said(directory: &Directory) -> String {
    let detail = || printable(directory.detail.as_deref().unwrap_or_default()).into_owned();
    match directory.state {
        DirectoryState::Present if directory.stores.is_empty() => String::from(" (empty)"),
        DirectoryState::Present => String::new(),
        DirectoryState::Absent => String::from(" (does not exist)"),
        DirectoryState::Distrusted => format!(" (not trusted: {})", detail()),
        DirectoryState::Unreadable => format!(" (unreadable: {})", detail()),
    }
}

/// Where the names of the files do not fit they are left out, but for those whose source is not known: a source says
/// more.
fn stores(stores: &[Store], width: Option<u16>) -> String {
    let header = ["FILE", "SOURCE", "ANCHORS", "SIZE", "AGE", "STATE"];
    let whole = columns::table(header, &[2, 3, 4], stores.iter().map(cells).collect());
    let fits = |table: &str| width.is_none_or(|width| table.lines().all(|line| line.width() <= usize::from(width)));
    let is_whole = fits(&whole);
    let mut text = if is_whole {
        whole
    } else {
        let rows = stores.iter().map(|store| {
            let [_, _, anchors, size, age, state] = cells(store);
            [name(store), anchors, size, age, state]
        });
        columns::table(["SOURCE", "ANCHORS", "SIZE", "AGE", "STATE"], &[1, 2, 3], rows.collect())
    };
    for store in stores {
        if let Some(detail) = &store.detail {
            let name = if is_whole { file_name(store) } else { name(store) };
            text.push_str(&wrapped(&format!("{name}: {}", printable(detail)), "", "  ", width));
        }
    }
    text
}

fn name(store: &Store) -> String {
    store.path.as_deref().map_or_else(|| file_name(store), |path| printable(path).into_owned())
}

fn cells(store: &Store) -> [String; 6] {
    [
        file_name(store),
        store.path.as_deref().map(|path| printable(path).into_owned()).unwrap_or_default(),
        store.anchors.map(|anchors| anchors.to_string()).unwrap_or_default(),
        store.bytes.map(columns::size).unwrap_or_default(),
        store.age_seconds.map(|seconds| columns::age(Duration::from_secs(seconds))).unwrap_or_default(),
        store.state.words().into(),
    ]
}

/// The directory stands above.
fn file_name(store: &Store) -> String {
    let name = store.file.rsplit('/').next().unwrap_or_default();
    printable(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_compile::status::StoreState;

    #[test]
    fn lines_fit_a_terminal_of_80_columns() {
        let store = |path: Option<&str>| {
            let mut store = Store::default();
            store.file = String::from("/var/cache/windlass/1d6e026bf8e2002d5c3ef41dd3194a39.store");
            store.path = path.map(str::to_owned);
            (store.anchors, store.bytes, store.age_seconds) = (Some(145), Some(204 << 10), Some(0));
            store.state = StoreState::FreshByContent;
            store.detail =
                Some(String::from("the identity of the files is not reliable, so programs read them to compare"));
            store
        };
        let all = [store(Some("/etc/ssl/certs/ca-certificates.crt")), store(None)];
        let wide = stores(&all, Some(120));
        assert!(wide.starts_with("FILE ") && wide.lines().next().unwrap().contains("SOURCE"), "{wide}");
        let narrow = stores(&all, Some(80));
        assert!(
            narrow.starts_with("SOURCE ") && narrow.contains("\n1d6e026bf8e2002d5c3ef41dd3194a39.store "),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| line.width() <= 80), "{narrow}");
    }
}
