//! Names of earlier searches. Canonicalising a name and finding it is most of the cost of a search, and a program meets
//! the same few issuers again and again.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use windlass_interpose::reserve;

use crate::memory;

/// The results of searches for some names in one root store, by the names' own bytes: equal bytes are equal names.
/// Nothing is ever replaced, so that it can be read without a lock, and so that names sent by a program's peers can't
/// fill memory.
pub struct Remembered<A> {
    /// Allocated by the first search.
    slots: AtomicPtr<Slots<A>>,
}

type Slots<A> = [AtomicPtr<Found<A>>; SLOTS];

struct Found<A> {
    name: Box<[u8]>,
    anchors: Box<[A]>,
}

const SLOTS: usize = 64;
/// The longest name that is kept, in bytes.
const LONGEST: usize = 512;

impl<A> Default for Remembered<A> {
    fn default() -> Self {
        Remembered { slots: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<A> Remembered<A> {
    /// The anchors of a name; None if no search for it is remembered.
    pub fn recall(&self, name: &[u8]) -> Option<&[A]> {
        // SAFETY: published once, freed with `self`.
        let slots = unsafe { self.slots.load(Ordering::Acquire).as_ref() }?;
        // SAFETY: as above.
        let found = unsafe { slots[place(name)].load(Ordering::Acquire).as_ref() }?;
        (*found.name == *name).then_some(&found.anchors)
    }

    /// Keeps the result of a search, if there is room.
    pub fn remember(&self, name: &[u8], anchors: impl Iterator<Item = A>) {
        if name.len() > LONGEST {
            return;
        }
        let Some(slot) = self.slots().map(|slots| &slots[place(name)]) else { return };
        if slot.load(Ordering::Acquire).is_null()
            && let (Some(name), Some(anchors)) = (memory::copied(name), memory::collected(anchors, 1))
        {
            publish(slot, Found { name: name.into(), anchors: anchors.into() });
        }
    }

    fn slots(&self) -> Option<&Slots<A>> {
        if self.slots.load(Ordering::Acquire).is_null() {
            publish(&self.slots, [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS]);
        }
        // SAFETY: published now or before, by this thread or another; freed with `self`.
        unsafe { self.slots.load(Ordering::Acquire).as_ref() }
    }
}

/// Stores a value in an empty place, if there is memory for it; an existing value stays.
fn publish<T>(place: &AtomicPtr<T>, value: T) {
    let Some(fresh) = reserve::try_box(value).map(Box::into_raw) else { return };
    if place.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: made above, and not published.
        drop(unsafe { Box::from_raw(fresh) });
    }
}

/// The slot of a name. All its bytes count: many common names end in `Root CA`.
fn place(name: &[u8]) -> usize {
    let (words, rest) = name.as_chunks();
    let rest = rest.iter().fold(name.len() as u64, |rest, &byte| rest << 8 | u64::from(byte));
    let hash = words.iter().fold(rest, |hash, word| mixed(hash) ^ u64::from_le_bytes(*word));
    (mixed(hash) >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

/// One step of a multiplicative hash.
fn mixed(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

impl<A> Drop for Remembered<A> {
    fn drop(&mut self) {
        let slots = *self.slots.get_mut();
        if slots.is_null() {
            return;
        }
        // SAFETY: made by `publish`; nobody else has a reference any more.
        for slot in *unsafe { Box::from_raw(slots) } {
            let found = slot.into_inner();
            if !found.is_null() {
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(found) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_gives_its_own_anchors_or_nothing() {
        let remembered = Remembered::default();
        let names: Vec<Vec<u8>> =
            (0..500).map(|n: u32| format!("name {n} of a Root CA {}", n % 7).into_bytes()).collect();
        let anchors = |at: usize| (at..at + at % 3).map(|anchor| anchor * 10);
        assert!(names.iter().all(|name| remembered.recall(name).is_none()));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (names, remembered) = (&names, &remembered);
                scope.spawn(move || {
                    for (at, name) in names.iter().enumerate().skip(thread % 2).step_by(2) {
                        remembered.remember(name, anchors(at));
                    }
                });
            }
        });
        let mut known = 0;
        for (at, name) in names.iter().enumerate() {
            if let Some(found) = remembered.recall(name) {
                known += 1;
                assert!(anchors(at).eq(found.iter().copied()), "{at}");
            }
        }
        assert!((SLOTS / 2..=SLOTS).contains(&known), "{known}");
    }

    #[test]
    fn long_names_are_not_kept() {
        let remembered = Remembered::default();
        for (length, kept) in [(LONGEST + 1, false), (LONGEST, true), (3, true), (0, true)] {
            remembered.remember(&vec![7; length], [1].into_iter());
            assert_eq!(remembered.recall(&vec![7; length]).is_some(), kept, "{length}");
        }
    }
}
