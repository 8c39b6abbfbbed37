//! The one writer of JSON. Output may contain strangers' names: characters that could drive a terminal are escaped,
//! which does not change their meaning.

use serde::Serialize;

use crate::printable::printable_json;

/// A document with a final newline.
pub fn render(document: &impl Serialize) -> String {
    // Strings, numbers and booleans in structs, and maps with string keys: serde_json cannot fail on these.
    try_render(document).unwrap_or_default()
}

/// The same, for documents with unconverted paths: JSON cannot represent a path that is not UTF-8.
pub fn try_render(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(document).map(written)
}

/// A document on one line.
pub fn line(document: &impl Serialize) -> String {
    serde_json::to_string(document).map(written).unwrap_or_default()
}

fn written(mut text: String) -> String {
    text.push('\n');
    printable_json(&text).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_drives_a_terminal_is_escaped_and_means_the_same() {
        let name = "a\u{1b}[31m\u{7f}\u{9b}\u{202e}ü\n";
        let text = super::render(&[name]);
        assert_eq!(text, "[\n  \"a\\u001b[31m\\u007f\\u009b\\u202eü\\n\"\n]\n");
        assert_eq!(super::line(&[name]).lines().count(), 1);
        assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [name]);
    }
}
