//! Our state for a foreign object, by the object's address.
//!
//! The objects are opaque and belong to any of several libraries, so their own extension data can't be read before
//! their library is known. This table answers both questions.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::fork_lock::ForkLock;

const BUCKETS: usize = 512;

/// A map from addresses to small values, safe for threads and across `fork`.
///
/// One thread removes values that another has inserted, so a value that may not leave its thread can't be in a table
/// that two threads share:
///
/// ```
/// fn is_shared<T: Send + Sync>() {}
/// is_shared::<windlass_interpose::ptr_table::PtrTable<usize>>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<windlass_interpose::ptr_table::PtrTable<*const u8>>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_sent<T: Send>() {}
/// is_sent::<windlass_interpose::ptr_table::PtrTable<*const u8>>();
/// ```
pub struct PtrTable<V> {
    buckets: [Bucket<V>; BUCKETS],
}

struct Bucket<V> {
    lock: ForkLock,
    head: AtomicPtr<Node<V>>,
    /// Stands for the values: raw pointers alone are neither `Send` nor `Sync`.
    values: PhantomData<*mut V>,
}

impl<V> Bucket<V> {
    const fn new() -> Self {
        Bucket { lock: ForkLock::new(), head: AtomicPtr::new(ptr::null_mut()), values: PhantomData }
    }
}

// SAFETY: it owns its values.
unsafe impl<V: Send> Send for Bucket<V> {}
// SAFETY: values are copied in and out under the lock. No two threads look at one at the same time.
unsafe impl<V: Send> Sync for Bucket<V> {}

struct Node<V> {
    key: usize,
    value: V,
    next: AtomicPtr<Node<V>>,
}

impl<V: Copy> PtrTable<V> {
    /// An empty table.
    pub const fn new() -> Self {
        PtrTable { buckets: [const { Bucket::new() }; BUCKETS] }
    }

    /// Inserts a value, replacing an older one for the same address. When memory is short, the entry comes from the
    /// reserve.
    pub fn insert(&self, key: usize, value: V) {
        let bucket = self.bucket(key);
        let node = Box::new(Node { key, value, next: AtomicPtr::new(ptr::null_mut()) });
        let _guard = bucket.lock.lock();
        // In one step: if two threads insert the same address, one replaces the other's value.
        bucket.take(key);
        node.next.store(bucket.head.load(Ordering::Relaxed), Ordering::Relaxed);
        bucket.head.store(Box::into_raw(node), Ordering::Release);
    }

    /// The value for this address.
    pub fn get(&self, key: usize) -> Option<V> {
        self.with(key, |value| value)
    }

    /// Calls `f` with the value while no other thread can remove it.
    pub fn with<R>(&self, key: usize, f: impl FnOnce(V) -> R) -> Option<R> {
        let bucket = self.bucket(key);
        if bucket.head.load(Ordering::Acquire).is_null() {
            return None;
        }
        let _guard = bucket.lock.lock();
        let mut at = bucket.head.load(Ordering::Acquire);
        while !at.is_null() {
            // SAFETY: only `remove` frees a node, and it holds this bucket's lock, as we do.
            let node = unsafe { &*at };
            if node.key == key {
                return Some(f(node.value));
            }
            at = node.next.load(Ordering::Acquire);
        }
        None
    }

    /// Calls `f` with each value, while no other thread can remove that one.
    pub fn for_each(&self, mut f: impl FnMut(V)) {
        for bucket in &self.buckets {
            if bucket.head.load(Ordering::Acquire).is_null() {
                continue;
            }
            let _guard = bucket.lock.lock();
            let mut at = bucket.head.load(Ordering::Acquire);
            while !at.is_null() {
                // SAFETY: as in `with`.
                let node = unsafe { &*at };
                f(node.value);
                at = node.next.load(Ordering::Acquire);
            }
        }
    }

    /// Removes a value and returns it.
    pub fn remove(&self, key: usize) -> Option<V> {
        let bucket = self.bucket(key);
        if bucket.head.load(Ordering::Acquire).is_null() {
            return None;
        }
        let _guard = bucket.lock.lock();
        bucket.take(key)
    }

    fn bucket(&self, key: usize) -> &Bucket<V> {
        // Heap addresses are multiples of 16; a Fibonacci multiplier spreads them.
        let hash = (key >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.buckets[hash >> (usize::BITS - BUCKETS.trailing_zeros())]
    }
}

impl<V: Copy> Bucket<V> {
    /// Removes a value and returns it. The bucket's lock is held.
    fn take(&self, key: usize) -> Option<V> {
        let mut link = &self.head;
        loop {
            let at = link.load(Ordering::Acquire);
            if at.is_null() {
                return None;
            }
            // SAFETY: as in `with`.
            let node = unsafe { &*at };
            if node.key == key {
                link.store(node.next.load(Ordering::Acquire), Ordering::Release);
                // SAFETY: made by Box::into_raw in `insert`; unlinked under the lock, so nobody else can reach it.
                return Some(unsafe { Box::from_raw(at) }.value);
            }
            link = &node.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_there_once_whoever_enters_it() {
        let table = PtrTable::new();
        std::thread::scope(|scope| {
            for thread in 0..4usize {
                let table = &table;
                scope.spawn(move || (0..20_000).for_each(|_| table.insert(16, thread)));
            }
        });
        assert!(table.remove(16).is_some());
        assert_eq!(table.remove(16), None);
    }

    #[test]
    fn passes_over_all() {
        let table = PtrTable::new();
        (1..2000usize).for_each(|key| table.insert(key * 16, key));
        let mut seen = Vec::new();
        table.for_each(|value| seen.push(value));
        seen.sort_unstable();
        assert_eq!(seen, (1..2000).collect::<Vec<_>>());
    }

    #[test]
    fn inserts_replaces_and_removes() {
        let table = PtrTable::new();
        for key in 1..5000usize {
            table.insert(key * 16, key);
        }
        for key in 1..5000usize {
            assert_eq!(table.get(key * 16), Some(key));
        }
        table.insert(16, 77);
        assert_eq!(table.get(16), Some(77));
        for key in (1..5000usize).step_by(2) {
            assert!(table.remove(key * 16).is_some());
            assert_eq!(table.remove(key * 16), None);
        }
        assert_eq!(table.get(16), None);
        assert_eq!(table.get(32), Some(2));
    }
}
