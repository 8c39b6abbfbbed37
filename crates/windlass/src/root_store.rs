//! The root store: the trust anchors of one source, indexed once and never changed.

mod builder;
mod bytes;
mod twins;

use std::fmt;

use once_cell::race::OnceBox;
use sha2::{Digest, Sha256};

use crate::anchor::{AnchorIndex, Record, TrustAnchor};
use crate::crl::{Crl, Crls};
use crate::error::Unsupported;
use crate::index::{Index, Key};
use crate::name::{CanonicalName, RawName};
use crate::source::Contents;
use builder::Builder;
pub(crate) use bytes::Bytes;
use twins::Twins;

/// An immutable, indexed set of trust anchors in source order.
///
/// Every index except the one of the subjects is built on first use. Building takes no lock: after a fork, nobody may
/// be left waiting for a thread that no longer exists. Concurrent threads may do the same work twice, and one result is
/// kept. If there is no memory for an index, lookups by it find nothing.
pub struct RootStore {
    /// All certificates, one after the other.
    der: Bytes,
    /// All canonical subjects, one after the other.
    canonical: Bytes,
    records: Box<[Record]>,
    subjects: Index,
    /// The indices of a compiled store, which replace those below.
    written: Option<Box<Written>>,
    source_bytes: u64,
    raw_subjects: OnceBox<Option<Index>>,
    issuers_and_serials: OnceBox<Option<Index>>,
    key_ids: OnceBox<Option<Index>>,
    twins: Twins,
    /// Boxed: few stores have any, and a store is moved as it is built.
    crls: Option<Box<Crls>>,
    /// The number of the rules, and the value that they gave.
    finding: OnceBox<(u16, u8)>,
    digest: OnceBox<[u8; 32]>,
}

/// The indices that a compiled store brings along, still as written; each is read on first use. A part that turns out
/// not to be a valid index is built again from the certificates.
pub(crate) struct Written {
    pub raw_subjects: Bytes,
    pub issuers_and_serials: Bytes,
    pub key_ids: Bytes,
    /// The number of the rules, and the value that they gave.
    pub finding: Option<(u16, u8)>,
}

/// Lets an adapter compute a fact about all certificates of a store, such as how its library treats them. The result is
/// kept with the store and written into its compiled store, to save other processes the computation.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// The number of the rules, from 1. Different rules need a different number: a written result is used if its number
    /// matches.
    pub rules: u16,
    /// Computes the result. The same certificates must give the same result.
    pub find: fn(&RootStore) -> u8,
}

impl RootStore {
    /// Reads a PEM file. All or nothing: either every certificate of the file is in the store, as OpenSSL's
    /// `X509_load_cert_crl_file` would have loaded it, or the file is not supported.
    pub fn from_pem(pem: &[u8]) -> Result<RootStore, Unsupported> {
        RootStore::from_pem_files([pem], Contents::Certificates).map_err(|(_, what)| what)
    }

    /// The same with CRLs, as [`Contents::WithCrls`]. A file of CRLs alone gives a store without anchors.
    pub fn from_pem_with_crls(pem: &[u8]) -> Result<RootStore, Unsupported> {
        RootStore::from_pem_files([pem], Contents::WithCrls).map_err(|(_, what)| what)
    }

