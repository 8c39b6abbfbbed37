//! The counters of the built library, and docs/counters.md.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{bundle, fixture, preload_library, windlass};

/// All that the library counts: it names every counter when a process first counts something.
fn counted() -> BTreeSet<String> {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report");
    let source = bundle(directory.path(), &["rsa.pem"]);
    let mut command = windlass();
    command.env("WINDLASS_PRELOAD_LIBRARY", preload_library());
    command.args(["run", "--stats=json", "--stats-file"]).arg(&report);
    command.args(["--", "openssl", "verify", "-CAfile"]).arg(source).arg(fixture("rsa.pem")).assert().success();
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let sections = report["counters"].as_object().unwrap();
    sections
        .iter()
        .flat_map(|(section, names)| {
            let names = names.as_object().unwrap().keys();
            names.map(move |name| format!("{section}/{name}"))
        })
        .collect()
}

/// The rows of the page's tables.
fn documented() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/counters.md");
    let page = std::fs::read_to_string(page).unwrap();
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once("` | ")?.0.to_owned());
    page.lines().filter_map(name).collect()
}

#[test]
fn every_counter_has_one_row_and_every_row_a_counter() {
    let (counted, documented) = (counted(), documented());
    let rows: BTreeSet<_> = documented.iter().cloned().collect();
    assert_eq!(rows.len(), documented.len(), "docs/counters.md has a row twice");
    let missing: Vec<_> = counted.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&counted).collect();
    assert!(missing.is_empty() && gone.is_empty(), "docs/counters.md lacks {missing:?}, and nothing counts {gone:?}");
    assert!(counted.len() > 20 && counted.contains("cache/load"), "{counted:?}");
}
