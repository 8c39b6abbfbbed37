//! `windlass trace`, with a library in place of the tracing one that hands in events of a file. Real programs:
//! tests/trace.

mod common;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use common::{compile, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// Appends the file that EVENTS names to the one that WINDLASS_TRACE names, in every process that loads it.
const HANDS_IN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void hand_in(void) {
    FILE *from = fopen(getenv("EVENTS"), "r"), *to = fopen(getenv("WINDLASS_TRACE"), "a");
    for (int byte; (byte = getc(from)) != EOF;) putc(byte, to);
    fclose(from); fclose(to);
}
"#;

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hands-in.{}.so", std::process::id()));
        compile(HANDS_IN, &path, &["-shared", "-fPIC"]);
        path
    })
}

/// `windlass trace` with a library that hands in the events of this file.
fn trace(events: impl AsRef<Path>) -> assert_cmd::Command {
    let mut command = windlass();
    command.env("WINDLASS_TRACE_LIBRARY", library()).env("EVENTS", events.as_ref()).arg("trace");
    command
}

/// What was found in `events`: the report as text, as JSON, and as a page.
fn report(events: impl AsRef<[u8]>) -> (String, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("events"), events).unwrap();
    let mut command = trace(file("events"));
    command.arg("--json").arg(file("json")).arg("--html").arg(file("html")).args(["--", "true"]);
    let assert = command.assert().success().stdout("");
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    let json = std::fs::read(file("json")).unwrap();
    (text, serde_json::from_slice(&json).unwrap(), std::fs::read_to_string(file("html")).unwrap())
}

fn load(rest: &str) -> String {
    format!(
        concat!(
            r#"{{"e":"load","pid":7,"tid":7,"t":5,"wall":20000000,"cpu":15000000,"process_cpu":60000000,"#,
            r#""entry":"F","depth":0,"library":"OpenSSL 3","sources":[{{"kind":"file","path":"/no/such.pem"}}],"#,
            r#""result":1,"parsed":144,"certificates":140,"memory":891289,"store":"0x10"{rest}}}"#,
            "\n"
        ),
        rest = rest
    )
}

#[test]
fn the_text_says_what_the_events_say() {
    let process = "{\"e\":\"process\",\"pid\":7,\"ppid\":1,\"t\":1,\"exe\":\"/opt/none/app\",\"args\":[\"app\"]}\n";
    let exit = "{\"e\":\"exit\",\"pid\":7,\"t\":9,\"cpu\":60000000}\n";
    let script = r#","script":[{"file":"/a/app.py","line":3,"function":"f"}]"#;
    let (text, json, _) =
        report([process, &load(script), &load(script), "{\"e\":\"connection\",\"pid\":7}\n", exit].concat());
    let start = "\
windlass: 2 loads of CA certificates in 1 of 1 process took 40.0 ms (30.0 ms of CPU, 50 % of all CPU time)
  288 certificates parsed; 0 of them ended a verified chain
  1.7 MiB held by loaded stores at their peak, 1.7 MiB never freed
  1 connection, 0 verifications: 2 loads a connection

ENTRY POINT  SOURCE        CALLS  CERTIFICATES     WALL      CPU  OF CPU
F            /no/such.pem      2           288  40.0 ms  30.0 ms    50 %

Call stacks of loads, most expensive first
  40.0 ms in app: 2 calls, 288 certificates
      F
      f (/a/app.py:3)
";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("/no/such.pem: entity not found"), "{text}");
    assert_eq!((&json["schema"], &json["summary"]["loads"]), (&Value::from(1), &Value::from(2)));
}

/// One thing has one percentage, also where a shell around the program uses CPU time and loads nothing.
#[test]
fn the_share_of_the_only_entry_is_that_of_the_run() {
    let process = |pid: u32| {
        format!("{{\"e\":\"process\",\"pid\":{pid},\"ppid\":1,\"t\":1,\"exe\":\"/opt/none/app\",\"args\":[\"app\"]}}\n")
    };
    let exit = |pid: u32| format!("{{\"e\":\"exit\",\"pid\":{pid},\"t\":9,\"cpu\":60000000}}\n");
    let (text, json, _) = report([process(6), process(7), load(""), exit(7), exit(6)].concat());
    let share = &json["summary"]["cpu_share"];
    assert_eq!((share, &json["entries"][0]["cpu_share"]), (&Value::from(0.125), share));
    assert_eq!((text.matches("12 %").count(), text.matches('%').count()), (2, 2), "{text}");
}

