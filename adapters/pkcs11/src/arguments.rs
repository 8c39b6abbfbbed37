//! What comes with C_Initialize: `x-init-reserved` of a p11-kit module configuration, the parameters of an NSS module.

/// The `paths` in `paths=/a:/b verbose='no'`: words with blanks between them, quotes and backslashes as in p11-kit's
/// `p11_argv_parse`. The last counts.
pub fn paths(arguments: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    for word in words(arguments) {
        let split = word.iter().position(|byte| matches!(byte, b'=' | b':'));
        if let Some((b"paths", value)) = split.and_then(|at| Some((word.get(..at)?, word.get(at + 1..)?))) {
            found = Some(value.to_vec());
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
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (None, byte) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_paths_among_other_words() {
        assert_eq!(paths(b"paths=/a:/b"), Some(b"/a:/b".to_vec()));
        assert_eq!(paths(b" verbose=yes paths='/a b:/c' "), Some(b"/a b:/c".to_vec()));
        assert_eq!(paths(b"paths:\"/a\\\"b\""), Some(b"/a\"b".to_vec()));
        assert_eq!(paths(b"paths=/a paths="), Some(Vec::new()));
        assert_eq!(paths(b"verbose=no xpaths=/a"), None);
        assert_eq!(paths(b""), None);
    }
}
