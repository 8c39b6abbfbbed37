//! The root store: what one source trusts, indexed once and never changed.

mod builder;
mod twins;

use std::fmt;

use once_cell::race::OnceBox;

use crate::anchor::{AnchorIndex, Record, TrustAnchor};
use crate::error::Unsupported;
use crate::index::Index;
use crate::name::{CanonicalName, RawName, SubjectHash};
use builder::Builder;
use twins::Twins;

/// An immutable, indexed set of trust anchors in source order.
///
/// Everything but the subjects is indexed when it is first asked for. That takes no lock: after a fork nobody may be
/// waiting for a thread that exists no more. Threads that ask at once may do the same work, and one result is kept.
/// If memory for such an index can't be had, nothing is found by it.
pub struct RootStore {
    /// All certificates, one after the other.
    der: Box<[u8]>,
    /// All canonical subjects, one after the other.
    canonical: Box<[u8]>,
    records: Box<[Record]>,
    subjects: Index,
    source_bytes: u64,
    subject_hashes: OnceBox<Box<[(SubjectHash, AnchorIndex)]>>,
    key_ids: OnceBox<Option<Index>>,
    fingerprints: OnceBox<Option<Fingerprints>>,
    twins: Twins,
    ca_names: OnceBox<Box<[AnchorIndex]>>,
}

struct Fingerprints {
    all: Box<[[u8; 32]]>,
    index: Index,
}

impl RootStore {
    /// Reads a PEM file. All or nothing: either every certificate of the file is in the store, as OpenSSL's
    /// `X509_load_cert_crl_file` would have loaded it, or the file is not supported.
    pub fn from_pem(pem: &[u8]) -> Result<RootStore, Unsupported> {
        RootStore::from_pem_files([pem]).map_err(|(_, what)| what)
    }

