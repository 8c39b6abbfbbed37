//! Writing messages to standard error.

use std::fmt::Display;
use std::io::Write;

use super::terminal::printable_lines;

/// Writes one message. Nobody can be told when standard error itself can't be written, so that is not an error.
///
/// Messages hold names of files and other words of strangers, which must not drive a terminal: only line ends stay what
/// they are.
pub fn line(message: &impl Display) {
    text(&format!("{message}\n"));
}

/// The same for text that has its line ends.
pub fn text(text: &str) {
    let _ = std::io::stderr().lock().write_all(printable_lines(text).as_bytes());
}
