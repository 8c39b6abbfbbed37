//! One trust anchor: a view into a root store.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::der::Span;
use crate::name::{self, RawName, SubjectHash};
use crate::root_store::RootStore;
use crate::time::Timestamp;

/// The position of an anchor in its store, in source order from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AnchorIndex(pub(crate) u32);

impl AnchorIndex {
    /// The position as a number, less than [`RootStore::len`].
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// The data stored for each anchor. Spans into the certificate are relative to its start.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub der: Span,
    pub canonical: Span,
    pub subject: Span,
    pub issuer: Span,
    pub serial: Span,
    pub spki: Span,
    pub subject_key_id: Span,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Record {
    /// Size of a record in a compiled store, in bytes.
    pub const WRITTEN: usize = 7 * 8 + 2 * 8;

    /// Appends the form that [`Record::from_bytes`] reads: the spans in the order of the fields, each as start and
    /// length, then the times.
    pub fn write(&self, out: &mut Vec<u8>) {
        for span in [self.der, self.canonical, self.subject, self.issuer, self.serial, self.spki, self.subject_key_id] {
            out.extend_from_slice(&span.start.to_le_bytes());
            out.extend_from_slice(&span.len.to_le_bytes());
        }
        for time in [self.not_before, self.not_after] {
            out.extend_from_slice(&time.seconds().to_le_bytes());
        }
    }

    /// Reads a record that [`Record::write`] wrote. The spans are not checked against any buffer.
    pub fn from_bytes(bytes: &[u8; Record::WRITTEN]) -> Record {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |number: usize| words.get(number).copied().unwrap_or_default();
        let span = |number: usize| {
            let word = u64::from_le_bytes(word(number));
            Span { start: word as u32, len: (word >> 32) as u32 }
        };
        Record {
            der: span(0),
            canonical: span(1),
            subject: span(2),
            issuer: span(3),
            serial: span(4),
            spki: span(5),
            subject_key_id: span(6),
            not_before: Timestamp(i64::from_le_bytes(word(7))),
            not_after: Timestamp(i64::from_le_bytes(word(8))),
        }
    }
}

/// A trusted CA certificate, as a view into its store.
#[derive(Clone, Copy)]
pub struct TrustAnchor<'a> {
    store: &'a RootStore,
    record: &'a Record,
    index: AnchorIndex,
}

impl<'a> TrustAnchor<'a> {
    pub(crate) fn new(store: &'a RootStore, record: &'a Record, index: AnchorIndex) -> TrustAnchor<'a> {
        TrustAnchor { store, record, index }
    }

    /// Its position in the store.
    pub fn index(&self) -> AnchorIndex {
        self.index
    }

    /// The whole certificate, DER.
    pub fn der(&self) -> &'a [u8] {
        self.record.der.of(self.store.der_buffer())
    }

    /// The subject, byte for byte.
    pub fn raw_subject(&self) -> RawName<'a> {
        RawName::of_anchor(self.record.subject.of(self.der()))
    }

    /// The issuer, byte for byte.
    pub fn raw_issuer(&self) -> RawName<'a> {
        RawName::of_anchor(self.record.issuer.of(self.der()))
    }

    /// The subject in OpenSSL's canonical encoding, as [`crate::CanonicalName::as_bytes`].
    pub fn canonical_subject(&self) -> &'a [u8] {
        self.record.canonical.of(self.store.canonical_buffer())
    }

    /// `X509_subject_name_hash`. Computed on each call.
    pub fn subject_hash(&self) -> SubjectHash {
        name::subject_hash(self.canonical_subject())
    }

    /// The serial number, as encoded: big-endian two's complement.
    pub fn serial(&self) -> &'a [u8] {
        self.record.serial.of(self.der())
    }

    /// The SubjectPublicKeyInfo, DER.
    pub fn spki(&self) -> &'a [u8] {
        self.record.spki.of(self.der())
    }

    /// The key identifier from the extension, if there is exactly one and it is well formed.
    pub fn subject_key_id(&self) -> Option<&'a [u8]> {
        let id = self.record.subject_key_id.of(self.der());
        (!id.is_empty()).then_some(id)
    }

    /// The first second in which the certificate is valid.
    pub fn not_before(&self) -> Timestamp {
        self.record.not_before
    }

    /// The last second in which the certificate is valid.
    pub fn not_after(&self) -> Timestamp {
        self.record.not_after
    }

    /// SHA-256 of the whole certificate. Computed on each call.
    pub fn sha256_fingerprint(&self) -> [u8; 32] {
        Sha256::digest(self.der()).into()
    }

    /// Whether the same certificate occurs earlier in the source.
    pub fn is_duplicate(&self) -> bool {
        self.store.is_duplicate(self.index)
    }
}

impl fmt::Debug for TrustAnchor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustAnchor")
            .field("index", &self.index.0)
            .field("subject", &self.raw_subject())
            .field("not_after", &self.not_after())
            .finish_non_exhaustive()
    }
}
