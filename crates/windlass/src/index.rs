//! An index from byte strings to record numbers: all keys sorted by a 64-bit hash, then by the key itself, then by
//! record number. The same records give the same index everywhere, and it can be written to a file. No input makes a
//! lookup slow, because keys with equal hashes are sorted too.

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::error::Unsupported;
use crate::sorted::sorted;

/// The keys that records are found by. Hashes are part of the compiled store's format.
pub trait Key: Ord {
    /// XXH3-64 of the key.
    fn hash(&self) -> u64;
}

impl Key for &[u8] {
    fn hash(&self) -> u64 {
        xxh3_64(self)
    }
}

/// Two strings, such as issuer and serial number.
impl Key for (&[u8], &[u8]) {
    fn hash(&self) -> u64 {
        xxh3_64_with_seed(self.1, xxh3_64(self.0))
    }
}

/// An index from byte strings, or pairs of them, to the numbers of the records with this key. It is small, the same
/// records give the same index everywhere, and no input makes a lookup slow.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Index {
    hashes: Box<[u64]>,
    /// The record of each entry in `hashes`.
    records: Box<[u32]>,
}

impl Index {
    /// Indexes the records `0..len`. `key` gives the key of a record, or None if it has none.
    pub fn build<K: Key>(len: u32, key: impl Fn(u32) -> Option<K>) -> Result<Index, Unsupported> {
        if len == 1
            && let Some(only) = key(0)
        {
            // The case of most files in hashed directories.
            return Ok(Index { hashes: filled(1, only.hash())?, records: filled(1, 0)? });
        }
        let mut entries: Vec<(u64, K, u32)> = Vec::new();
        entries.try_reserve_exact(len as usize).map_err(|_| Unsupported::OutOfMemory)?;
        entries.extend((0..len).filter_map(|record| key(record).map(|key| (key.hash(), key, record))));
        let entries = sorted(entries);
        let (mut hashes, mut records) = (filled(entries.len(), 0)?, filled(entries.len(), 0)?);
        for (place, (hash, _, record)) in entries.into_iter().enumerate() {
            if let (Some(to_hash), Some(to_record)) = (hashes.get_mut(place), records.get_mut(place)) {
                (*to_hash, *to_record) = (hash, record);
            }
        }
        Ok(Index { hashes, records })
    }

    /// Appends the form that [`Index::from_bytes`] reads: all hashes, then the record of each, little-endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
        out.extend(self.records.iter().flat_map(|record| record.to_le_bytes()));
    }

    /// Reads an index that [`Index::write`] wrote, of records below `len`. None if the bytes are not a valid index.
    pub(crate) fn from_bytes(bytes: &[u8], len: u32) -> Option<Index> {
        const ENTRY: usize = size_of::<u64>() + size_of::<u32>();
        let count = bytes.len() / ENTRY;
        if !bytes.len().is_multiple_of(ENTRY) || count > len as usize {
            return None;
        }
        let (hashes, records) = bytes.split_at_checked(count * size_of::<u64>())?;
        let hashes = read(hashes.as_chunks().0, 0, |bytes| u64::from_le_bytes(*bytes))?;
        let records = read(records.as_chunks().0, 0, |bytes| u32::from_le_bytes(*bytes))?;
        (hashes.is_sorted() && records.iter().all(|&record| record < len)).then_some(Index { hashes, records })
    }

    /// The number of records with a key.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// All records with this key, in ascending order. `key` must be the function that the index was built with.
    pub fn find<K: Key>(&self, wanted: &K, key: impl Fn(u32) -> Option<K>) -> &[u32] {
        let hash = wanted.hash();
        let start = self.hashes.partition_point(|other| *other < hash);
        let same_hash = self.hashes.get(start..).unwrap_or(&[]).iter().take_while(|other| **other == hash).count();
        let candidates = self.records.get(start..start + same_hash).unwrap_or(&[]);
        let wanted = Some(wanted);
        let first = candidates.partition_point(|&record| key(record).as_ref() < wanted);
        let end = candidates.partition_point(|&record| key(record).as_ref() <= wanted);
        candidates.get(first..end).unwrap_or(&[])
    }

    /// The records of each key, in ascending order; the keys come in no meaningful order.
    pub(crate) fn groups<K: Key>(&self, key: impl Fn(u32) -> Option<K>) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let Range { start: from, end } = self.group_at(start, &key)?;
            start = end;
            self.records.get(from..end)
        })
    }

    /// The first record of each key, in no meaningful order.
    pub(crate) fn heads<K: Key>(&self, key: impl Fn(u32) -> Option<K>) -> impl Iterator<Item = u32> {
        self.groups(key).filter_map(|group| group.first().copied())
    }

    fn group_at<K: Key>(&self, start: usize, key: &impl Fn(u32) -> Option<K>) -> Option<Range<usize>> {
        let (&hash, &first) = (self.hashes.get(start)?, self.records.get(start)?);
        let mut end = start + 1;
        // Only neighbours with equal hashes are compared: there are nearly always none.
        while self.hashes.get(end) == Some(&hash) && key(first) == self.records.get(end).and_then(|&record| key(record))
        {
            end += 1;
        }
        Some(start..end)
    }
}

