//! Distinguished names: byte-exact ([`RawName`]) and as OpenSSL compares them ([`CanonicalName`]).
//!
//! The canonical form is the output of `x509_name_canon` (OpenSSL, crypto/x509/x_name.c): every string becomes a
//! UTF8String, blanks are trimmed and collapsed, ASCII letters are lower-cased, each RDN is encoded again as a SET OF
//! (and thereby sorted), and the outer SEQUENCE is omitted. An empty name has an empty form.

use std::fmt;

use md5::Md5;
use sha1::{Digest, Sha1};

use crate::der::{self, Reader};
use crate::error::{NameFault, Unsupported};

const UTF8_STRING: u8 = 0x0C;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const T61_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const UNIVERSAL_STRING: u8 = 0x1C;
const BMP_STRING: u8 = 0x1E;

/// `X509_NAME_MAX`: `x509_name_ex_d2i` reads at most this many bytes.
const MAX_NAME: usize = 1 << 20;

/// Certificate authorities have one entry in an RDN, rarely two. Larger RDNs are not sorted here: see
/// [`crate::sorted`].
const MAX_ENTRIES: usize = 16;

/// The DER of a whole Name, tag and length included, byte for byte as in the certificate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawName<'a>(&'a [u8]);

impl<'a> RawName<'a> {
    /// Takes the DER of a Name: exactly one SEQUENCE. Only [`CanonicalName::from_raw`] checks its content.
    pub fn from_der(der: &'a [u8]) -> Result<RawName<'a>, Unsupported> {
        let mut reader = Reader::new(der);
        match reader.content_of(der::SEQUENCE).and_then(|_| reader.end()) {
            Ok(()) => Ok(RawName(der)),
            Err(_) => Err(Unsupported::Name(NameFault::Structure)),
        }
    }

    /// For names that the walk over a certificate has checked.
    pub(crate) fn of_anchor(der: &'a [u8]) -> RawName<'a> {
        RawName(der)
    }

    /// The DER.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for RawName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawName({})", Hex(self.0))
    }
}

/// A name in OpenSSL's canonical encoding: two names are equal to OpenSSL if and only if these bytes are equal.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanonicalName(Box<[u8]>);

impl CanonicalName {
    /// Computes the canonical encoding.
    ///
    /// Fails for names that `d2i_X509_NAME` would refuse. Also fails for BER encodings, RDNs without an entry and
    /// string types that no CA uses, although OpenSSL can compare those.
    pub fn from_raw(name: RawName<'_>) -> Result<CanonicalName, Unsupported> {
        let mut out = Vec::new();
        Canonicaliser::default().append(name.0, &mut out).map_err(Unsupported::Name)?;
        Ok(CanonicalName(out.into_boxed_slice()))
    }

    /// The RDN SETs, in order, without the outer SEQUENCE.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `X509_NAME_hash_ex`.
    pub fn subject_hash(&self) -> SubjectHash {
        subject_hash(&self.0)
    }
}

impl fmt::Debug for CanonicalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanonicalName({})", Hex(&self.0))
    }
}

/// The 32-bit number that names the files of a hashed directory. Displays as eight hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectHash(pub u32);

impl fmt::Display for SubjectHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// `X509_NAME_hash_ex` over a canonical encoding: the first four bytes of its SHA-1, little-endian.
pub(crate) fn subject_hash(canonical: &[u8]) -> SubjectHash {
    let [a, b, c, d, ..] = <[u8; 20]>::from(Sha1::digest(canonical));
    SubjectHash(u32::from_le_bytes([a, b, c, d]))
}

/// `X509_NAME_hash_old`: the first four bytes of the MD5 of the unchanged name, little-endian. Directories hashed by
/// OpenSSL before 1.0 use it.
pub fn subject_hash_old(name: RawName<'_>) -> SubjectHash {
    let [a, b, c, d, ..] = <[u8; 16]>::from(Md5::digest(name.0));
    SubjectHash(u32::from_le_bytes([a, b, c, d]))
}

