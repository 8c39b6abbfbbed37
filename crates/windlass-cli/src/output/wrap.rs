//! Running text in lines that fit.

use unicode_width::UnicodeWidthStr;

/// Lines are no longer than that even where nothing limits them, as in a pipe.
const WIDEST: u16 = 120;
/// Narrower is no text any more.
const NARROWEST: usize = 40;

/// `text` in lines of `width` columns. The first begins with `first`, the others with `then`. A word is never cut.
pub fn wrapped(text: &str, first: &str, then: &str, width: Option<u16>) -> String {
    let width = usize::from(width.unwrap_or(WIDEST).min(WIDEST)).max(NARROWEST);
    let mut lines = String::from(first);
    let mut used = first.width();
    let mut is_start = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_start && used + 1 + word.width() > width {
            lines.push('\n');
            lines.push_str(then);
            used = then.width();
        } else if !is_start {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += word.width();
        is_start = false;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_but_words_stay_whole() {
        let text = wrapped("aaaa bbbb /a/very/long/path/that/is/wider/than/the/terminal cc", "- ", "  ", Some(20));
        assert_eq!(text, "- aaaa bbbb\n  /a/very/long/path/that/is/wider/than/the/terminal\n  cc\n");
        assert_eq!(wrapped("", "x:", " ", None), "x:\n");
    }
}
