//! PEM as p11-kit reads it (`p11_pem_parse`, common/pem.c): blocks anywhere in a file, headers ignored, lines of any
//! length.

use memchr::memmem;

use super::text;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const SUFFIX: &[u8] = b"-----";

/// One block.
pub(super) struct Block<'a> {
    pub kind: &'a [u8],
    pub content: Vec<u8>,
}

/// All blocks of valid base64. As in p11-kit, the search stops at a block without its end, and at a NUL.
pub(super) fn blocks(bytes: &[u8]) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = text(bytes);
    while let Some((block, after)) = next(rest) {
        found.extend(block);
        rest = after;
    }
    found
}

fn next(text: &[u8]) -> Option<(Option<Block<'_>>, &[u8])> {
    let kind_start = memmem::find(text, BEGIN)? + BEGIN.len();
    let kind_len = memmem::find(text.get(kind_start..)?, SUFFIX)?;
    let kind = text.get(kind_start..kind_start + kind_len)?;
    if kind.contains(&b'\n') {
        return None;
    }
    let body_start = kind_start + kind_len + SUFFIX.len();
    let body_len = memmem::find(text.get(body_start..)?, END)?;
    let body_end = body_start + body_len;
    text.get(body_end + END.len()..)?.strip_prefix(kind)?.strip_prefix(SUFFIX)?;
    // The dashes that end this block may begin the next.
    let after = text.get(body_end + SUFFIX.len()..)?;
    let body = text.get(body_start..body_end)?;
    if body.is_empty() {
        return Some((None, after));
    }
    let content = base64(without_headers(body));
    Some((content.map(|content| Block { kind, content }), after))
}

/// The text after the first empty or blank line, if there is one (RFC 1421 headers).
fn without_headers(body: &[u8]) -> &[u8] {
    let mut rest = body;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        rest = rest.get(end + 1..).unwrap_or(&[]);
        let blank = rest.iter().take_while(|byte| is_space(byte)).position(|byte| *byte == b'\n');
        if let Some(blank) = blank {
            return rest.get(blank..).unwrap_or(&[]);
        }
    }
    body
}

/// Decodes as `p11_b64_pton` (common/base64.c): blanks anywhere, padding where needed, and any one byte at the very
/// end, which is not checked.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // p11-kit skips a block for which it has no memory.
    out.try_reserve_exact(text.len() / 4 * 3 + 3).ok()?;
    let mut bits = 0u32;
    let mut digits = 0usize;
    let mut rest = text.iter();
    loop {
        match rest.next() {
            None => return (digits == 0).then_some(out),
            Some(byte) if is_space(byte) => {}
            Some(b'=') => break,
            Some(byte) => {
                bits = bits << 6 | u32::from(digit(*byte)?);
                digits += 1;
                if digits == 4 {
                    let [_, triple @ ..] = bits.to_be_bytes();
                    out.extend_from_slice(&triple);
                    (bits, digits) = (0, 0);
                }
            }
        }
    }
    let [a, b] = match digits {
        2 if rest.find(|byte| !is_space(byte)) == Some(&b'=') && bits.trailing_zeros() >= 4 => [(bits >> 4) as u8, 0],
        3 if bits.trailing_zeros() >= 2 => [(bits >> 10) as u8, (bits >> 2) as u8],
        _ => return None,
    };
    let [checked @ .., _] = rest.as_slice() else { return Some(padded(out, &[a, b], digits)) };
    checked.iter().all(is_space).then(|| padded(out, &[a, b], digits))
}

/// Appends the bytes of a last group with this many digits.
fn padded(mut out: Vec<u8>, last: &[u8; 2], digits: usize) -> Vec<u8> {
    out.extend_from_slice(last.get(..digits - 1).unwrap_or(last));
    out
}

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// C's isspace.
pub(super) fn is_space(byte: &u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, Vec<u8>)> {
        let blocks = blocks(text.as_bytes()).into_iter();
        blocks.map(|block| (String::from_utf8(block.kind.to_vec()).unwrap(), block.content)).collect()
    }

    #[test]
    fn blocks_wherever_they_are() {
        let text = "x -----BEGIN A-----\nYWJj\n-----END A----- y -----BEGIN B C-----YW\n Jj-----END B C-----";
        assert_eq!(all(text), [("A".into(), b"abc".to_vec()), ("B C".into(), b"abc".to_vec())]);
    }

    #[test]
    fn shared_dashes_and_a_nul() {
        let text = "-----BEGIN A-----YWJj-----END A-----BEGIN B-----YWI=-----END B-----";
        assert_eq!(all(text), [("A".into(), b"abc".to_vec()), ("B".into(), b"ab".to_vec())]);
        assert_eq!(all(&format!("{text}\0{text}")).len(), 2);
        assert_eq!(all("-----BEGIN A-----YW\0Jj-----END A-----"), []);
    }

    #[test]
    fn base64_as_p11_kit_takes_it() {
        for (text, bytes) in [
            ("YWJj", &b"abc"[..]),
            ("YWI=", b"ab"),
            ("YW I =\n", b"ab"),
            ("YQ==", b"a"),
            ("YQ= \n =", b"a"),
            ("YQ==X", b"a"),
            ("YQ==\nX", b"a"),
            ("YWI=X", b"ab"),
            ("YWI==", b"ab"),
            ("", b""),
            (" ", b""),
        ] {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        for none in [
            "Y", "YQ", "YWI", "YQ=", "YQ=X=", "YQ==XX", "YQ==X ", "YR==", "YWJ=", "=", "YWJj=", "Y===", "YW?j",
            "YW\u{a0}",
        ] {
            assert_eq!(base64(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn headers_are_left_out() {
        assert_eq!(all("-----BEGIN A-----\nK: v\n \nYWJj\n-----END A-----"), [("A".into(), b"abc".to_vec())]);
    }

    #[test]
    fn what_is_no_block() {
        for text in [
            "-----BEGIN A-----\nYWJj\n",
            "-----BEGIN A-----\nYWJj\n-----END B-----",
            "-----BEGIN A-----\nYW?j\n-----END A-----",
            "-----BEGIN A-----\nYWJ\n-----END A-----",
            "-----BEGIN A-----END A-----",
            "-----BEGIN A\n-----YWJj-----END A-----",
        ] {
            assert_eq!(all(text), [], "{text}");
        }
    }

    #[test]
    fn a_bad_block_does_not_hide_the_next() {
        let text = "-----BEGIN A-----\nYW?j\n-----END A-----\n-----BEGIN A-----\nYWJj\n-----END A-----\n";
        assert_eq!(all(text).len(), 1);
    }
}
