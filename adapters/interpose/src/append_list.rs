//! A list that can be read while it grows.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A list that only grows, read without a lock.
pub struct AppendList<T> {
    head: AtomicPtr<Link<T>>,
    /// A link near the end, where the next push begins to look for it.
    tail: AtomicPtr<Link<T>>,
    length: AtomicUsize,
}

struct Link<T> {
    value: T,
    next: AtomicPtr<Link<T>>,
}

impl<T> AppendList<T> {
    /// An empty list.
    pub const fn new() -> Self {
        AppendList {
            head: AtomicPtr::new(ptr::null_mut()),
            tail: AtomicPtr::new(ptr::null_mut()),
            length: AtomicUsize::new(0),
        }
    }

    /// Appends at the end.
    pub fn push(&self, value: T) {
        let fresh = Box::into_raw(Box::new(Link { value, next: AtomicPtr::new(ptr::null_mut()) }));
        // SAFETY: links live as long as the list.
        let mut end = match unsafe { self.tail.load(Ordering::Acquire).as_ref() } {
            Some(tail) => &tail.next,
            None => &self.head,
        };
        while let Err(occupied) = end.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            end = unsafe { &(*occupied).next };
        }
        self.tail.store(fresh, Ordering::Release);
        self.length.fetch_add(1, Ordering::AcqRel);
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty)] // the number is what is compared, before and after
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// From first to last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut at = self.head.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: links live as long as the list, which is borrowed.
            let link = unsafe { at.as_ref() }?;
            at = link.next.load(Ordering::Acquire);
            Some(&link.value)
        })
    }
}

impl<T> Drop for AppendList<T> {
    fn drop(&mut self) {
        let mut at = *self.head.get_mut();
        while !at.is_null() {
            // SAFETY: made by Box::into_raw in `push`; nobody else has a reference any more.
            let mut link = unsafe { Box::from_raw(at) };
            at = *link.next.get_mut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AppendList;

    #[test]
    fn keeps_the_order_under_concurrent_pushes() {
        let list = AppendList::new();
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let list = &list;
                scope.spawn(move || (0..1000u32).for_each(|n| list.push((thread, n))));
            }
        });
        assert_eq!(list.iter().count(), 4000);
        for thread in 0..4 {
            let own: Vec<u32> = list.iter().filter(|(by, _)| *by == thread).map(|&(_, n)| n).collect();
            assert!(own.is_sorted() && own.len() == 1000);
        }
    }
}