/// What is written to standard output in lines of this width.
fn text_of_width(events: &str, width: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events"), events).unwrap();
    let mut command = trace(folder.path().join("events"));
    let assert = command.env("COLUMNS", width).args(["--output", "-", "--", "true"]).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn lines_fit_the_terminal() {
    let name = "SSL_CTX_set_default_verify_paths";
    let paths = concat!(
        r#"{"kind":"default-file","path":"/usr/lib/ssl/cert.pem"},"#,
        r#"{"kind":"default-directory","path":"/usr/lib/ssl/certs"}"#
    );
    let load =
        load("").replace("\"F\"", &format!("\"{name}\"")).replace(r#"{"kind":"file","path":"/no/such.pem"}"#, paths);
    let events = load.clone() + &load.replace("\"pid\":7", "\"pid\":8");
    for width in [120, 80, 60] {
        let text = text_of_width(&events, &width.to_string());
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{longest} at {width}: {text}");
        assert!(text.contains(name) && text.contains("/usr/lib/ssl/cert.pem (default file),"), "{text}");
    }
    assert!(text_of_width(&events, "80").contains("ENTRY POINT"), "still a table");
}

#[test]
fn out_of_reach_is_not_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (plain, rustls, go) =
        (program("plain", ""), program("r", "/rustls-0.1.2/"), program("g", "crypto/tls.(*Conn).Read"));
    let process = |pid: u32, path: &Path| {
        format!(
            "{{\"e\":\"process\",\"pid\":{pid},\"exe\":\"{}\"}}\n{{\"e\":\"exit\",\"pid\":{pid}}}\n",
            path.display()
        )
    };
    let plains: String = (100..130).map(|pid| process(pid, &plain)).collect();
    let (text, json, page) = report(plains + &process(1, &go) + &process(2, &rustls) + &process(3, &rustls));
    let list = "Out of reach\n  r (2 processes): rustls 0.1.2 is part of";
    assert!(text.contains(list) && text.contains("g (1): Go's crypto/tls is part of"), "{text}");
    assert_eq!(page.matches("Out of reach: r (2 processes): rustls").count(), 1, "{page}");
    let summary = &json["summary"];
    assert_eq!((&summary["out_of_reach"], &summary["loads"], &summary["cpu"]), (&3.into(), &Value::Null, &Value::Null));
    for process in json["processes"].as_array().unwrap() {
        let is_known = process["out_of_reach"].is_null();
        for field in ["loads", "failed", "certificates", "wall", "cpu", "connections", "verifications"] {
            assert_eq!(process[field].is_null(), !is_known, "{field}: {process}");
        }
    }
    let all_known = report(process(100, &plain)).1;
    assert_eq!((&all_known["summary"]["out_of_reach"], &all_known["summary"]["loads"]), (&0.into(), &0.into()));
}

#[test]
fn windlass_is_no_tls_library() {
    let own = env!("CARGO_BIN_EXE_windlass");
    let (_, json, _) = report(format!("{{\"e\":\"process\",\"pid\":7,\"exe\":\"{own}\"}}\n"));
    assert_eq!((&json["processes"][0]["out_of_reach"], &json["summary"]["loads"]), (&Value::Null, &0.into()));
}

#[test]
fn reports_go_where_they_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    let trace = |arguments: &[&str]| self::trace("/dev/null").current_dir(folder.path()).args(arguments).assert();
    let both = trace(&["--json", "report", "--html", "./report", "--", "touch", "ran"]).code(2);
    both.stderr(contains("--json and --html").and(contains("./report")));
    trace(&["--json", "-", "--output", "-", "--", "true"]).code(2).stderr(contains("standard output"));
    assert!(!folder.path().join("ran").exists());
    trace(&["--json", "/dev/null", "--html", "/dev/null", "--", "true"]).success();
    let out =
        trace(&["--json", "-", "--output", "report", "--", "echo", "first"]).success().get_output().stdout.clone();
    let json = out.strip_prefix(b"first\n").unwrap();
    assert_eq!(serde_json::from_slice::<Value>(json).unwrap()["schema"], 1);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("windlass: "));
    // The program's own ending tells more than that of the report.
    trace(&["--json", "/dev/full", "--", "true"]).code(1).stderr(contains("/dev/full"));
    trace(&["--json", "/dev/full", "--", "sh", "-c", "exit 3"]).code(3);
    trace(&["--compare", "3", "--", "true"]).code(127).stderr(contains("--compare=3"));
}

