//! Memory whose size follows from the input. It is requested in a way that can fail; nothing is served then.

use std::ffi::CString;

/// The items of an iterator; None if there is no memory for `most` of them.
pub fn collected<T>(items: impl IntoIterator<Item = T>, most: usize) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(most).ok()?;
    for item in items {
        all.try_reserve(1).ok()?;
        all.push(item);
    }
    Some(all)
}

/// A copy of bytes.
pub fn copied(bytes: &[u8]) -> Option<Vec<u8>> {
    collected(bytes.iter().copied(), bytes.len())
}

/// These parts, concatenated, as a C string. Also None if one holds a NUL.
pub fn c_string(parts: &[&[u8]]) -> Option<CString> {
    let mut all = Vec::new();
    // With room for the terminating NUL it is not moved again.
    all.try_reserve_exact(parts.iter().map(|part| part.len()).sum::<usize>() + 1).ok()?;
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all.push(0);
    CString::from_vec_with_nul(all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_put_together() {
        assert_eq!(c_string(&[b"dir", b"/", b"0123abcd.0"]).as_deref(), Some(c"dir/0123abcd.0"));
        assert_eq!(c_string(&[]).as_deref(), Some(c""));
        assert_eq!(c_string(&[b"a\0b"]), None);
        assert_eq!(copied(b"xyz").as_deref(), Some(&b"xyz"[..]));
        assert_eq!(collected(0..3, 1), Some(vec![0, 1, 2]));
    }
}