/// Computes canonical encodings; keeps its buffers from one name to the next.
#[derive(Default)]
pub(crate) struct Canonicaliser {
    /// The encoded entries of one RDN.
    rdn: Vec<u8>,
    /// The start and end of each entry.
    entries: Vec<(usize, usize)>,
    /// The canonical form of one value.
    value: Vec<u8>,
    /// One value as UTF-8, if it had to be converted.
    utf8: String,
    /// Output that is discarded.
    waste: Vec<u8>,
}

impl Canonicaliser {
    /// Appends the canonical encoding of `name` to `out`, or leaves `out` with unspecified bytes appended.
    pub fn append(&mut self, name: &[u8], out: &mut Vec<u8>) -> Result<(), NameFault> {
        if name.len() > MAX_NAME {
            return Err(NameFault::TooLarge);
        }
        // A canonical name has less than twice the bytes of its original, and the same limit holds for its parts.
        let most = 2 * name.len();
        for buffer in [&mut *out, &mut self.rdn, &mut self.value] {
            buffer.try_reserve(most).map_err(out_of_memory)?;
        }
        let mut outer = Reader::new(name);
        let mut rdns = outer.enter(der::SEQUENCE).map_err(structure)?;
        outer.end().map_err(structure)?;
        while !rdns.is_empty() {
            self.rdn(rdns.enter(der::SET).map_err(structure)?, out)?;
        }
        Ok(())
    }

    /// Whether the name has a canonical encoding.
    pub fn check(&mut self, name: &[u8]) -> Result<(), NameFault> {
        let mut waste = std::mem::take(&mut self.waste);
        waste.clear();
        let result = self.append(name, &mut waste);
        self.waste = waste;
        result
    }

    fn rdn(&mut self, mut set: Reader<'_>, out: &mut Vec<u8>) -> Result<(), NameFault> {
        self.rdn.clear();
        self.entries.clear();
        // X.501 requires at least one entry; OpenSSL drops an empty RDN silently.
        if set.is_empty() {
            return Err(NameFault::Structure);
        }
        while !set.is_empty() {
            if self.entries.len() == MAX_ENTRIES {
                return Err(NameFault::TooLarge);
            }
            let start = self.rdn.len();
            self.entry(set.enter(der::SEQUENCE).map_err(structure)?)?;
            self.entries.try_reserve(1).map_err(out_of_memory)?;
            self.entries.push((start, self.rdn.len()));
        }
        header(der::SET, self.rdn.len(), out);
        if self.entries.len() == 1 {
            out.extend_from_slice(&self.rdn);
            return Ok(());
        }
        // `asn1_set_seq_out` sorts by memcmp and then by length; Rust compares slices in the same way.
        let rdn = &self.rdn;
        let bytes = |&(start, end): &(usize, usize)| rdn.get(start..end).unwrap_or(&[]);
        self.entries.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
        for entry in &self.entries {
            out.extend_from_slice(bytes(entry));
        }
        Ok(())
    }

    fn entry(&mut self, mut entry: Reader<'_>) -> Result<(), NameFault> {
        let oid = entry.content_of(der::OBJECT_IDENTIFIER).map_err(structure)?;
        der::object_identifier(oid).map_err(structure)?;
        let tag = entry.peek().ok_or(NameFault::Structure)?;
        let content = entry.content_of(tag).map_err(structure)?;
        entry.end().map_err(structure)?;
        let tag = self.value(tag, content)?;
        let oid_len = header_len(oid.len()) + oid.len();
        let value_len = header_len(self.value.len()) + self.value.len();
        header(der::SEQUENCE, oid_len + value_len, &mut self.rdn);
        header(der::OBJECT_IDENTIFIER, oid.len(), &mut self.rdn);
        self.rdn.extend_from_slice(oid);
        header(tag, self.value.len(), &mut self.rdn);
        self.rdn.extend_from_slice(&self.value);
        Ok(())
    }

