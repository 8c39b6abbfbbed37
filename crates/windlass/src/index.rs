//! An index from byte strings to record numbers: open addressing over a keyed 64-bit hash, and a chain through the
//! records of equal key. No input makes it slow, as the hash key is random; a collision of hashes is only a compare.

use std::hash::{BuildHasher, RandomState};

use crate::error::Unsupported;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    /// The upper half of the hash; the lower half chooses the slot.
    tag: u32,
    first: u32,
}

/// See the module.
pub(crate) struct Index<S = RandomState> {
    hash: S,
    /// A power of two, at least twice the number of distinct keys.
    slots: Box<[Slot]>,
    /// For each record the next one of the same key.
    next: Box<[u32]>,
}

impl Index {
    /// Indexes the records `0..len`. `key` gives the key of a record, or None if it has none.
    pub fn build<'k>(len: u32, key: impl Fn(u32) -> Option<&'k [u8]>) -> Result<Index, Unsupported> {
        Index::build_with(RandomState::new(), len, key)
    }
}

impl<S: BuildHasher> Index<S> {
    fn build_with<'k>(hash: S, len: u32, key: impl Fn(u32) -> Option<&'k [u8]>) -> Result<Index<S>, Unsupported> {
        let slots = (len as usize * 2).next_power_of_two().max(2);
        let mut index =
            Index { hash, slots: filled(slots, Slot { tag: 0, first: NONE })?, next: filled(len as usize, NONE)? };
        // From the last record to the first, each put before those of its key: chains end in source order.
        for record in (0..len).rev() {
            let Some(bytes) = key(record) else { continue };
            let (place, tag) = index.probe(bytes, &key);
            if let Some(slot) = index.slots.get_mut(place) {
                let following = std::mem::replace(slot, Slot { tag, first: record }).first;
                if let Some(next) = index.next.get_mut(record as usize) {
                    *next = following;
                }
            }
        }
        Ok(index)
    }

    /// The first record of this key, if any. `key` must be the function that the index was built with.
    pub fn first<'k>(&self, bytes: &[u8], key: impl Fn(u32) -> Option<&'k [u8]>) -> Option<u32> {
        let (place, _) = self.probe(bytes, &key);
        some(self.slots.get(place)?.first)
    }

    /// The next record with the same key as `record`.
    pub fn next(&self, record: u32) -> Option<u32> {
        some(*self.next.get(record as usize)?)
    }

    /// The first record and all that follow it with the same key.
    pub fn chain(&self, first: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(first, |&record| self.next(record))
    }

    /// The first record of each key, in no order.
    pub fn heads(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().filter_map(|slot| some(slot.first))
    }

    /// The slot that holds this key, or the free one where it belongs.
    fn probe<'k>(&self, bytes: &[u8], key: &impl Fn(u32) -> Option<&'k [u8]>) -> (usize, u32) {
        let hash = self.hash.hash_one(bytes);
        let tag = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        // There is always a free slot, as at most half of them are used.
        while let Some(slot) = self.slots.get(place) {
            if slot.first == NONE || (slot.tag == tag && key(slot.first) == Some(bytes)) {
                break;
            }
            place = (place + 1) & mask;
        }
        (place, tag)
    }
}

fn some(record: u32) -> Option<u32> {
    (record != NONE).then_some(record)
}

/// Memory is asked for in a way that can fail: this runs inside other people's programs.
pub(crate) fn filled<T: Copy>(len: usize, value: T) -> Result<Box<[T]>, Unsupported> {
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| Unsupported::OutOfMemory)?;
    all.resize(len, value);
    Ok(all.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::hash::{BuildHasherDefault, Hasher};

    use super::*;

    /// So bad that all keys, or all of one length, collide in all bits.
    #[derive(Default)]
    struct Length(u64);

    impl Hasher for Length {
        fn write(&mut self, bytes: &[u8]) {
            self.0 += bytes.len() as u64 * 0x1_0000_0001;
        }

        fn write_u8(&mut self, _: u8) {}

        fn write_usize(&mut self, _: usize) {}

        fn finish(&self) -> u64 {
            self.0
        }
    }

    fn check<S: BuildHasher>(hash: S, keys: &[Option<&[u8]>]) {
        let key = |record: u32| keys[record as usize];
        let index = Index::build_with(hash, keys.len() as u32, key).unwrap();
        let mut expected: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        for (record, key) in keys.iter().enumerate() {
            if let Some(key) = key {
                expected.entry(key).or_default().push(record as u32);
            }
        }
        for (bytes, records) in &expected {
            assert_eq!(index.chain(index.first(bytes, key)).collect::<Vec<_>>(), *records);
        }
        for absent in [&b"absent"[..], b"0123456", b"x"] {
            assert_eq!(index.first(absent, key), None);
        }
        let mut heads: Vec<u32> = index.heads().collect();
        heads.sort_unstable();
        let mut firsts: Vec<u32> = expected.values().map(|records| records[0]).collect();
        firsts.sort_unstable();
        assert_eq!(heads, firsts);
    }

    #[test]
    fn all_records_of_a_key_in_order_whatever_the_hash_does() {
        let mut rng = fastrand::Rng::with_seed(7);
        for len in [0, 1, 2, 3, 10, 100, 500] {
            for different in [1, 5, 1000] {
                let texts: Vec<Option<String>> =
                    (0..len).map(|_| (rng.u8(0..5) > 0).then(|| rng.u32(0..different).to_string())).collect();
                let keys: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
                check(RandomState::new(), &keys);
                check(BuildHasherDefault::<Length>::default(), &keys);
            }
        }
    }
}
