//! From a compiled store's file to a root store, or to nothing.

use std::cell::LazyCell;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::directories::Directories;
use super::format::{Layout, Malformed, Origin, Section};
use super::name_of;
use super::trusted::{self, ReadError, Voucher};
use crate::anchor::Record;
use crate::der::Span;
use crate::index::Index;
use crate::memory;
use crate::root_store::{Bytes, RootStore, Written};
use crate::source::{Reading, SourceRef, State};

/// A compiled store in memory, with a correct checksum.
#[derive(Debug)]
pub(super) struct Compiled {
    pub layout: Layout,
    pub origin: Origin,
    pub bytes: Vec<u8>,
    pub voucher: Voucher,
}

/// The result of a search for a compiled store.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// The root store of the source as it is now, and who vouches for it.
    Fresh(RootStore, Voucher),
    /// The compiled store of another state of the source. The content may still be the same.
    Other(Candidate),
}

/// A compiled store that may be fresh by content.
#[derive(Debug)]
pub(crate) struct Candidate(Compiled);

/// Looks for the compiled store of a source that is now in this state. `refuse` receives each file that can't be used.
#[inline(never)] // Its stack must not add to the caller's, which goes on to read the source.
pub(crate) fn find(
    directories: &Directories,
    source: SourceRef<'_>,
    state: &State,
    mut refuse: impl FnMut(&ReadError),
) -> Found {
    if !source.path().is_absolute() {
        return Found::Nothing;
    }
    let name = LazyCell::new(|| name_of(source));
    let mut found = Found::Nothing;
    for directory in directories.iter() {
        match Compiled::read(directory, || name.as_str()).and_then(|compiled| compiled.of(source, directory, &name)) {
            Ok(compiled) if compiled.origin.believed && compiled.origin.state == *state => {
                let voucher = compiled.voucher;
                match compiled.into_store() {
                    Ok((store, _)) => return Found::Fresh(store, voucher),
                    Err(what) => refuse(&malformed(directory, &name, what)),
                }
            }
            // Another directory may have a fresh one.
            Ok(compiled) => found = Found::Other(Candidate(compiled)),
            Err(ReadError::Missing { .. }) => {}
            Err(error) => refuse(&error),
        }
    }
    found
}

impl Candidate {
    /// The root store and its voucher, if it was made from exactly these files, byte for byte.
    #[inline(never)]
    pub fn into_store_of(self, reading: &Reading) -> Option<(RootStore, Voucher)> {
        let voucher = self.0.voucher;
        let same = digests_are_quick() && self.0.origin.is_made_of(reading);
        same.then(|| self.0.into_store().ok()).flatten().map(|(store, _)| (store, voucher))
    }
}

/// Without processor support, SHA-256 takes longer than the indexing that it would save.
pub(crate) fn digests_are_quick() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

impl Origin {
    /// Whether the content of a source that was just read is the content that was compiled.
    pub fn is_made_of(&self, reading: &Reading) -> bool {
        let names = |state: &State| match state {
            State::File(_) => Vec::new(),
            State::Directory(_, files) => files.iter().map(|(name, _)| *name).collect(),
        };
        self.source_bytes == reading.bytes()
            && self.digests.len() == reading.files.len()
            && names(&self.state) == names(&reading.state)
            && self
                .digests
                .iter()
                .zip(&reading.files)
                .all(|(digest, file)| *digest == <[u8; 32]>::from(Sha256::digest(file)))
    }
}

impl Compiled {
    /// Reads a file, and checks everything except the certificates.
    pub fn read<'n>(directory: &Path, name: impl Fn() -> &'n str) -> Result<Compiled, ReadError> {
        let (bytes, voucher) = trusted::read(directory, &name)?;
        Compiled::from_bytes(bytes, voucher).map_err(|what| malformed(directory, name(), what))
    }

    /// Like [`Compiled::read`], for the bytes of a file.
    pub fn from_bytes(bytes: Vec<u8>, voucher: Voucher) -> Result<Compiled, Malformed> {
        let layout = Layout::check(&bytes)?;
        let origin = layout.origin(&bytes)?;
        Ok(Compiled { layout, origin, bytes, voucher })
    }

    /// Refuses a file under the name of another source: somebody put it there by hand.
    fn of(self, source: SourceRef<'_>, directory: &Path, name: &str) -> Result<Compiled, ReadError> {
        let own = self.origin.source.borrow();
        // Byte for byte, as the file name was computed: two paths to the same place are different sources.
        let same = own.path().as_os_str() == source.path().as_os_str()
            && super::format::kind(own) == super::format::kind(source);
        if same { Ok(self) } else { Err(malformed(directory, name, self.layout.malformed(Section::Path))) }
    }

    /// The root store in it, and the source that it was made from. Every span is checked against the bytes it points
    /// into.
    pub fn into_store(self) -> Result<(RootStore, Origin), Malformed> {
        let Compiled { layout, origin, bytes, .. } = self;
        let all = Bytes::from(bytes);
        let part = |section| all.part(layout.range(section)).ok_or(layout.malformed(section));
        let (der, canonical) = (part(Section::Der)?, part(Section::Canonical)?);
        let records = records(part(Section::Records)?.as_slice(), &der, &canonical)
            .filter(|records| records.len() == layout.anchors as usize)
            .ok_or(layout.malformed(Section::Records))?;
        let subjects = Index::from_bytes(part(Section::Subjects)?.as_slice(), layout.anchors)
            .filter(|index| index.len() == records.len())
            .ok_or(layout.malformed(Section::Subjects))?;
        let written = Written {
            raw_subjects: part(Section::RawSubjects)?,
            issuers_and_serials: part(Section::IssuersAndSerials)?,
            key_ids: part(Section::KeyIds)?,
            finding: layout.finding,
        };
        RootStore::new(der, canonical, records, Some(subjects), Some(Box::new(written)), None, origin.source_bytes)
            .map(|store| (store, origin))
            .map_err(|_| layout.malformed(Section::Records))
    }
}

/// None unless the certificates and the names follow each other without gaps, and all other spans lie within their
/// certificate.
fn records(bytes: &[u8], der: &Bytes, canonical: &Bytes) -> Option<Box<[Record]>> {
    let (written, rest) = bytes.as_chunks::<{ Record::WRITTEN }>();
    let mut records = Vec::new();
    records.try_reserve_exact(written.len()).ok()?;
    let (mut der_end, mut canonical_end) = (0, 0);
    for record in written {
        let record = Record::from_bytes(record);
        let within = |span: Span| span.start.checked_add(span.len).is_some_and(|end| end <= record.der.len);
        let parts = [record.subject, record.issuer, record.serial, record.spki, record.subject_key_id];
        let follows = record.der.start == der_end && record.canonical.start == canonical_end;
        if !follows || record.der.len == 0 || !parts.into_iter().all(within) {
            return None;
        }
        der_end = der_end.checked_add(record.der.len)?;
        canonical_end = canonical_end.checked_add(record.canonical.len)?;
        records.push(record);
    }
    let whole = der_end as usize == der.as_slice().len() && canonical_end as usize == canonical.as_slice().len();
    (whole && rest.is_empty()).then(|| records.into_boxed_slice())
}

pub(super) fn malformed(directory: &Path, name: &str, what: Malformed) -> ReadError {
    ReadError::Malformed { path: memory::path_in(directory, name), what }
}
