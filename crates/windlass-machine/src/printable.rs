//! Making strangers' texts safe to display.

use std::borrow::Cow;

/// Whether a character may reach a terminal. Names in certificates are chosen by strangers: control characters could
/// drive the terminal, and bidirectional ones (Unicode UAX #9) could reorder what is shown.
fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// `text` with escapes for characters that must not reach a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, None, |character| character.escape_default().to_string())
}

/// The same for a text of several lines, which are kept.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, Some('\n'), |character| character.escape_default().to_string())
}

/// The same for JSON, where these characters only occur in strings: the escapes do not change the meaning.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let mut units = [0; 2];
    let escape =
        |character: char| character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    escaped(text, Some('\n'), escape)
}

fn escaped(text: &str, kept: Option<char>, mut escape: impl FnMut(char) -> String) -> Cow<'_, str> {
    let is_safe = |character: char| is_printable(character) || Some(character) == kept;
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
