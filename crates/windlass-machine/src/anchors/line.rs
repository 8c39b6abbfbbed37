//! The line of an error in a file.

use std::path::Path;

use windlass::Unsupported;

/// The line on which the unsupported text begins, counted from 1.
pub fn of(path: &Path, what: &Unsupported) -> Option<u64> {
    match what {
        Unsupported::Pem { line, .. } => Some(*line),
        Unsupported::Certificate { certificate, .. } => line_of_block(&std::fs::read(path).ok()?, *certificate),
        _ => None,
    }
}

fn line_of_block(pem: &[u8], number: u32) -> Option<u64> {
    let starts = pem.split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| line.starts_with(b"-----BEGIN "));
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    starts.map(|(_, line)| line).nth(place)
}

#[cfg(test)]
mod tests {
    use super::line_of_block;

    #[test]
    fn blocks_are_counted_from_one() {
        let pem = b"# one\n-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n";
        assert_eq!(line_of_block(pem, 1), Some(2));
        assert_eq!(line_of_block(pem, 2), Some(5));
        assert_eq!(line_of_block(pem, 3), None);
        assert_eq!(line_of_block(pem, 0), None);
    }
}
