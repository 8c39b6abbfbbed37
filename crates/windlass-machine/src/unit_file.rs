//! Unit files of systemd, their drop-ins, and other files with the same syntax (systemd.syntax(7)).

/// The lines with content, in order, each with the number of its first line in the file. A line that ends in a
/// backslash continues on the next one. Comments are removed before that, wherever they are and however they end
/// (conf-parser.c, `config_parse`).
pub fn lines(bytes: &[u8]) -> Vec<(Vec<u8>, u64)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut goes_on = false;
    for (line, number) in bytes.split(|byte| matches!(byte, b'\n' | b'\0')).zip(1..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii_start();
        if matches!(line.first(), Some(b'#' | b';')) {
            continue;
        }
        // A doubled backslash stands for one, and does not continue the line.
        let (text, more) = match line.iter().rev().take_while(|byte| **byte == b'\\').count() {
            count if count % 2 == 1 => (&line[..line.len() - 1], true),
            _ => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some((last, _)) => {
                last.push(b' ');
                last.extend_from_slice(text);
            }
            None => lines.push((text.to_vec(), number)),
        }
        goes_on = more;
    }
    lines.retain(|(line, _)| !line.trim_ascii().is_empty());
    lines
}

/// The name and the value of an assignment.
pub fn setting(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = line.iter().position(|byte| *byte == b'=')?;
    Some((line[..equals].trim_ascii(), line[equals + 1..].trim_ascii()))
}

/// The words of a value: quotes hold words together, a backslash begins an escape (before other characters it is
/// dropped), and a doubled per cent sign stands for one.
pub fn words(value: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\\' => rest = unescape(after, word.get_or_insert_default()),
            b'%' if after.first() == Some(&b'%') => {
                word.get_or_insert_default().push(b'%');
                rest = &after[1..];
            }
            b'"' | b'\'' if quote == Some(byte) => quote = None,
            b'"' | b'\'' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b' ' | b'\t' | b'\n' | b'\r' if quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// Decodes the escape after a backslash into the word, and returns the rest of the text. A character without a special
/// meaning stands for itself.
fn unescape<'a>(text: &'a [u8], word: &mut Vec<u8>) -> &'a [u8] {
    let Some((&byte, rest)) = text.split_first() else { return text };
    let number = |digits: &'a [u8], length: usize, radix: u32| {
        let (digits, rest) = digits.split_at_checked(length)?;
        let is_number = digits.iter().all(|digit| char::from(*digit).is_digit(radix));
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
        Some((u32::from_str_radix(digits, radix).ok()?, rest))
    };
    let character = match byte {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b's' => b' ',
        b'x' | b'0'..=b'7' => {
            let number = if byte == b'x' { number(rest, 2, 16) } else { number(text, 3, 8) };
            if let Some((value, rest)) = number.and_then(|(value, rest)| Some((u8::try_from(value).ok()?, rest))) {
                word.push(value);
                return rest;
            }
            byte
        }
        b'u' | b'U' => {
            let number = number(rest, if byte == b'u' { 4 } else { 8 }, 16);
            if let Some((value, rest)) = number.and_then(|(value, rest)| Some((char::from_u32(value)?, rest))) {
                word.extend_from_slice(value.encode_utf8(&mut [0; 4]).as_bytes());
                return rest;
            }
            byte
        }
        other => other,
    };
    word.push(character);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(String, u64)> {
        let text_of = |(line, number)| (String::from_utf8(line).unwrap(), number);
        lines(text.as_bytes()).into_iter().map(text_of).collect()
    }

    fn words_of(value: &str) -> Vec<String> {
        words(value.as_bytes()).into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    fn line(text: &str, number: u64) -> (String, u64) {
        (text.to_owned(), number)
    }

    #[test]
    fn lines_go_on_after_a_backslash() {
        assert_eq!(texts("a\\\nb\nc"), [line("a b", 1), line("c", 3)]);
        assert_eq!(texts("a\\\r\n  b\r\n\nc\\"), [line("a b", 1), line("c", 4)]);
        assert_eq!(texts("a\\\\\nb"), [line("a\\\\", 1), line("b", 2)]);
        assert_eq!(texts("a\\\\\\\nb"), [line("a\\\\ b", 1)]);
        // An empty line is a line, and ends a continuation.
        assert_eq!(texts("a\\\n\nb"), [line("a ", 1), line("b", 3)]);
    }

    #[test]
    fn comments_are_gone_before_lines_are_joined() {
        assert_eq!(texts("# one \\\nA=1\n  ; two \\\nB=2\n"), [line("A=1", 2), line("B=2", 4)]);
        assert_eq!(texts("A=1 \\\n# between \\\n; again\n  B=2\nC=3"), [line("A=1  B=2", 1), line("C=3", 5)]);
        assert_eq!(texts("\u{feff}# one\nA=#2"), [line("A=#2", 2)]);
    }

    #[test]
    fn a_setting_has_a_name_and_a_value() {
        assert_eq!(setting(b" A = b=c "), Some((&b"A"[..], &b"b=c"[..])));
        assert_eq!(setting(b"A="), Some((&b"A"[..], &b""[..])));
        assert_eq!(setting(b"[Service]"), None);
    }

    #[test]
    fn words_may_be_quoted() {
        assert_eq!(words_of(r#""A=b c" D='e' F=g"#), ["A=b c", "D=e", "F=g"]);
        assert_eq!(words_of(r#" A="b 'c" '' d"e f"g"#), ["A=b 'c", "", "de fg"]);
        assert!(words_of("").is_empty() && words_of(" \t").is_empty());
    }

    #[test]
    fn words_may_hold_escapes() {
        assert_eq!(words_of(r#"a\ b \"c\" 'd\'e' f\\g h%%i j%k"#), ["a b", "\"c\"", "d'e", "f\\g", "h%i", "j%k"]);
        assert_eq!(words_of(r"a\x20b \101\s\t \u00e9\U0001f600"), ["a b", "A \t", "é😀"]);
        // Not numbers of the required length.
        assert_eq!(words_of(r"\xg1 \x4 \+1 \9 \78 a\"), ["xg1", "x4", "+1", "9", "78", "a"]);
    }
}