    /// `asn1_string_canon`: leaves the new content in `self.value` and returns its tag.
    fn value(&mut self, tag: u8, content: &[u8]) -> Result<u8, NameFault> {
        self.value.clear();
        self.utf8.clear();
        match tag {
            UTF8_STRING => {
                // UTF8_getc of 1.1.1 accepts characters of five and six bytes, and surrogates; later versions do not.
                std::str::from_utf8(content).map_err(|_| NameFault::StringValue)?;
                fold(content, &mut self.value);
            }
            PRINTABLE_STRING | IA5_STRING | T61_STRING => {
                if content.is_ascii() {
                    fold(content, &mut self.value);
                } else {
                    // One byte per character whatever the type says (`tag2nbyte`): Latin-1.
                    self.utf8.try_reserve(2 * content.len()).map_err(out_of_memory)?;
                    self.utf8.extend(content.iter().map(|&byte| char::from(byte)));
                    fold(self.utf8.as_bytes(), &mut self.value);
                }
            }
            BMP_STRING => {
                let (units, odd) = content.as_chunks::<2>();
                if !odd.is_empty() {
                    return Err(NameFault::StringValue);
                }
                self.utf8.try_reserve(2 * content.len()).map_err(out_of_memory)?;
                for unit in units {
                    self.utf8.push(character(u32::from(u16::from_be_bytes(*unit)))?);
                }
                fold(self.utf8.as_bytes(), &mut self.value);
            }
            UNIVERSAL_STRING => {
                let (units, odd) = content.as_chunks::<4>();
                if !odd.is_empty() {
                    return Err(NameFault::StringValue);
                }
                self.utf8.try_reserve(content.len()).map_err(out_of_memory)?;
                for unit in units {
                    self.utf8.push(character(u32::from_be_bytes(*unit))?);
                }
                fold(self.utf8.as_bytes(), &mut self.value);
            }
            // Not in ASN1_MASK_CANON: copied unchanged.
            NUMERIC_STRING => {
                self.value.extend_from_slice(content);
                return Ok(NUMERIC_STRING);
            }
            _ => return Err(NameFault::StringType),
        }
        Ok(UTF8_STRING)
    }
}

fn out_of_memory<E>(_: E) -> NameFault {
    NameFault::OutOfMemory
}

fn structure<E>(_: E) -> NameFault {
    NameFault::Structure
}

/// Surrogates: 1.1.1 turns them into bytes that are not UTF-8, later versions refuse them.
fn character(value: u32) -> Result<char, NameFault> {
    char::from_u32(value).ok_or(NameFault::StringValue)
}

/// Trims and collapses blanks (as defined by `ossl_isspace`), and lower-cases ASCII letters. Everything else is copied.
fn fold(text: &[u8], out: &mut Vec<u8>) {
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let Some(first) = text.iter().position(|b| !is_space(b)) else {
        return;
    };
    let last = text.iter().rposition(|b| !is_space(b)).unwrap_or(first);
    let text = text.get(first..=last).unwrap_or(&[]);
    // The case of nearly all names: no blanks except single spaces.
    let pairs = text.iter().zip(text.get(1..).unwrap_or(&[]));
    if !pairs.into_iter().any(|(a, b)| *a <= b' ' && is_space(a) && (*a != b' ' || is_space(b))) {
        let start = out.len();
        out.extend_from_slice(text);
        out.get_mut(start..).unwrap_or(&mut []).make_ascii_lowercase();
        return;
    }
    let mut after_space = false;
    for byte in text {
        if is_space(byte) {
            if !after_space {
                out.push(b' ');
            }
            after_space = true;
        } else {
            out.push(byte.to_ascii_lowercase());
            after_space = false;
        }
    }
}

#[inline]
fn header_len(len: usize) -> usize {
    match len {
        0..=0x7F => 2,
        0x80..=0xFF => 3,
        0x100..=0xFFFF => 4,
        _ => 5,
    }
}

/// Writes tag and length. Lengths are below 2^24: a name has at most 2^20 bytes, and grows to less than twice its size.
#[inline]
fn header(tag: u8, len: usize, out: &mut Vec<u8>) {
    let [.., c, b, a] = len.to_be_bytes();
    match len {
        0..=0x7F => out.extend_from_slice(&[tag, a]),
        0x80..=0xFF => out.extend_from_slice(&[tag, 0x81, a]),
        0x100..=0xFFFF => out.extend_from_slice(&[tag, 0x82, b, a]),
        _ => out.extend_from_slice(&[tag, 0x83, c, b, a]),
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