/// One value for each element; None if there is no memory for them.
pub(crate) fn read<E, T: Copy>(elements: &[E], value: T, of: impl Fn(&E) -> T) -> Option<Box<[T]>> {
    let mut all = filled(elements.len(), value).ok()?;
    for (to, element) in all.iter_mut().zip(elements) {
        *to = of(element);
    }
    Some(all)
}

/// Allocates in a way that can fail: this runs inside other people's programs.
pub(crate) fn filled<T: Copy>(len: usize, value: T) -> Result<Box<[T]>, Unsupported> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| Unsupported::OutOfMemory)?;
    all.resize(len, value);
    Ok(all.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A key with a hash so bad that all keys, or all of one length, collide.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Bad<'a>(&'a [u8], u64);

    impl Key for Bad<'_> {
        fn hash(&self) -> u64 {
            self.0.len() as u64 & self.1
        }
    }

    fn check<K: Key + Copy>(keys: &[Option<K>], absent: &[K]) {
        let key = |record: u32| keys[record as usize];
        let index = Index::build(keys.len() as u32, key).unwrap();
        let mut expected: BTreeMap<K, Vec<u32>> = BTreeMap::new();
        for (record, key) in keys.iter().enumerate() {
            if let Some(key) = key {
                expected.entry(*key).or_default().push(record as u32);
            }
        }
        for (wanted, records) in &expected {
            assert_eq!(index.find(wanted, key), *records);
        }
        for wanted in absent {
            assert!(index.find(wanted, key).is_empty());
        }
        let mut groups: Vec<&[u32]> = index.groups(key).collect();
        groups.sort_unstable();
        let mut all: Vec<Vec<u32>> = expected.into_values().collect();
        all.sort_unstable();
        assert_eq!(groups, all);

        let mut written = Vec::new();
        index.write(&mut written);
        assert_eq!(Index::from_bytes(&written, keys.len() as u32).unwrap(), index);
    }

    #[test]
    fn all_records_of_a_key_in_order_whatever_the_hash_does() {
        let mut rng = fastrand::Rng::with_seed(7);
        for len in [0, 1, 2, 3, 10, 100, 500] {
            for different in [1, 5, 1000] {
                let texts: Vec<Option<String>> =
                    (0..len).map(|_| (rng.u8(0..5) > 0).then(|| rng.u32(0..different).to_string())).collect();
                let keys: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
                check(&keys, &[&b"absent"[..], b"0123456", b"x"]);
                for mask in [0, u64::MAX] {
                    let bad: Vec<_> = keys.iter().map(|key| key.map(|key| Bad(key, mask))).collect();
                    check(&bad, &[Bad(b"absent", mask), Bad(b"0123456", mask), Bad(b"x", mask)]);
                }
                let pairs: Vec<_> = keys.iter().map(|key| key.map(|key| key.split_at(key.len() / 2))).collect();
                check(&pairs, &[(&b"absent"[..], &b""[..])]);
            }
        }
    }

    #[test]
    fn what_cannot_be_an_index_is_refused() {
        let refused = |hashes: &[u64], records: &[u32]| {
            let mut bytes = Vec::new();
            Index { hashes: hashes.into(), records: records.into() }.write(&mut bytes);
            Index::from_bytes(&bytes, 3).is_none()
        };
        assert!(refused(&[1, 2], &[0]));
        assert!(refused(&[2, 1], &[0, 1]));
        assert!(refused(&[1, 2], &[0, 3]));
        assert!(refused(&[1, 2, 3, 4], &[0, 1, 2, 0]));
        assert!(!refused(&[1, 1], &[0, 2]));
    }
}
