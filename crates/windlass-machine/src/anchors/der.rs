//! Files that hold one certificate in DER. No TLS library accepts such a file as a source of trust, but people have
//! them.

use std::path::Path;

use base64_simd::STANDARD;
use windlass::{LoadError, RootStore};

/// In bytes; certificates are smaller.
const MAX_BYTES: u64 = 1 << 20;
/// Length of a base64 line (RFC 7468, section 2).
const LINE: usize = 64;

/// The certificate in a DER file; None if it is another kind of file.
pub fn read(path: &Path) -> Option<Result<RootStore, LoadError>> {
    let small = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let der = small.then(|| std::fs::read(path).ok()).flatten().filter(|bytes| is_der(bytes))?;
    let store = RootStore::from_pem(pem(&der).as_bytes());
    Some(store.map_err(|what| LoadError::Unsupported { path: path.to_owned(), what }))
}

/// Whether the bytes look like a certificate in DER: a SEQUENCE with a length of more than one byte, as in every
/// certificate. A text can begin with "0" too, but continues in ASCII.
pub fn is_der(bytes: &[u8]) -> bool {
    matches!(bytes, [0x30, 0x80..=0xff, ..])
}

/// The certificate as one PEM block.
pub fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode_to_string(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        // Base64 is ASCII, and therefore every position is a character boundary.
        let (line, behind) = rest.split_at(rest.len().min(LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = behind;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}