#[test]
fn hostile_events_are_counted_and_reach_nobody() {
    let name = r#"\u001b[2J</script><img src=x>\u202e"#;
    let exe = format!("{{\"e\":\"process\",\"pid\":7,\"exe\":\"/x/{name}\",\"args\":[\"{name}\"]}}\n");
    let lines = [
        exe,
        load("").replace("\"F\"", &format!("\"{name}\"")).replace("/no/such.pem", &format!("/dev/zero/{name}")),
        load("").replace("20000000", "18446744073709551615").replace("891289", "-9223372036854775808"),
        load("").replace("20000000", "18446744073709551615").replace("\"t\":5", "\"t\":18446744073709551615"),
        load(r#","stack":[[0,1],[9,18446744073709551615],[null,0]]"#),
        String::from(
            "{\"e\":\"module\",\"pid\":7,\"id\":0,\"path\":\"/dev/zero\"}\n\
             {\"e\":\"module\",\"pid\":7,\"id\":1,\"path\":\"\"}\n",
        ),
        String::from(
            "{\"e\":\"exit\",\"pid\":7,\"t\":0,\"cpu\":18446744073709551615,\"max_rss\":18446744073709551615}\n",
        ),
        String::from("{\"e\":\"verify\",\"pid\":7,\"ok\":true,\"anchor\":\"\\u001b\"}\n"),
        String::from("{\"e\":\"load\",\"pid\":7,\"tid\"\n\u{0}\u{1}\n[[[[\n{\"e\":\"later\"}\n{\"e\":\"load\","),
    ];
    let (text, json, page) = report(lines.concat());
    assert!(!text.contains(|character: char| character.is_control() && character != '\n'), "{text:?}");
    let json_text = json.to_string();
    assert!(json_text.contains("<img"), "{json_text}");
    assert!(!page.contains("<img") && page.matches("</script>").count() == 1 && !page.contains('\u{202e}'), "{page}");
    assert_eq!((&json["events"]["unreadable"], &json["events"]["unknown"]), (&Value::from(4), &Value::from(1)));
    assert!(text.contains("4 lines of the trace were truncated or damaged"), "{text}");
}

#[test]
fn a_long_trace_is_bounded() {
    let mut events = String::new();
    for number in 0..30_000 {
        events.push_str(
            &load("").replace("\"pid\":7", &format!("\"pid\":{}", number / 2)).replace("such", &number.to_string()),
        );
    }
    let (text, json, page) = report(events);
    assert_eq!(json["summary"]["loads"], 30_000);
    assert!(json["entries"].as_array().unwrap().len() <= 4_000);
    assert!(text.lines().count() < 100, "{text}");
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
}

#[test]
fn every_field_of_the_json_is_documented() {
    let (_, json, _) = report(
        load(r#","script":[{"file":"a","line":1,"function":"f"}]"#) + &load("").replace("\"depth\":0", "\"depth\":1"),
    );
    let help = windlass().args(["trace", "--help"]).assert().success();
    let help = String::from_utf8(help.get_output().stdout.clone()).unwrap();
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.keys().cloned());
                fields.values().for_each(|value| names(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(&json, &mut found);
    let words: Vec<_> = help.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').collect();
    for name in found {
        assert!(words.contains(&name.as_str()), "{name} is not in the help");
    }
}

#[test]
fn the_program_ends_as_it_would() {
    let folder = tempfile::tempdir().unwrap();
    let trace = || trace("/dev/null");
    trace()
        .args(["--", "sh", "-c", "echo out; echo err >&2; exit 7"])
        .assert()
        .code(7)
        .stdout("out\n")
        .stderr(contains("err\n"));
    trace().args(["--", "no-such-program"]).assert().code(127).stderr(contains("no such program in PATH"));
    trace().args(["--", "/etc/passwd"]).assert().code(126);
    trace().args(["--compare=0", "true"]).assert().code(2);
    let not_there = folder.path().join("none/page.html");
    let ran = folder.path().join("ran");
    trace()
        .arg("--html")
        .arg(&not_there)
        .args(["--", "touch"])
        .arg(&ran)
        .assert()
        .code(125)
        .stderr(contains("page.html"));
    assert!(!ran.exists(), "it is said before the program runs");
}

#[test]
fn a_library_that_is_missing_is_said() {
    windlass()
        .env("WINDLASS_TRACE_LIBRARY", "/no/such/libwindlass_trace.so")
        .args(["trace", "true"])
        .assert()
        .code(125)
        .stderr(contains("tracing library /no/such/libwindlass_trace.so").and(contains("WINDLASS_TRACE_LIBRARY")));
}

/// The run that `events` tell of, with these options, as it ends: status, and standard error without the report.
fn ending(events: &str, options: &[&str], program: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events"), events).unwrap();
    let mut command = trace(folder.path().join("events"));
    let output = command.args(["--output", "/dev/null"]).args(options).arg("--").args(program).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

const RUN: &str = "{\"e\":\"process\",\"pid\":7,\"ppid\":1,\"t\":1,\"exe\":\"/opt/none/app\",\"args\":[\"app\"]}\n";
const END: &str = "{\"e\":\"exit\",\"pid\":7,\"t\":9,\"cpu\":60000000}\n";

#[test]
fn a_condition_that_holds_fails_the_run() {
    // Two loads, 40 ms, 30 of 60 ms of CPU time, 1,782,578 bytes.
    let events = [RUN, &load(""), &load(""), END].concat();
    let of = |condition: &str| ending(&events, &["--fail-if", condition], &["true"]);
    for (condition, found) in [
        ("share>10%", "share is 50.00%"),
        ("share>=50%", "share is 50.00%"),
        ("loads>1", "loads is 2"),
        ("loads<3", "loads is 2"),
        ("ms>=40", "ms is 40.000"),
        ("bytes>1MiB", "bytes is 1782578"),
    ] {
        assert_eq!(of(condition), (10, format!("windlass: --fail-if {condition}: {found}\n")));
    }
    for condition in ["share>50%", "loads>2", "ms<40", "bytes>=2MiB"] {
        assert_eq!(of(condition), (0, String::new()), "{condition}");
    }
    let both = ending(&events, &["--fail-if", "loads>1", "--fail-if", "ms>1"], &["true"]);
    assert_eq!((both.0, both.1.lines().count()), (10, 2));
    let failing = ending(&events, &["--fail-if", "loads>1"], &["sh", "-c", "exit 3"]);
    assert_eq!(failing.0, 3, "the program's own status");
    assert!(failing.1.contains("loads is "), "{failing:?}");
}

#[test]
fn a_condition_on_nothing_and_on_what_is_not_known() {
    assert_eq!(ending(&[RUN, END].concat(), &["--fail-if", "share>0%"], &["true"]).0, 0, "nothing was loaded");
    let blind = ending("", &["--fail-if", "loads>100"], &["true"]);
    assert_eq!(
        blind,
        (10, String::from("windlass: --fail-if loads>100: loads is not known in this run, see the report\n"))
    );
}

#[test]
fn a_condition_that_is_none_teaches() {
    let refused = windlass().args(["trace", "--fail-if", "share>10", "--", "true"]).assert().code(2).stdout("");
    refused.stderr(contains("a share is in percent: 10%; write METRIC OP VALUE, as 'loads>10'"));
}

/// The conditions of docs/trace.md, as they stand there.
#[test]
fn the_conditions_of_the_documentation_are_understood() {
    let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trace.md");
    let text = std::fs::read_to_string(documentation).unwrap();
    let events = [RUN, &load(""), &load(""), END].concat();
    let mut conditions = Vec::new();
    for line in text
        .lines()
        .map(|line| line.trim_start_matches(['$', ' ']))
        .filter(|line| line.starts_with("windlass trace --fail-if"))
    {
        let parts: Vec<_> = line.split('\'').collect();
        let given = parts.windows(2).filter(|pair| pair[0].ends_with("--fail-if ")).map(|pair| pair[1]);
        conditions.extend(given.map(str::to_owned));
    }
    assert!(conditions.len() >= 4, "{conditions:?}");
    for condition in &conditions {
        let (status, error) = ending(&events, &["--fail-if", condition], &["true"]);
        assert!(matches!(status, 0 | 10), "{condition}: {error}");
    }
    assert_eq!(ending(&events, &["--fail-if", "share>10%"], &["true"]).0, 10);
}
