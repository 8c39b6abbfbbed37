//! PEM blocks one by one, including bad ones. The core's reader is all or nothing, because its result is served; this
//! one reports faults and their positions. Only OpenSSL itself is asked how it reads the file as a whole.

use std::fmt;

/// A block as `PEM_read_bio` finds it (crypto/pem/pem_lib.c): from a line that begins with `-----BEGIN ` to the next
/// `-----END`.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The label, for example `CERTIFICATE`.
    pub label: String,
    /// The number of its first line, from 1.
    pub line: u64,
    /// The decoded bytes.
    pub content: Result<Vec<u8>, Fault>,
}

/// The fault in the text of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no END line, or another block begins before it.
    NoEnd,
    /// The END line has another label.
    OtherEnd,
    /// The next block begins on this line, after the END.
    Joined(u64),
    /// Not base64, on this line or at the end of the block.
    NotBase64(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoEnd => f.write_str("has no END line"),
            Fault::OtherEnd => f.write_str("has the END line of another label"),
            Fault::Joined(line) => {
                write!(
                    f,
                    "ends and the next begins on one line ({line}): they were joined without a newline in between"
                )
            }
            Fault::NotBase64(line) => write!(f, "is not base64 (line {line})"),
        }
    }
}

impl Block {
    /// Whether OpenSSL takes it for a certificate (`PEM_X509_INFO_read_bio`, crypto/pem/pem_info.c).
    pub fn is_certificate(&self) -> bool {
        matches!(&*self.label, "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE")
    }
}

/// All blocks of a file.
pub fn blocks(text: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines =
        text.split(|byte| *byte == b'\n').zip(1..).map(|(line, number)| (line.trim_ascii_end(), number)).peekable();
    while let Some((line, number)) = lines.next() {
        let Some(label) = label(line, b"-----BEGIN ") else { continue };
        let mut digits = Vec::new();
        let mut last = number;
        let content = loop {
            // The BEGIN of another block is left for the next iteration.
            match lines.next_if(|(line, _)| !line.starts_with(b"-----BEGIN ")) {
                None => break Err(Fault::NoEnd),
                Some((line, number)) if line.starts_with(b"-----END") => {
                    let is_joined = memchr::memmem::find(line, b"-----BEGIN ").is_some();
                    break match self::label(line, b"-----END ") {
                        Some(same) if same == label => decode(&digits).ok_or(Fault::NotBase64(number)),
                        _ if is_joined => Err(Fault::Joined(number)),
                        _ => Err(Fault::OtherEnd),
                    };
                }
                Some((line, number)) => {
                    digits.extend_from_slice(line);
                    last = number;
                }
            }
        };
        let content = content.map_err(|fault| match fault {
            Fault::NotBase64(_) => Fault::NotBase64(bad_line(text, number, last)),
            other => other,
        });
        blocks.push(Block { label: String::from_utf8_lossy(label).into_owned(), line: number, content });
    }
    blocks
}

/// Certificates that GnuTLS reads and OpenSSL does not see, each with the line of its BEGIN: a marker is not alone on
/// its line. OpenSSL drops blanks at the end of a line, but not at its beginning (`sanitize_line`).
pub fn skipped(text: &[u8]) -> Vec<(u64, &'static str)> {
    let mut skipped = Vec::new();
    let mut begun = None;
    for (line, number) in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).zip(1..) {
        let bare = line.trim_ascii_start();
        if let Some(rest) = behind_marker(bare, b"-----BEGIN ") {
            begun = None;
            match (bare.len() < line.len(), rest.is_empty()) {
                (false, true) => begun = Some(number),
                (true, _) => skipped.push((number, "there are blanks before BEGIN")),
                // Concatenated files: OpenSSL refuses them.
                _ if rest.starts_with(b"-----BEGIN ") => {}
                _ => skipped.push((number, "BEGIN does not stand alone on its line")),
            }
        } else if bare.starts_with(b"-----BEGIN ") {
            begun = None;
        } else if let Some(begin) = begun
            && let Some(place) = memchr::memmem::find(line, b"-----END ")
        {
            if place > 0 && line.get(place..).is_some_and(|end| behind_marker(end, b"-----END ").is_some()) {
                skipped.push((begin, "END does not stand alone on its line"));
            }
            begun = None;
        }
    }
    skipped
}

/// The text after a certificate's marker at the beginning of a line.
fn behind_marker<'a>(line: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(start)?;
    [&b"CERTIFICATE-----"[..], b"X509 CERTIFICATE-----", b"TRUSTED CERTIFICATE-----"]
        .iter()
        .find_map(|label| rest.strip_prefix(*label))
}

fn label<'a>(line: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    line.strip_prefix(start)?.strip_suffix(b"-----")
}

fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    base64_simd::STANDARD.decode_to_vec(digits).ok()
}

/// The first line of a block that is not base64, or else its last line.
fn bad_line(text: &[u8], begin: u64, last: u64) -> u64 {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let lines = text.split(|byte| *byte == b'\n').zip(1..).skip(usize::try_from(begin).unwrap_or(usize::MAX));
    let mut lines = lines.take_while(|(_, number)| *number <= last);
    lines.find(|(line, _)| !line.trim_ascii_end().iter().all(is_digit)).map_or(last, |(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<(u64, Option<Fault>)> {
        blocks(text.as_bytes()).into_iter().map(|block| (block.line, block.content.err())).collect()
    }

    #[test]
    fn blocks_have_their_label_line_and_bytes() {
        let found = blocks(b"# comment\r\n-----BEGIN X509 CRL-----\r\nAAEC\r\nAw==\r\n-----END X509 CRL-----\r\n");
        assert_eq!(found, [Block { label: String::from("X509 CRL"), line: 2, content: Ok(vec![0, 1, 2, 3]) }]);
        assert!(!found[0].is_certificate());
    }

    #[test]
    fn a_bad_block_does_not_hide_the_next() {
        let good = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let cases = [
            ("-----BEGIN CERTIFICATE-----\nAAAA\nA!AA\nAAAA\n-----END CERTIFICATE-----\n", Fault::NotBase64(3)),
            ("-----BEGIN CERTIFICATE-----\nAAAAA\n-----END CERTIFICATE-----\n", Fault::NotBase64(2)),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", Fault::NoEnd),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END X509 CRL-----\n", Fault::OtherEnd),
        ];
        for (text, fault) in cases {
            let lines = text.lines().count() as u64;
            assert_eq!(faults(&format!("{text}{good}")), [(1, Some(fault)), (lines + 1, None)], "{text}");
        }
        assert_eq!(faults("-----BEGIN CERTIFICATE-----"), [(1, Some(Fault::NoEnd))]);
        assert_eq!(faults("AAAA\n-----END CERTIFICATE-----\n"), []);
    }
}
