//! What is wrong in a file, and in which line.

use std::path::Path;

use windlass::Unsupported;

/// What is unsupported in the file `path`, as `/etc/ca.pem:12: …`. `here` is the path by which this process reads it.
pub fn told(path: &Path, here: &Path, what: &Unsupported) -> String {
    match of(here, what) {
        (Some(line), fault) => format!("{}:{line}: {fault}", path.display()),
        (None, fault) => format!("{}: {fault}", path.display()),
    }
}

/// The line on which the unsupported text begins, counted from 1, and the fault without that line.
pub fn of(path: &Path, what: &Unsupported) -> (Option<u64>, String) {
    match what {
        Unsupported::Pem { line, fault } => (Some(*line), fault.to_string()),
        Unsupported::Certificate { certificate, .. } => {
            let pem = std::fs::read(path).ok();
            (pem.and_then(|pem| line_of_block(&pem, *certificate)), what.to_string())
        }
        _ => (None, what.to_string()),
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
