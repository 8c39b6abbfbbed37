//! One line of JSON (RFC 8259).

use std::ffi::{CStr, c_char};
use std::fmt::Write;

/// The longest path that is written, in bytes.
pub const LONGEST_PATH: usize = 4096;
/// The longest other string, in bytes.
pub const LONGEST_TEXT: usize = 1024;

/// The process that an event belongs to.
pub struct Id {
    /// Its process id.
    pub number: u32,
    /// The inode of its PID namespace, in which alone the number is unique.
    pub namespace: Option<u64>,
}

/// An event under construction: an object whose members are added one by one.
pub struct Line(String);

impl Line {
    /// Begins an event of this kind.
    fn new(kind: &str) -> Line {
        let mut line = Line(String::with_capacity(256));
        line.0.push_str("{\"e\":\"");
        line.0.push_str(kind);
        line.0.push('"');
        line
    }

    /// Begins an event of a process.
    pub fn of(kind: &str, process: &Id) -> Line {
        let mut line = Line::new(kind);
        line.number("pid", process.number);
        if let Some(namespace) = process.namespace {
            line.number("ns", namespace);
        }
        line
    }

    /// Adds a number.
    pub fn number(&mut self, key: &str, value: impl Into<i128>) -> &mut Line {
        self.key(key);
        // Writing into a String can't fail.
        let _ = write!(self.0, "{}", value.into());
        self
    }

    /// Adds a number, or `null`.
    pub fn known(&mut self, key: &str, value: Option<i64>) -> &mut Line {
        match value {
            Some(value) => self.number(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds an address as a string, or `null`.
    pub fn address(&mut self, key: &str, value: Option<usize>) -> &mut Line {
        self.key(key);
        let _ = match value {
            Some(value) => write!(self.0, "\"{value:#x}\""),
            None => write!(self.0, "null"),
        };
        self
    }

    /// Adds a string.
    pub fn text(&mut self, key: &str, value: &[u8]) -> &mut Line {
        self.key(key);
        string(&mut self.0, value, LONGEST_TEXT);
        self
    }

    /// Adds a path.
    pub fn path(&mut self, key: &str, value: &[u8]) -> &mut Line {
        self.key(key);
        string(&mut self.0, value, LONGEST_PATH);
        self
    }

    /// Adds a value that is already JSON.
    pub fn raw(&mut self, key: &str, value: &str) -> &mut Line {
        self.key(key);
        self.0.push_str(value);
        self
    }

    /// The line, with its end.
    pub fn finish(mut self) -> String {
        self.0.push_str("}\n");
        self.0
    }

    fn key(&mut self, key: &str) {
        self.0.push_str(",\"");
        self.0.push_str(key);
        self.0.push_str("\":");
    }
}

/// Appends a string literal: at most `longest` bytes, U+FFFD for bytes that are not UTF-8.
pub fn string(out: &mut String, value: &[u8], longest: usize) {
    out.push('"');
    let value = &value[..value.len().min(longest)];
    let is_plain = value.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    if let (true, Ok(plain)) = (is_plain, std::str::from_utf8(value)) {
        // True for most paths and names.
        out.push_str(plain);
        out.push('"');
        return;
    }
    for character in String::from_utf8_lossy(value).chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Including those that a terminal might take for a command: DEL and C1.
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A list literal. `write` appends one value.
pub fn list<T>(values: impl IntoIterator<Item = T>, write: impl Fn(&mut String, T)) -> String {
    let mut out = String::from("[");
    for value in values {
        if out.len() > 1 {
            out.push(',');
        }
        write(&mut out, value);
    }
    out.push(']');
    out
}

/// The bytes of a foreign string, copied because the program may change it; `None` for null.
///
/// # Safety
/// Null, or a NUL-terminated string.
pub unsafe fn copied(string: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: as the caller states.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_make_one_line_of_json() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&all[..], b"", b"\"\\\n\r\t\x00\x7f", "\u{85}\u{2028}ä".as_bytes(), b"\xff\xc3"] {
            let mut line = Line::new("load");
            line.text("a", bytes).path("b", bytes).number("n", -1).known("k", None).address("s", Some(255));
            let line = line.finish();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(value["a"], String::from_utf8_lossy(bytes).as_ref());
            assert_eq!((&value["e"], &value["n"], &value["s"]), (&"load".into(), &(-1).into(), &"0xff".into()));
        }
    }

    #[test]
    fn long_strings_are_cut() {
        let mut out = String::new();
        string(&mut out, "ä".repeat(100).as_bytes(), 5);
        assert_eq!(out, "\"ää\u{fffd}\"");
    }
}
