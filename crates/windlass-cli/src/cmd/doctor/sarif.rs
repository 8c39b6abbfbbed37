//! `doctor --sarif`: a log file of the Static Analysis Results Interchange Format, version 2.1.0 (OASIS standard, 27
//! March 2020). The numbers in comments are its sections.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_machine::json;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use windlass_doctor::check::{Check, Finding, Unseen};
use windlass_doctor::report::Report;

/// The name of the base that paths are relative to (3.4.4).
const BASE: &str = "ROOT";

/// The log, with a final newline.
pub fn render(report: &Report) -> String {
    let rules: Vec<_> = report.results.iter().map(|result| rule(result.check)).collect();
    let index = |check: &Check| report.results.iter().position(|result| result.check.id == check.id);
    let mut seen = HashMap::new();
    let results: Vec<_> = report
        .findings()
        .map(|(check, finding)| {
            let mut result = suppressed(report, finding, result(check, index(check), finding));
            let fingerprint = fingerprint(check, finding);
            let number = seen.entry(fingerprint.clone()).and_modify(|number| *number += 1).or_insert(1);
            // GitHub's code scanning reads this one only, and tells equal ones apart by the number.
            result["partialFingerprints"] = json!({"primaryLocationLineHash": format!("{fingerprint}:{number}")});
            result
        })
        .collect();
    let notifications: Vec<_> = report.unseen.shown().iter().map(notification).collect();
    let root = report.root.as_deref().unwrap_or(Path::new("/"));
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "windlass doctor",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {BASE: {"uri": base(root)}},
            "invocations": [{
                // 3.20.14: it says whether the tool did its work, not whether it found anything.
                "executionSuccessful": report.summary.not_seen == 0,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    json::render(&log)
}

/// A reportingDescriptor (3.49).
fn rule(check: &Check) -> Value {
    json!({
        "id": check.id,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.explanation},
        "help": {"text": format!("{}\n\nwindlass doctor --explain {}", check.explanation, check.id)},
        "defaultConfiguration": {"level": check.severity.name()},
    })
}

/// A result (3.27).
fn result(check: &Check, rule: Option<usize>, finding: &Finding) -> Value {
    let mut result = json!({
        "ruleId": check.id,
        "ruleIndex": rule,
        "level": finding.severity.name(),
        "message": {"text": message(finding)},
        "properties": {
            "facts": finding.facts.shown,
            "moreFacts": finding.facts.more,
            "reason": finding.reason,
            "remedy": finding.remedy,
            "cost": finding.cost,
        },
    });
    // 3.27.12 lets them out. GitHub's code scanning takes a log only if each result has one.
    let path = finding.path.as_ref().or(finding.seen_at.as_ref());
    result["locations"] = json!([location(path.map_or(Path::new("/proc"), PathBuf::as_path), finding.line)]);
    result
}

/// 3.27.17: what stays the same from run to run, and from one build of an image to the next. A baseline knows a finding
/// again by the same parts.
fn fingerprint(check: &Check, finding: &Finding) -> String {
    let about: BTreeSet<_> = finding.about.iter().map(String::as_bytes).collect();
    let path = finding.path.as_ref().map_or(&[][..], |path| path.as_os_str().as_bytes());
    let mut hash = Sha256::new();
    for part in [check.id.as_bytes(), path].into_iter().chain(about) {
        hash.update(part);
        // In none of the parts.
        hash.update([0]);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 3.27.23: once one result says whether it is suppressed, all do. What a baseline has was accepted outside of the
/// source (3.35.2).
fn suppressed(report: &Report, finding: &Finding, mut result: Value) -> Value {
    if report.has_baseline {
        let accepted = json!([{"kind": "external", "justification": "in the baseline"}]);
        result["suppressions"] = if finding.is_known { accepted } else { json!([]) };
    }
    result
}

/// A plain text message (3.11.3): sentences, the first of which can stand alone.
fn message(finding: &Finding) -> String {
    let mut text = match &finding.path {
        Some(path) => format!("{}: {}.", path.display(), finding.what),
        None => format!("{}.", finding.what),
    };
    for (title, part) in [("Why", &finding.reason), ("Remedy", &finding.remedy)] {
        if !part.is_empty() {
            text.push_str(&format!(" {title}: {part}."));
        }
    }
    text
}

/// A notification (3.58).
fn notification(unseen: &Unseen) -> Value {
    json!({
        "level": if unseen.needs_root { "note" } else { "warning" },
        "message": {"text": format!("{}: {}", unseen.path.display(), unseen.why)},
        "locations": [location(&unseen.path, None)],
    })
}

/// A location (3.28).
fn location(path: &Path, line: Option<u64>) -> Value {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let mut physical = json!({"artifactLocation": {"uri": percent_encoded(relative), "uriBaseId": BASE}});
    if let Some(line) = line {
        physical["region"] = json!({"startLine": line});
    }
    json!({"physicalLocation": physical})
}

/// 3.14.14: the URI of a base ends with a slash.
fn base(root: &Path) -> String {
    let path = percent_encoded(root.strip_prefix("/").unwrap_or(root));
    if path.is_empty() { String::from("file:///") } else { format!("file:///{path}/") }
}

/// RFC 3986, 2.1: every byte of a path but unreserved ones and the slash.
fn percent_encoded(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_no_file_has_a_location_too() {
        let check = windlass_doctor::registry::named("processes").unwrap();
        let finding = Finding::of_machine(windlass_doctor::check::Severity::Note, "x");
        let uri = |finding: &Finding| {
            let all = result(check, None, finding)["locations"].as_array().unwrap().clone();
            all[0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap().to_owned()
        };
        assert_eq!(uri(&finding), "proc");
        assert_eq!(uri(&finding.seen_at("/usr/bin/a b")), "usr/bin/a%20b");
    }

    #[test]
    fn a_fingerprint_is_of_what_stays_the_same() {
        let check = windlass_doctor::registry::named("expired").unwrap();
        let finding = |what: &str, about: &[&str]| {
            Finding::new(windlass_doctor::check::Severity::Note, "/a", what)
                .about(about.iter().map(|one| one.to_string()))
        };
        let of = |finding: &Finding| fingerprint(check, finding);
        let one = of(&finding("3 found", &["x", "y"]));
        assert_eq!(one, of(&finding("4 found", &["y", "x", "x"])));
        assert_eq!(one.len(), 32);
        assert_ne!(one, of(&finding("3 found", &["x"])));
        assert_ne!(one, of(&finding("3 found", &["xy"])));
        assert_ne!(
            one,
            fingerprint(windlass_doctor::registry::named("duplicates").unwrap(), &finding("", &["x", "y"]))
        );
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(base(Path::new("/")), "file:///");
        assert_eq!(base(Path::new("/mnt/a b")), "file:///mnt/a%20b/");
        let location = location(Path::new("/etc/ssl/c:ä#.pem"), Some(3));
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "etc/ssl/c%3A%C3%A4%23.pem");
        assert_eq!(location["physicalLocation"]["region"]["startLine"], 3);
    }
}
