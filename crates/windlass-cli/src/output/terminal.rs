//! What standard output can show: width, colours, and characters that are safe to print.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use anstyle::Style;

/// Standard output as a place for tables.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    width: Option<u16>,
    colour: bool,
}

impl Terminal {
    /// Asks the process's standard output and environment.
    ///
    /// COLUMNS is believed when it is set, also in a pipe: shells keep it to themselves, so an exported one was meant.
    /// Without it, a pipe has no width. NO_COLOR: <https://no-color.org>.
    pub fn stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let columns = set("COLUMNS").and_then(|value| value.to_str()?.parse().ok()).filter(|width| *width > 0);
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        Self {
            width: columns.or_else(|| if is_terminal { window_width(std::io::stdout()) } else { None }),
            colour: is_terminal && !dumb && set("NO_COLOR").is_none(),
        }
    }

    /// Columns that a line may take; `None` where nothing limits it.
    pub fn width(self) -> Option<u16> {
        self.width
    }

    /// Columns of the terminal that standard error is.
    pub fn stderr_width() -> Option<u16> {
        window_width(std::io::stderr())
    }

    /// `text` in `style`, or as it is where colours are not wanted.
    pub fn paint(self, style: Style, text: &str) -> Cow<'_, str> {
        if self.colour { Cow::Owned(format!("{style}{text}{style:#}")) } else { Cow::Borrowed(text) }
    }
}

fn window_width(terminal: impl AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// Whether a character may reach a terminal. Names in certificates are chosen by strangers: control characters could
/// drive the terminal, and bidirectional ones (Unicode UAX #9) could reorder what is shown.
fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` with what must not reach a terminal written as escapes.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) { safe.push(character) } else { safe.extend(character.escape_default()) }
    }
    Cow::Owned(safe)
}

/// The same for a text of several lines, which stay lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character.escape_default().to_string())
}

/// The same for JSON, in which such characters are in strings only: what it says does not change.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let mut units = [0; 2];
    escaped(text, |character| character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect())
}

fn escaped(text: &str, mut escape: impl FnMut(char) -> String) -> Cow<'_, str> {
    let is_safe = |character: char| is_printable(character) || character == '\n';
    if text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_safe(character) { safe.push(character) } else { safe.push_str(&escape(character)) }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{printable, printable_json, printable_lines};

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(printable("Ünïcödé CA"), "Ünïcödé CA");
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(printable("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
        assert_eq!(printable_lines("a\n\u{9b}ü\r\n"), "a\n\\u{9b}ü\\r\n");
        assert_eq!(printable_json("{\n \"a\u{9b}\": \"\u{202e}ü\""), "{\n \"a\\u009b\": \"\\u202eü\"");
    }
}
