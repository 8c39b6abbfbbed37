//! What a compiled store brings along: indices, still as they were written, of which each is read when it is first
//! asked for.

use super::bytes::Bytes;
use crate::anchor::AnchorIndex;
use crate::gnutls_profile::GnutlsProfile;
use crate::index::read;
use crate::name::SubjectHash;

/// See the module. What turns out not to be an index is made anew from the certificates.
pub(crate) struct Written {
    pub raw_subjects: Bytes,
    pub issuers_and_serials: Bytes,
    pub key_ids: Bytes,
    pub subject_hashes: Bytes,
    pub fingerprints: Bytes,
    pub by_fingerprint: Bytes,
    /// None if it has to be found anew.
    pub gnutls_profile: Option<GnutlsProfile>,
}

/// Appends what [`read_hashes`] reads: hash and place of each, little-endian.
pub(crate) fn write_hashes(hashes: &[(SubjectHash, AnchorIndex)], out: &mut Vec<u8>) {
    for (hash, index) in hashes {
        out.extend_from_slice(&hash.0.to_le_bytes());
        out.extend_from_slice(&index.0.to_le_bytes());
    }
}

/// One pair for each of `len` anchors, in ascending order. None if it can't be that.
pub(super) fn read_hashes(bytes: &[u8], len: u32) -> Option<Box<[(SubjectHash, AnchorIndex)]>> {
    let (pairs, rest) = bytes.as_chunks::<8>();
    let pair = |bytes: &[u8; 8]| {
        let both = u64::from_le_bytes(*bytes);
        (SubjectHash(both as u32), AnchorIndex((both >> 32) as u32))
    };
    let hashes = read(pairs, (SubjectHash(0), AnchorIndex(0)), pair);
    let fits = |hashes: &[(SubjectHash, AnchorIndex)]| {
        rest.is_empty()
            && hashes.len() == len as usize
            && hashes.is_sorted()
            && hashes.iter().all(|(_, index)| index.0 < len)
    };
    hashes.filter(|hashes| fits(hashes))
}

/// One SHA-256 for each of `len` anchors. None if it can't be that.
pub(super) fn read_fingerprints(bytes: &[u8], len: u32) -> Option<Box<[[u8; 32]]>> {
    let (all, rest) = bytes.as_chunks::<32>();
    (rest.is_empty() && all.len() == len as usize).then(|| read(all, [0; 32], |all| *all)).flatten()
}
