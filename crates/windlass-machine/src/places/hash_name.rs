//! The file names under which OpenSSL looks up certificates and CRLs, and the sequences that they form.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use windlass::SubjectHash;

/// `hhhhhhhh.N` or `hhhhhhhh.rN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashName {
    /// The hash of the subject; for a CRL, of the issuer.
    pub hash: SubjectHash,
    /// Whether it is a CRL.
    pub is_crl: bool,
    /// The number in the sequence.
    pub number: u32,
}

impl fmt::Display for HashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_crl { "r" } else { "" };
        write!(f, "{:08x}.{mark}{}", self.hash.0, self.number)
    }
}

impl HashName {
    /// Accepts only names that OpenSSL looks up (`get_cert_by_subject_ex`, crypto/x509/by_dir.c: `%s/%08lx.%s%d`):
    /// eight lower-case digits, and a number without leading zeros.
    pub fn parse(name: &OsStr) -> Option<HashName> {
        let (hash, rest) = name.as_bytes().split_at_checked(8)?;
        let rest = rest.strip_prefix(b".")?;
        let (is_crl, number) = rest.strip_prefix(b"r").map_or((false, rest), |number| (true, number));
        let hash = SubjectHash(u32::from_str_radix(std::str::from_utf8(hash).ok()?, 16).ok()?);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        let parsed = HashName { hash, is_crl, number };
        (parsed.to_string().as_bytes() == name.as_bytes()).then_some(parsed)
    }

    /// The same sequence, with another number.
    pub fn at(self, number: u32) -> HashName {
        HashName { number, ..self }
    }

    /// The file name.
    pub fn name(self) -> OsString {
        self.to_string().into()
    }

    /// The first free number of the sequence from this one on: OpenSSL looks no further.
    pub fn end(self, has: impl Fn(&OsStr) -> bool) -> u32 {
        (self.number..).find(|number| !has(&self.at(*number).name())).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_openssl_asks_for() {
        let parse = |name: &str| HashName::parse(OsStr::new(name));
        assert_eq!(parse("0a1b2c3d.0"), Some(HashName { hash: SubjectHash(0x0a1b_2c3d), is_crl: false, number: 0 }));
        assert_eq!(parse("ffffffff.r17"), Some(HashName { hash: SubjectHash(0xffff_ffff), is_crl: true, number: 17 }));
        for other in [
            "",
            ".",
            "0a1b2c3d",
            "0a1b2c3d.",
            "0A1B2C3D.0",
            "0a1b2c3d.00",
            "0a1b2c3d.r",
            "0a1b2c3d.s0",
            "+a1b2c3d.0",
            "0a1b2c3.0",
            "0a1b2c3d.0 ",
            "é",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
