//! The CRLs of a file, for users that have no other reader of it.
//!
//! Only the outer structure of a CRL is read: enough to find it by its issuer. Its entries, extensions and signature
//! are for the library that uses it.

use crate::certificate::time;
use crate::der::{BIT_STRING, INTEGER, Reader, SEQUENCE, Span};
use crate::error::{DerFault, NameFault, Unsupported};
use crate::index::Index;
use crate::name::{CanonicalName, Canonicaliser, RawName};
use crate::root_store::Bytes;
use crate::time::Timestamp;

/// The CRLs of large authorities have some tens of megabytes.
pub(crate) const MAX_CRL: usize = 256 << 20;

const EXTENSIONS: u8 = 0xA0;

/// The CRLs of a source, in its order.
pub(crate) struct Crls {
    der: Bytes,
    /// All canonical issuers, one after the other.
    canonical: Bytes,
    records: Box<[Record]>,
    issuers: Index,
}

struct Record {
    der: Span,
    canonical: Span,
    /// Within the CRL.
    issuer: Span,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
}

impl Crls {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn get(&self, place: usize) -> Option<Crl<'_>> {
        Some(Crl { crls: self, record: self.records.get(place)? })
    }

    /// The places of all CRLs of this issuer, in source order.
    pub fn by_issuer<'s>(&'s self, name: &CanonicalName) -> &'s [u32] {
        self.issuers.find(&name.as_bytes(), |record| Some(self.get(record as usize)?.canonical_issuer()))
    }

    /// Whether the other has the same CRLs in the same order. A CRL contains its own length.
    pub fn has_same(&self, other: &Crls) -> bool {
        self.der.as_slice() == other.der.as_slice()
    }
}

/// A CRL, as a view into its store.
#[derive(Clone, Copy)]
pub struct Crl<'a> {
    crls: &'a Crls,
    record: &'a Record,
}

impl<'a> Crl<'a> {
    /// The whole CRL, DER.
    pub fn der(&self) -> &'a [u8] {
        self.record.der.of(self.crls.der.as_slice())
    }

    /// The issuer, byte for byte.
    pub fn raw_issuer(&self) -> RawName<'a> {
        RawName::of_anchor(self.record.issuer.of(self.der()))
    }

    /// `thisUpdate`.
    pub fn this_update(&self) -> Timestamp {
        self.record.this_update
    }

    /// `nextUpdate`, which a CRL need not have.
    pub fn next_update(&self) -> Option<Timestamp> {
        self.record.next_update
    }

    fn canonical_issuer(&self) -> &'a [u8] {
        self.record.canonical.of(self.crls.canonical.as_slice())
    }
}

/// Collects CRLs, one after the other.
#[derive(Default)]
pub(crate) struct Builder {
    /// All CRLs; the reader appends the next.
    pub der: Vec<u8>,
    canonical: Vec<u8>,
    records: Vec<Record>,
}

impl Builder {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Adds the CRL in the last `len` bytes of the buffer.
    pub fn add(&mut self, len: usize, canonicaliser: &mut Canonicaliser) -> Result<(), Unsupported> {
        self.records.try_reserve(1).map_err(|_| Unsupported::OutOfMemory)?;
        let (start, canonical) = (self.der.len().saturating_sub(len), self.canonical.len());
        let der = self.der.get(start..).unwrap_or(&[]);
        let (issuer, this_update, next_update) = walk(der)
            .and_then(|fields| {
                let issuer = fields.0.of(der);
                canonicaliser.append(issuer, &mut self.canonical).map_err(DerFault::Name)?;
                Ok(fields)
            })
            .map_err(|fault| match fault {
                DerFault::Name(NameFault::OutOfMemory) => Unsupported::OutOfMemory,
                fault => Unsupported::Crl { crl: self.records.len() as u32 + 1, fault },
            })?;
        self.records.push(Record {
            der: Span::new(start, len).ok_or(Unsupported::TooLarge)?,
            canonical: Span::new(canonical, self.canonical.len() - canonical).ok_or(Unsupported::TooLarge)?,
            issuer,
            this_update,
            next_update,
        });
        Ok(())
    }

    /// The CRLs that were added.
    pub fn finish(self) -> Result<Box<Crls>, Unsupported> {
        let mut crls = Crls {
            der: Bytes::trimmed(self.der),
            canonical: Bytes::trimmed(self.canonical),
            records: self.records.into_boxed_slice(),
            issuers: Index::default(),
        };
        let issuer = |record: u32| Some(crls.get(record as usize)?.canonical_issuer());
        crls.issuers = Index::build(crls.records.len() as u32, issuer)?;
        Ok(Box::new(crls))
    }
}

/// The issuer, `thisUpdate` and `nextUpdate` (RFC 5280, 5.1).
fn walk(der: &[u8]) -> Result<(Span, Timestamp, Option<Timestamp>), DerFault> {
    let mut outer = Reader::new(der);
    let mut crl = outer.enter(SEQUENCE)?;
    outer.end()?;
    let mut tbs = crl.enter(SEQUENCE)?;
    crl.element_of(SEQUENCE)?;
    crl.element_of(BIT_STRING)?;
    crl.end()?;
    if tbs.peek() == Some(INTEGER) && tbs.content_of(INTEGER)? != [1] {
        return Err(DerFault::Version);
    }
    tbs.element_of(SEQUENCE)?;
    let (issuer, _) = tbs.element_of(SEQUENCE)?;
    let this_update = time(&mut tbs)?;
    let next_update =
        if matches!(tbs.peek(), None | Some(SEQUENCE | EXTENSIONS)) { None } else { Some(time(&mut tbs)?) };
    for part in [SEQUENCE, EXTENSIONS] {
        if tbs.peek() == Some(part) {
            tbs.element_of(part)?;
        }
    }
    tbs.end()?;
    Ok((issuer, this_update, next_update))
}
