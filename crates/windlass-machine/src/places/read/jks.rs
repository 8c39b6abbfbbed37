//! Java's own keystore format. It is documented only by the code that reads it (OpenJDK,
//! `sun.security.provider.JavaKeyStore.engineLoad`). Certificates are not encrypted, and the digest at the end only
//! proves that nobody without the password has changed the file: listing needs neither password nor digest.

use super::{Entry, MAX_CERTIFICATES, Trust, Unreadable};

const MAGIC: [u8; 4] = [0xFE, 0xED, 0xFE, 0xED];
/// The magic of the same format with another encryption of keys and with secret keys (`JceKeyStore`).
const JCE_MAGIC: [u8; 4] = [0xCE, 0xCE, 0xCE, 0xCE];

const MALFORMED: Unreadable = Unreadable::Malformed("a Java keystore");

/// Whether a file begins like a keystore.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&JCE_MAGIC)
}

/// The certificates: trusted ones, and the chains of keys.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let mut reader = Reader(bytes.get(4..).unwrap_or_default());
    let version = reader.number()?;
    if !(1..=2).contains(&version) {
        return Err(MALFORMED);
    }
    let mut all = Vec::new();
    for _ in 0..reader.number()? {
        let kind = reader.number()?;
        let label = reader.text()?;
        let added = Some(reader.milliseconds()? / 1000);
        let (count, trust) = match kind {
            1 => {
                let length = reader.number()?;
                reader.take(length as usize)?;
                (reader.number()?, Trust::Nothing)
            }
            2 => (1, Trust::Anchor),
            // A secret key: a serialised Java object, whose end only Java can find.
            _ => return Err(MALFORMED),
        };
        for _ in 0..count {
            // No other type than X.509 is in use.
            if version == 2 {
                reader.text()?;
            }
            let length = reader.number()?;
            let der = reader.take(length as usize)?.to_vec();
            if all.len() == MAX_CERTIFICATES {
                return Err(Unreadable::TooLarge);
            }
            all.push(Entry { der, label: label.clone(), trust, added });
        }
    }
    Ok(all)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(MALFORMED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, Unreadable> {
        let bytes = self.take(4)?.try_into().map_err(|_| MALFORMED)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn milliseconds(&mut self) -> Result<i64, Unreadable> {
        let bytes = self.take(8)?.try_into().map_err(|_| MALFORMED)?;
        Ok(i64::from_be_bytes(bytes))
    }

    /// Java's "modified UTF-8". The parts that differ from UTF-8 (NUL, and characters beyond the first 65,536) are
    /// shown as unknown.
    fn text(&mut self) -> Result<String, Unreadable> {
        let bytes = self.take(2)?.try_into().map_err(|_| MALFORMED)?;
        let text = self.take(usize::from(u16::from_be_bytes(bytes)))?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}
