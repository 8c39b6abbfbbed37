//! The bucket in which GnuTLS puts a certificate of a trust list.

use std::ffi::c_uint;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass::RootStore;

use crate::memory;

/// `DEFAULT_SIZE` of verify-high.c: used by `gnutls_x509_trust_list_init` for a size of 0.
const DEFAULT_SIZE: c_uint = 127;

/// The bucket of a raw subject in a list that was created with this size: `hash_pjw_bare` of gnulib, modulo the number
/// of buckets (verify-high.c, `gnutls_x509_trust_list_add_cas`, 3.6 to 3.8).
pub fn bucket_of(subject: &[u8], size: c_uint) -> u32 {
    let size = if size == 0 { DEFAULT_SIZE } else { size };
    let hash = subject.iter().fold(0usize, |hash, &byte| usize::from(byte).wrapping_add(hash.rotate_left(9)));
    (hash % size as usize) as u32
}

/// The buckets of a store's anchors, computed at their first use. Without a lock, like everything that a forked child
/// may need.
pub struct Buckets(AtomicPtr<Box<[AnchorBucket]>>);

/// The bucket of one anchor.
pub struct AnchorBucket {
    /// The number of the bucket.
    pub bucket: u32,
    parsed: AtomicBool,
}

impl AnchorBucket {
    /// Records that the anchor was parsed. Returns whether this was the first time.
    pub fn is_parsed_first(&self) -> bool {
        !self.parsed.swap(true, Ordering::Relaxed)
    }
}

impl Buckets {
    /// Buckets that are not computed yet.
    pub const fn new() -> Buckets {
        Buckets(AtomicPtr::new(ptr::null_mut()))
    }

    /// One entry for each anchor. Every call passes the same store and size. None if there is no memory for the
    /// entries.
    pub fn get(&self, roots: &RootStore, size: c_uint) -> Option<&[AnchorBucket]> {
        // SAFETY: made by Box::into_raw below, and freed only by `drop`.
        if let Some(known) = unsafe { self.0.load(Ordering::Acquire).as_ref() } {
            return Some(known);
        }
        let place = |subject: &[u8]| AnchorBucket { bucket: bucket_of(subject, size), parsed: AtomicBool::new(false) };
        let places = roots.anchors().map(|anchor| place(anchor.raw_subject().as_bytes()));
        let fresh = Box::into_raw(Box::new(memory::collected(places, roots.len())?.into_boxed_slice()));
        let known: &[AnchorBucket] =
            match self.0.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: just published, and freed only by `drop`.
                Ok(_) => unsafe { &*fresh },
                Err(winner) => {
                    // SAFETY: `fresh` was not published, so it is ours to free; `winner` is as above.
                    unsafe {
                        drop(Box::from_raw(fresh));
                        &*winner
                    }
                }
            };
        Some(known)
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        let known = *self.0.get_mut();
        if !known.is_null() {
            // SAFETY: made by Box::into_raw in `get`; nobody else has a reference any more.
            drop(unsafe { Box::from_raw(known) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bucket_of;

    #[test]
    fn the_hash_is_gnulibs() {
        // Computed with hash-pjw-bare.c of GnuTLS 3.7.9.
        let fox = b"The quick brown fox jumps over the lazy dog";
        assert_eq!([0, 127, 7, 1_000_003].map(|size| bucket_of(fox, size)), [91, 91, 6, 646_105]);
        assert_eq!([0, 7, 1_000_003].map(|size| bucket_of(b"0\x1e1\x100\x0e", size)), [105, 2, 714_726]);
        assert_eq!(bucket_of(b"a", 1), 0);
        assert_eq!(bucket_of(b"", 0), 0);
    }
}