    /// Reads several PEM files into one store, in this order. An error names the file that it is about.
    #[inline(never)]
    pub(crate) fn from_pem_files<'p>(
        files: impl IntoIterator<Item = &'p [u8]>,
        contents: Contents,
    ) -> Result<RootStore, (usize, Unsupported)> {
        let mut builder = Builder::new(contents);
        for (file, pem) in files.into_iter().enumerate() {
            builder.add_pem(pem).map_err(|what| (file, what))?;
        }
        builder.finish().map_err(|what| (0, what))
    }

    /// Assembles a store. `subjects` and `written` come from a compiled store.
    pub(crate) fn new(
        der: Bytes,
        canonical: Bytes,
        records: Box<[Record]>,
        subjects: Option<Index>,
        written: Option<Box<Written>>,
        crls: Option<Box<Crls>>,
        source_bytes: u64,
    ) -> Result<RootStore, Unsupported> {
        if records.is_empty() && crls.is_none() {
            return Err(Unsupported::NoCertificate);
        }
        let subject_of = |record: u32| Some(records.get(record as usize)?.canonical.of(canonical.as_slice()));
        let der_of = |record: u32| Some(records.get(record as usize)?.der.of(der.as_slice()));
        let subjects = match subjects {
            Some(subjects) => subjects,
            None => Index::build(records.len() as u32, subject_of)?,
        };
        let twins = Twins::find(&subjects, subject_of, der_of)?;
        Ok(RootStore {
            der,
            canonical,
            records,
            subjects,
            written,
            source_bytes,
            twins,
            crls,
            raw_subjects: OnceBox::new(),
            issuers_and_serials: OnceBox::new(),
            key_ids: OnceBox::new(),
            finding: OnceBox::new(),
            digest: OnceBox::new(),
        })
    }

    /// Whether the other store has the same certificates and the same CRLs, each in the same order.
    pub(crate) fn has_same_content(&self, other: &RootStore) -> bool {
        let same_crls = match (&self.crls, &other.crls) {
            (Some(ours), Some(theirs)) => ours.has_same(theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        // A certificate contains its own length, and thus a run of bytes splits into certificates in only one way.
        self.der.as_slice() == other.der.as_slice() && same_crls
    }

    /// The SHA-256 of all certificates in source order. CRLs are not part of it.
    pub fn digest(&self) -> &[u8; 32] {
        // A certificate contains its own length, and thus a run of bytes splits into certificates in only one way.
        self.digest.get_or_init(|| Box::new(Sha256::digest(self.der.as_slice()).into()))
    }

    /// The number of certificates, duplicates included: the value that OpenSSL's load would return.
    #[expect(clippy::len_without_is_empty, reason = "only a file of CRLs alone has no certificate")]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The size of the PEM that was read, in bytes.
    pub fn source_bytes(&self) -> u64 {
        self.source_bytes
    }

    /// The anchor with this index.
    ///
    /// # Panics
    /// If the index is from another store and too large for this one.
    pub fn anchor(&self, index: AnchorIndex) -> TrustAnchor<'_> {
        TrustAnchor::new(self, &self.records[index.get()], index)
    }

    /// The anchor at this position, counted from 0. None beyond the end.
    pub fn get(&self, place: usize) -> Option<TrustAnchor<'_>> {
        let record = self.records.get(place)?;
        Some(TrustAnchor::new(self, record, AnchorIndex(place as u32)))
    }

    /// All anchors in source order, duplicates included.
    pub fn anchors(&self) -> impl ExactSizeIterator<Item = TrustAnchor<'_>> + DoubleEndedIterator {
        self.records.iter().enumerate().map(|(i, record)| TrustAnchor::new(self, record, AnchorIndex(i as u32)))
    }

    /// All anchors with this subject as OpenSSL compares names, in source order, duplicates included.
    pub fn by_subject<'s>(&'s self, name: &CanonicalName) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        anchors_of(self.subjects.find(&name.as_bytes(), |record| self.canonical_of(record)))
    }

    /// All anchors whose subject has exactly these bytes, in source order. GnuTLS, NSS and PKCS#11 compare names in
    /// this way.
    pub fn by_raw_subject<'s>(&'s self, name: RawName<'_>) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let index = self.raw_subject_index();
        anchors_of(index.map_or(&[], |index| index.find(&name.as_bytes(), |record| self.raw_subject_of(record))))
    }

    /// All anchors with this issuer, byte for byte, and this serial number as [`TrustAnchor::serial`] gives it.
    pub fn by_issuer_and_serial<'s>(
        &'s self,
        issuer: RawName<'_>,
        serial: &[u8],
    ) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let wanted = (issuer.as_bytes(), serial);
        let index = self.issuer_and_serial_index();
        anchors_of(index.map_or(&[], |index| index.find(&wanted, |record| self.issuer_and_serial_of(record))))
    }

    /// All anchors with this subject key identifier, in source order.
    pub fn by_key_id<'s>(&'s self, key_id: &[u8]) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let index = self.key_id_index();
        anchors_of(index.map_or(&[], |index| index.find(&key_id, |record| self.key_id_of(record))))
    }

    /// The CRL at this position, counted from 0. None beyond the end.
    pub fn crl(&self, place: usize) -> Option<Crl<'_>> {
        self.crls.as_ref()?.get(place)
    }

    /// The number of CRLs.
    pub fn crl_count(&self) -> usize {
        self.crls.as_ref().map_or(0, |crls| crls.len())
    }

    /// The positions of all CRLs of this issuer as OpenSSL compares names, in source order.
    pub fn crls_by_issuer(&self, name: &CanonicalName) -> impl Iterator<Item = usize> + use<'_> {
        let places = self.crls.as_ref().map_or(&[][..], |crls| crls.by_issuer(name));
        places.iter().map(|place| *place as usize)
    }

    /// Every anchor whose canonical subject is also the subject of a different certificate here, in source order,
    /// duplicates included.
    pub fn shared_subjects(&self) -> &[AnchorIndex] {
        &self.twins.shared
    }

    /// An adapter's finding about the certificates, computed now, earlier, or when the store was compiled. One finding
    /// is kept; one with other rules is computed on each call.
    pub fn finding(&self, wanted: &Finding) -> u8 {
        let written = self.written.as_ref().and_then(|written| written.finding);
        let here = |(rules, found): (u16, u8)| (rules == wanted.rules).then_some(found);
        let find = || Box::new((wanted.rules, (wanted.find)(self)));
        let found = written.and_then(here).or_else(|| here(*self.finding.get_or_init(find)));
        found.unwrap_or_else(|| (wanted.find)(self))
    }

    pub(crate) fn is_duplicate(&self, index: AnchorIndex) -> bool {
        self.twins.duplicates.binary_search(&index).is_ok()
    }

    pub(crate) fn der_buffer(&self) -> &[u8] {
        self.der.as_slice()
    }

    pub(crate) fn canonical_buffer(&self) -> &[u8] {
        self.canonical.as_slice()
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(crate) fn subject_index(&self) -> &Index {
        &self.subjects
    }

    pub(crate) fn raw_subject_index(&self) -> Option<&Index> {
        let key = |record: u32| self.raw_subject_of(record);
        self.lazy(&self.raw_subjects, |written| &written.raw_subjects, key)
    }

    pub(crate) fn issuer_and_serial_index(&self) -> Option<&Index> {
        let key = |record: u32| self.issuer_and_serial_of(record);
        self.lazy(&self.issuers_and_serials, |written| &written.issuers_and_serials, key)
    }

    pub(crate) fn key_id_index(&self) -> Option<&Index> {
        let key = |record: u32| self.key_id_of(record);
        self.lazy(&self.key_ids, |written| &written.key_ids, key)
    }

    /// An index that is read or built on first use; None if there is no memory for it.
    fn lazy<'s, K: Key>(
        &'s self,
        index: &'s OnceBox<Option<Index>>,
        written: fn(&Written) -> &Bytes,
        key: impl Fn(u32) -> Option<K>,
    ) -> Option<&'s Index> {
        let make = || {
            let read = self.written.as_deref().and_then(|all| Index::from_bytes(written(all).as_slice(), self.count()));
            Box::new(read.or_else(|| Index::build(self.count(), key).ok()))
        };
        index.get_or_init(make).as_ref()
    }

    fn canonical_of(&self, record: u32) -> Option<&[u8]> {
        Some(self.records.get(record as usize)?.canonical.of(self.canonical_buffer()))
    }

    fn raw_subject_of(&self, record: u32) -> Option<&[u8]> {
        Some(self.view(record)?.raw_subject().as_bytes())
    }

    fn issuer_and_serial_of(&self, record: u32) -> Option<(&[u8], &[u8])> {
        self.view(record).map(|anchor| (anchor.raw_issuer().as_bytes(), anchor.serial()))
    }

    fn key_id_of(&self, record: u32) -> Option<&[u8]> {
        self.view(record)?.subject_key_id()
    }

    fn view(&self, record: u32) -> Option<TrustAnchor<'_>> {
        Some(TrustAnchor::new(self, self.records.get(record as usize)?, AnchorIndex(record)))
    }

    fn count(&self) -> u32 {
        self.records.len() as u32
    }
}

fn anchors_of(records: &[u32]) -> impl Iterator<Item = AnchorIndex> + use<'_> {
    records.iter().copied().map(AnchorIndex)
}

impl fmt::Debug for RootStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootStore({} anchors)", self.len())
    }
}
