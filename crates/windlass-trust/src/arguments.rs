//! The arguments of C_Initialize: `x-init-reserved` of a p11-kit module configuration, the parameters of an NSS module.

/// The `paths` in `paths=/a:/b verbose='no'`: words separated by blanks, with quotes and backslashes as in p11-kit's
/// `p11_argv_parse`. The last `paths` counts; the word without a value does not.
pub fn paths(arguments: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    for word in words(arguments) {
        let split = word.iter().position(|byte| matches!(byte, b'=' | b':')).unwrap_or(word.len());
        if word.get(..split) == Some(b"paths") {
            found = word.get(split + 1..).map(<[u8]>::to_vec);
        }
    }
    found
}

fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            // The following character ends nothing. The backslash stays, except before the quote that it is in.
            (_, b'\\') => {
                let Some(next) = bytes.next() else { return words };
                let word = word.get_or_insert_default();
                if Some(next) != quote {
                    word.push(b'\\');
                }
                word.push(next);
            }
            (None, byte) if is_space(byte) => words.extend(word.take()),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// C's isspace.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_paths_among_other_words() {
        assert_eq!(paths(b"paths=/a:/b"), Some(b"/a:/b".to_vec()));
        assert_eq!(paths(b" verbose=yes paths='/a b:/c' "), Some(b"/a b:/c".to_vec()));
        assert_eq!(paths(b"paths:\"/a\\\"b\""), Some(b"/a\"b".to_vec()));
        assert_eq!(paths(br"paths='/a\b' x=\'"), Some(br"/a\b".to_vec()));
        assert_eq!(paths(br"paths=/a\ b"), Some(br"/a\ b".to_vec()));
        assert_eq!(paths(br"paths='/a\'b'"), Some(b"/a'b".to_vec()));
        assert_eq!(paths(b"paths=/a paths="), Some(Vec::new()));
        assert_eq!(paths(b"paths=/a paths"), None, "the usual ones again");
        assert_eq!(paths(b"verbose=no xpaths=/a"), None);
        assert_eq!(paths(b""), None);
    }
}
