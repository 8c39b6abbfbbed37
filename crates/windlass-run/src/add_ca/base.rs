//! The trust of a program without the flag, as PEM.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memchr::memmem;
use windlass::{Config, Source, TrustCache};
use windlass_machine::anchors::der::pem;
use windlass_machine::places::known_paths::{BUNDLES, HASHED_DIRECTORIES};

use super::input::bytes_of;

/// The end of the lines around private keys: PKCS#8, encrypted or not (RFC 7468, sections 10 and 11), and the older
/// kinds.
const KEY: &[u8] = b"PRIVATE KEY-----";

/// The certificates, and the permissions to read them.
#[derive(Debug, PartialEq, Eq)]
pub struct Base {
    /// The original text, which keeps parts that only some libraries understand, without private keys.
    pub pem: Vec<u8>,
    /// The read permissions. Our file has another group, and therefore the group's permission is not copied.
    pub mode: u32,
}

impl Base {
    /// The machine's own trust; empty if it has none.
    pub fn of_machine() -> Base {
        let found = BUNDLES.iter().chain(&HASHED_DIRECTORIES).find_map(|path| Base::at(Path::new(path)).ok());
        found.unwrap_or(Base { pem: Vec::new(), mode: 0o444 })
    }

    /// The trust in the file or hashed directory that a variable names.
    pub fn at(path: &Path) -> io::Result<Base> {
        let metadata = path.metadata()?;
        if metadata.is_dir() {
            let store = TrustCache::new(Config::default(), None).load(&Source::Capath(path.to_owned()));
            let store = store.map_err(io::Error::other)?;
            let pem = store.anchors().map(|anchor| pem(anchor.der())).collect::<String>().into_bytes();
            return Ok(Base { pem, mode: 0o444 });
        }
        let pem = without_keys(bytes_of(path)?);
        let is_public = metadata.mode() & 0o004 != 0 && memmem::find(&pem, KEY).is_none();
        Ok(Base { pem, mode: if is_public { 0o444 } else { 0o400 } })
    }

    /// The text, followed by those of the added certificates that it does not hold, as blocks of PEM.
    pub fn with(&self, added: &[String]) -> Vec<u8> {
        let mut pem = self.pem.clone();
        if pem.last().is_some_and(|last| *last != b'\n') {
            pem.push(b'\n');
        }
        let missing = added.iter().filter(|block| memmem::find(&self.pem, block.as_bytes()).is_none());
        missing.for_each(|block| pem.extend_from_slice(block.as_bytes()));
        pem
    }
}

/// Trust needs no private keys, and others may get to read a copy.
fn without_keys(pem: Vec<u8>) -> Vec<u8> {
    if memmem::find(&pem, KEY).is_none() {
        return pem;
    }
    let mut kept = Vec::with_capacity(pem.len());
    let mut is_key = false;
    for line in pem.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        is_key |= text.starts_with(b"-----BEGIN ") && text.ends_with(KEY);
        if !is_key {
            kept.extend_from_slice(line);
        }
        is_key &= !text.starts_with(b"-----END ");
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn private_keys_are_left_out() {
        let without = |text: &str| String::from_utf8(without_keys(text.into())).unwrap();
        let key = "-----BEGIN RSA PRIVATE KEY-----\r\nAAAA\r\n-----END RSA PRIVATE KEY-----\r\n";
        assert_eq!(without(&format!("a\n{key}b\n{key}{key}c")), "a\nb\nc");
        assert_eq!(without("a\n-----BEGIN PRIVATE KEY-----\nAAAA"), "a\n");
        assert_eq!(without("-----BEGIN X509 CRL-----\n"), "-----BEGIN X509 CRL-----\n");
    }

    #[test]
    fn nobody_else_can_read_more_than_before() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mode = |mode, content: &str| {
            fs::write(file.path(), content).unwrap();
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            Base::at(file.path()).unwrap().mode
        };
        assert_eq!([0o644, 0o604, 0o640, 0o600].map(|bits| mode(bits, "a")), [0o444, 0o444, 0o400, 0o400]);
        // Lines with the line ends of old machines: keys are not removed.
        assert_eq!(mode(0o644, "a\r-----BEGIN PRIVATE KEY-----\rAAAA\r"), 0o400);
    }

    #[test]
    fn what_is_missing_comes_behind_on_lines_of_its_own() {
        let base = |pem: &[u8]| Base { pem: pem.to_vec(), mode: 0 };
        let with = |pem: &[u8]| base(pem).with(&[String::from("b\n"), String::from("c\n")]);
        assert_eq!(with(b"a"), b"a\nb\nc\n");
        assert_eq!(with(b"a\nb\n"), b"a\nb\nc\n");
        assert_eq!(with(b""), b"b\nc\n");
    }
}
