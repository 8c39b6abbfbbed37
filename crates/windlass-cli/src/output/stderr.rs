//! Writing messages to standard error.

use std::fmt::Display;
use std::io::Write;

/// Writes one message. Nobody can be told when standard error itself can't be written, so that is not an error.
pub fn line(message: &impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Writes text that has its line ends.
pub fn text(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