    /// Reads several PEM files into one store, in this order. An error tells which of them it is about.
    pub(crate) fn from_pem_files<'p>(
        files: impl IntoIterator<Item = &'p [u8]>,
    ) -> Result<RootStore, (usize, Unsupported)> {
        let mut builder = Builder::default();
        for (file, pem) in files.into_iter().enumerate() {
            builder.add_pem(pem).map_err(|what| (file, what))?;
        }
        builder.finish().map_err(|what| (0, what))
    }

    /// Whether these are the same certificates in the same order.
    pub(crate) fn has_same_certificates(&self, other: &RootStore) -> bool {
        // A certificate tells its own length, so one run of bytes is one list of certificates.
        self.der == other.der
    }

    /// The number of certificates, duplicates included: what OpenSSL's load would return.
    #[expect(clippy::len_without_is_empty, reason = "there is no empty store")]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Bytes of PEM that were read.
    pub fn source_bytes(&self) -> u64 {
        self.source_bytes
    }

    /// One anchor.
    ///
    /// # Panics
    /// If the index is from another store and too large for this one.
    pub fn anchor(&self, index: AnchorIndex) -> TrustAnchor<'_> {
        TrustAnchor::new(self, &self.records[index.get()], index)
    }

    /// All anchors in source order, duplicates included.
    pub fn anchors(&self) -> impl ExactSizeIterator<Item = TrustAnchor<'_>> + DoubleEndedIterator {
        self.records.iter().enumerate().map(|(i, record)| TrustAnchor::new(self, record, AnchorIndex(i as u32)))
    }

    /// All anchors with this subject as OpenSSL compares names, in source order, duplicates included.
    pub fn by_subject<'s>(&'s self, name: &CanonicalName) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let first = self.subjects.first(name.as_bytes(), |record| self.canonical_of(record));
        self.subjects.chain(first).map(AnchorIndex)
    }

    /// All anchors whose subject has this hash, in source order. Names are not compared: this is for an adapter that
    /// has a name which [`CanonicalName::from_raw`] does not support, and can have the stock library compare it.
    pub fn by_subject_hash<'s>(&'s self, hash: SubjectHash) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let hashes = self.subject_hashes.get_or_init(|| {
            let mut all: Vec<_> = self.anchors().map(|anchor| (anchor.subject_hash(), anchor.index())).collect();
            all.sort_unstable();
            Box::new(all.into_boxed_slice())
        });
        let start = hashes.partition_point(|(other, _)| *other < hash);
        hashes.iter().skip(start).take_while(move |(other, _)| *other == hash).map(|(_, index)| *index)
    }

    /// For each distinct subject, as OpenSSL compares names, the first anchor that has it, in source order.
    pub fn first_of_each_subject(&self) -> impl Iterator<Item = AnchorIndex> {
        let mut heads: Vec<_> = self.subjects.heads().map(AnchorIndex).collect();
        heads.sort_unstable();
        heads.into_iter()
    }

    /// All anchors with this subject key identifier, in source order.
    pub fn by_key_id<'s>(&'s self, key_id: &[u8]) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let key = |record: u32| self.view(record)?.subject_key_id();
        let index = self.key_ids.get_or_init(|| Box::new(Index::build(self.count(), key).ok()));
        let first = index.as_ref().and_then(|index| index.first(key_id, key));
        index.iter().flat_map(move |index| index.chain(first)).map(AnchorIndex)
    }

    /// All anchors with this SHA-256 fingerprint, in source order: more than one if the source has duplicates.
    pub fn by_fingerprint<'s>(&'s self, sha256: &[u8; 32]) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        let fingerprints = self.fingerprints.get_or_init(|| {
            let all: Box<[[u8; 32]]> = self.anchors().map(|anchor| anchor.sha256_fingerprint()).collect();
            let index = Index::build(self.count(), |record| Some(all.get(record as usize)?.as_slice()));
            Box::new(index.ok().map(|index| Fingerprints { all, index }))
        });
        let first = fingerprints
            .as_ref()
            .and_then(|f| f.index.first(sha256, |record| Some(f.all.get(record as usize)?.as_slice())));
        fingerprints.iter().flat_map(move |f| f.index.chain(first)).map(AnchorIndex)
    }

    /// The distinct subjects, byte for byte, in source order: the names a server sends when it asks for a client's
    /// certificate.
    pub fn ca_names(&self) -> impl ExactSizeIterator<Item = RawName<'_>> {
        let names = self.ca_names.get_or_init(|| {
            let key = |record: u32| Some(self.view(record)?.raw_subject().as_bytes());
            let mut heads: Vec<_> = match Index::build(self.count(), key) {
                Ok(index) => index.heads().map(AnchorIndex).collect(),
                Err(_) => Vec::new(),
            };
            heads.sort_unstable();
            Box::new(heads.into_boxed_slice())
        });
        names.iter().map(|&index| self.anchor(index).raw_subject())
    }

    /// Every anchor whose canonical subject is also the subject of a different certificate here, in source order,
    /// duplicates included.
    pub fn shared_subjects(&self) -> &[AnchorIndex] {
        &self.twins.shared
    }

    pub(crate) fn is_duplicate(&self, index: AnchorIndex) -> bool {
        self.twins.duplicates.binary_search(&index).is_ok()
    }

    pub(crate) fn der_buffer(&self) -> &[u8] {
        &self.der
    }

    pub(crate) fn canonical_buffer(&self) -> &[u8] {
        &self.canonical
    }

    fn view(&self, record: u32) -> Option<TrustAnchor<'_>> {
        Some(TrustAnchor::new(self, self.records.get(record as usize)?, AnchorIndex(record)))
    }

    fn canonical_of(&self, record: u32) -> Option<&[u8]> {
        Some(self.records.get(record as usize)?.canonical.of(&self.canonical))
    }

    fn count(&self) -> u32 {
        self.records.len() as u32
    }
}

impl fmt::Debug for RootStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootStore({} anchors)", self.len())
    }
}
