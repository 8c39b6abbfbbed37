//! `cache status` and `cache clear` for people.

use std::time::Duration;

use windlass_compile::status::{Directory, DirectoryState, Removed, Status, Store};

use super::columns;
use super::terminal::printable;

/// All directories, in order.
pub fn status(status: &Status, only: bool) -> String {
    let mut text = String::new();
    for (place, directory) in status.directories.iter().enumerate() {
        text.push_str(&format!("{}. {}{}\n", place + 1, printable(&directory.directory), said(directory)));
        if !directory.stores.is_empty() {
            text.push_str(&format!("\n{}\n", stores(&directory.stores)));
        }
    }
    match (only, status.directories.is_empty()) {
        (true, true) => {
            text.push_str("WINDLASS_STORE is set, but not to an absolute path: no directory is looked at\n")
        }
        (true, false) => text.push_str("WINDLASS_STORE is set: no other directory is looked at\n"),
        (false, _) => {}
    }
    text
}

/// What was removed.
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

fn stores(stores: &[Store]) -> String {
    let header = ["FILE", "SOURCE", "ANCHORS", "SIZE", "AGE", "STATE"];
    let mut text = columns::table(header, &[2, 3, 4], stores.iter().map(cells).collect());
    for store in stores {
        if let Some(detail) = &store.detail {
            text.push_str(&format!("{}: {}\n", file_name(store), printable(detail)));
        }
    }
    text
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
