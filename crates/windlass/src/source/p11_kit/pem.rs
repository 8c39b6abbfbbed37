//! PEM as p11-kit finds it (`p11_pem_parse`, common/pem.c): blocks anywhere in a file, headers ignored, lines of any length.

use std::ops::Range;

use memchr::memmem;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const SUFFIX: &[u8] = b"-----";

/// One block.
pub(super) struct Block<'a> {
    pub kind: &'a [u8],
    pub content: Vec<u8>,
}

/// All blocks whose text is base64. As in p11-kit, nothing is looked for behind a block without its end.
pub(super) fn blocks(text: &[u8]) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
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
    let Range { start, end } = body_start..body_start + body_len;
    let after = text.get(end + END.len()..)?.strip_prefix(kind)?.strip_prefix(SUFFIX)?;
    let body = text.get(start..end)?;
    if body.is_empty() {
        return Some((None, after));
    }
    let digits: Vec<u8> = without_headers(body).iter().filter(|byte| !is_space(byte)).copied().collect();
    let content = base64_simd::STANDARD.decode_to_vec(&digits).ok();
    Some((content.map(|content| Block { kind, content }), after))
}

/// What follows the first line that is empty or blank, if there is one (RFC 1421 headers).
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
