//! From PEM files to a root store.

use super::RootStore;
use super::bytes::Bytes;
use crate::anchor::Record;
use crate::certificate;
use crate::crl;
use crate::der::Span;
use crate::error::{DerFault, NameFault, Unsupported};
use crate::name::Canonicaliser;
use crate::pem::{Blocks, Label};
use crate::source::Contents;

/// More than 16 million certificates do not fit into the size limit of a source in any case.
const MAX_ANCHORS: usize = 1 << 24;

/// Collects certificates, one after the other. Buffers that grow with the source are allocated in a way that can fail:
/// this runs inside other people's programs, which must not be aborted.
#[derive(Default)]
pub(super) struct Builder {
    der: Vec<u8>,
    canonical: Vec<u8>,
    records: Vec<Record>,
    canonicaliser: Canonicaliser,
    contents: Contents,
    crls: Option<Box<crl::Builder>>,
    source_bytes: u64,
}

impl Builder {
    pub fn new(contents: Contents) -> Builder {
        Builder { contents, ..Builder::default() }
    }

    pub fn add_pem(&mut self, pem: &[u8]) -> Result<(), Unsupported> {
        self.source_bytes += pem.len() as u64;
        // Base64 has four characters for three bytes: this is enough for all certificates.
        self.der.try_reserve(pem.len() / 4 * 3).map_err(|_| Unsupported::OutOfMemory)?;
        let count = |all: &Builder| all.records.len() + all.crls.as_ref().map_or(0, |crls| crls.len());
        let before = count(self);
        let mut blocks = Blocks::new(pem);
        let mut start = self.der.len();
        while let Some(label) = blocks.next_label(self.contents)? {
            match label {
                Label::Certificate => {
                    let len = blocks.block_into(label, &mut self.der)?;
                    self.add_der(start, len)?;
                    start += len;
                }
                Label::Crl => {
                    let crls = self.crls.get_or_insert_default();
                    let len = blocks.block_into(label, &mut crls.der)?;
                    crls.add(len, &mut self.canonicaliser)?;
                }
            }
        }
        if count(self) == before { Err(Unsupported::NoCertificate) } else { Ok(()) }
    }

    /// Adds the certificate in the last `len` bytes of the buffer.
    fn add_der(&mut self, start: usize, len: usize) -> Result<(), Unsupported> {
        if self.records.len() >= MAX_ANCHORS {
            return Err(Unsupported::TooLarge);
        }
        let reserved = if self.records.is_empty() {
            // Most files of a directory have one certificate.
            self.records.try_reserve_exact(1)
        } else {
            self.records.try_reserve(1)
        };
        reserved.map_err(|_| Unsupported::OutOfMemory)?;
        let canonical = self.canonical.len();
        let der = self.der.get(start..).unwrap_or(&[]);
        let fields =
            certificate::walk(der, &mut self.canonicaliser, &mut self.canonical).map_err(|fault| match fault {
                DerFault::Name(NameFault::OutOfMemory) => Unsupported::OutOfMemory,
                fault => Unsupported::Certificate { certificate: self.records.len() as u32 + 1, fault },
            })?;
        self.records.push(Record {
            der: Span::new(start, len).ok_or(Unsupported::TooLarge)?,
            canonical: Span::new(canonical, self.canonical.len() - canonical).ok_or(Unsupported::TooLarge)?,
            subject: fields.subject,
            issuer: fields.issuer,
            serial: fields.serial,
            spki: fields.spki,
            subject_key_id: fields.subject_key_id,
            not_before: fields.not_before,
            not_after: fields.not_after,
        });
        Ok(())
    }

    pub fn finish(self) -> Result<RootStore, Unsupported> {
        let records = self.records.into_boxed_slice();
        let (der, canonical) = (Bytes::trimmed(self.der), Bytes::trimmed(self.canonical));
        let crls = self.crls.map(|crls| crls.finish()).transpose()?;
        RootStore::new(der, canonical, records, None, None, crls, self.source_bytes)
    }
}
