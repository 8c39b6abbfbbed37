//! A list that can be read while it grows.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::reserve;

/// A list that only grows, read without a lock.
///
/// It owns its values, and lends them to all threads that share it. An `AtomicPtr` may go to any thread whatever it
/// points to, so the bounds are those of the values:
///
/// ```
/// fn is_shared<T: Send + Sync>() {}
/// is_shared::<windlass_interpose::append_list::AppendList<u32>>();
/// ```
///
/// A value that two threads may not read can't be in a list that two threads share:
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<windlass_interpose::append_list::AppendList<std::cell::Cell<u32>>>();
/// ```
///
/// Nor can another thread push or drop a value that may not leave its own thread:
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<windlass_interpose::append_list::AppendList<std::sync::MutexGuard<'static, u32>>>();
/// ```
///
/// ```compile_fail,E0277
/// fn is_sent<T: Send>() {}
/// is_sent::<windlass_interpose::append_list::AppendList<std::rc::Rc<u32>>>();
/// ```
pub struct AppendList<T> {
    head: AtomicPtr<Link<T>>,
    /// A link near the end, where the next push starts its search for the end.
    tail: AtomicPtr<Link<T>>,
    length: AtomicUsize,
    /// Stands for the values: raw pointers alone are neither `Send` nor `Sync`.
    values: PhantomData<*mut T>,
}

// SAFETY: the list owns its values, and the thread that has it may be the one that drops them.
unsafe impl<T: Send> Send for AppendList<T> {}
// SAFETY: any thread may read the values (Sync), and push values that another will drop (Send).
unsafe impl<T: Send + Sync> Sync for AppendList<T> {}

/// Room for one more value.
pub struct Prepared<T>(Box<Link<T>>);

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
            values: PhantomData,
        }
    }

    /// Appends at the end. When memory is short, the link comes from the reserve: use this for a few values, not for a
    /// number that depends on an input.
    pub fn push(&self, value: T) {
        self.append(Prepared(Box::new(Link { value, next: AtomicPtr::new(ptr::null_mut()) })));
    }

    /// As [`AppendList::push`], without the reserve. Returns whether there was memory.
    #[must_use]
    pub fn try_push(&self, value: T) -> bool {
        AppendList::prepare(value).map(|room| self.append(room)).is_some()
    }

    /// Allocates memory for a value that is appended later, when nothing may fail any more.
    pub fn prepare(value: T) -> Option<Prepared<T>> {
        reserve::try_box(Link { value, next: AtomicPtr::new(ptr::null_mut()) }).map(Prepared)
    }

    /// Appends a prepared value.
    pub fn append(&self, Prepared(link): Prepared<T>) {
        let fresh = Box::into_raw(link);
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

    /// The number of values.
    #[allow(clippy::len_without_is_empty)] // callers compare the number before and after
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// The values from first to last.
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
