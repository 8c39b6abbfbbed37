//! `windlass doctor --sarif` against what the standard requires: SARIF version 2.1.0, OASIS, 27 March 2020. The numbers
//! are its sections.

mod common;

use std::os::unix::fs::symlink;

use common::{fixture, windlass};
use serde_json::Value;

/// The log of an image with an error at a line, warnings, and something that can't be looked at. One path needs
/// escaping.
fn log() -> Value {
    let image = tempfile::Builder::new().prefix("an image ").tempdir().unwrap();
    let path = |inside: &str| image.path().join(inside);
    for directory in ["etc/ssl/certs", "usr/lib/ssl", "etc/profile.d"] {
        std::fs::create_dir_all(path(directory)).unwrap();
    }
    symlink("/etc/ssl/certs", path("usr/lib/ssl/certs")).unwrap();
    let rsa = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
    std::fs::write(path("etc/ssl/certs/ca-certificates.crt"), rsa + "-----BEGIN CERTIFICATE-----\n").unwrap();
    symlink("nowhere", path("etc/ssl/certs/01234567.0")).unwrap();
    std::fs::write(path("etc/profile.d/a b#ü.sh"), "export SSL_CERT_FILE=/nonexistent\n").unwrap();
    std::fs::File::create(path("etc/ssl/certs/76543210.0")).unwrap().set_len(1 << 30).unwrap();
    let output = windlass().args(["doctor", "--sarif", "--root"]).arg(image.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    assert!(output.stdout.ends_with(b"}\n") && output.stderr.is_empty());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]["text"].as_str().filter(|text| !text.is_empty()).unwrap_or_else(|| panic!("{name} of {value}"))
}

/// 3.4.3: a valid URI reference (RFC 3986). Only characters that may stand in one.
fn assert_uri(uri: &Value) {
    let uri = uri.as_str().expect("a string");
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    assert!(!uri.is_empty() && uri.bytes().all(is_allowed), "{uri}");
    for part in uri.split('%').skip(1) {
        assert!(part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit), "{uri}");
    }
}

/// 3.28 and below. `bases` are the names in originalUriBaseIds.
fn assert_location(location: &Value, bases: &Value) {
    let physical = &location["physicalLocation"];
    let artifact = &physical["artifactLocation"];
    // 3.4.3: relative to the base, so without a slash at its start (RFC 3986, 4.2).
    assert_uri(&artifact["uri"]);
    assert!(!artifact["uri"].as_str().unwrap().starts_with('/'), "{location}");
    assert!(bases.get(artifact["uriBaseId"].as_str().unwrap()).is_some(), "{location}");
    // 3.30.5: line numbers begin with 1.
    if let Some(region) = physical.get("region") {
        assert!(region["startLine"].as_u64().unwrap() >= 1, "{location}");
    }
}

#[test]
fn the_log_is_as_the_standard_requires() {
    let log = log();
    // 3.13.2, 3.13.3, 3.13.4.
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().ends_with("sarif-schema-2.1.0.json"));
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let run = &runs[0];

    // 3.14.6, 3.18.2, 3.19.8: tool, its driver, its name.
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "windlass doctor");
    assert_eq!(driver["semanticVersion"], env!("CARGO_PKG_VERSION"));

    // 3.14.14: each base is absolute, and ends with a slash.
    let bases = &run["originalUriBaseIds"];
    for base in bases.as_object().unwrap().values() {
        assert_uri(&base["uri"]);
        let uri = base["uri"].as_str().unwrap();
        assert!(uri.starts_with("file:///") && uri.ends_with('/') && uri.contains("an%20image%20"), "{uri}");
    }

    // 3.49: rules. 3.19.23: unique ids within a component are wanted; 3.49.3: an id is required.
    let rules = driver["rules"].as_array().unwrap();
    let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len());
    for rule in rules {
        for name in ["shortDescription", "fullDescription", "help"] {
            texts(rule, name);
        }
        assert_level(&rule["defaultConfiguration"]["level"]);
    }

    // 3.20: invocations say whether the tool did all its work; 3.58: a notification has a message.
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notifications = invocation["toolExecutionNotifications"].as_array().unwrap();
    assert_eq!(notifications.len(), 1);
    assert!(texts(&notifications[0], "message").contains("76543210.0"), "{notifications:?}");
    assert_level(&notifications[0]["level"]);
    assert_location(&notifications[0]["locations"][0], bases);

    // 3.27: results. Of 3.27.5 ruleId and 3.27.6 ruleIndex, the second is the index into the rules.
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 3, "{results:?}");
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_level(&result["level"]);
        let message = texts(result, "message");
        // 3.11.3: plain text, of sentences.
        assert!(message.ends_with('.') && message.contains(" Why: ") && message.contains(" Remedy: "), "{message}");
        for location in result["locations"].as_array().unwrap() {
            assert_location(location, bases);
        }
    }
    // 3.14.17: the unit in which columns would be counted.
    assert_eq!(run["columnKind"], "unicodeCodePoints");
}

/// GitHub's code scanning refuses a log of which one result has none.
#[test]
fn what_processes_have_has_a_location_too() {
    let mut command = windlass();
    command.args(["doctor", "--sarif", "--no-measure", "--check", "verification-off,processes"]);
    let output = command.env("GIT_SSL_NO_VERIFY", "1").output().unwrap();
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["ruleId"] == "verification-off"), "{results:?}");
    for result in results {
        let locations = result["locations"].as_array().unwrap();
        assert_eq!(locations.len(), 1, "{result}");
        assert_location(&locations[0], &run["originalUriBaseIds"]);
    }
}

/// 3.27.10.
fn assert_level(level: &Value) {
    assert!(["none", "note", "warning", "error"].contains(&level.as_str().unwrap()), "{level}");
}

#[test]
fn lines_and_escaped_paths_are_where_they_belong() {
    let log = log();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let location = |id: &str| {
        let result = results.iter().find(|result| result["ruleId"] == id).unwrap();
        result["locations"][0]["physicalLocation"].clone()
    };
    let lines = std::fs::read_to_string(fixture("rsa.pem")).unwrap().lines().count();
    let dropped = location("bundle-dropped");
    assert_eq!(dropped["artifactLocation"]["uri"], "etc/ssl/certs/ca-certificates.crt");
    assert_eq!(dropped["region"]["startLine"], lines + 1);
    let variable = location("environment-overrides");
    assert_eq!(variable["artifactLocation"]["uri"], "etc/profile.d/a%20b%23%C3%BC.sh");
    assert_eq!(variable["region"]["startLine"], 1);
}
