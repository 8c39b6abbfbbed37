//! Text of strangers in HTML.

use crate::output::terminal::printable;

/// `text` for the content of an element and for a quoted attribute. Control characters and those that turn the
/// direction of writing are shown as escapes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escaped("<script>alert('\"&')</script>"),
            "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{202e}b\u{0}\n"), "a\\u{202e}b\\u{0}\\n");
    }
}
