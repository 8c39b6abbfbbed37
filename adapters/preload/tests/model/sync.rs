//! The synchronization primitives of the model, as loom provides them.

use windlass_interpose::append_list;

pub use append_list::Prepared;
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};
pub use std::sync::Arc;

/// A lock; forks are not tested here.
pub struct Lock(loom::sync::Mutex<()>);
pub type Guard<'a> = loom::sync::MutexGuard<'a, ()>;

impl Lock {
    pub fn new() -> Lock {
        Lock(loom::sync::Mutex::new(()))
    }

    pub fn lock(&self) -> Guard<'_> {
        self.0.lock().unwrap()
    }
}

/// The library's own list, which has its own tests. For loom, appending is a step.
pub struct AppendList<T> {
    list: append_list::AppendList<T>,
    appended: AtomicUsize,
}

impl<T> AppendList<T> {
    pub fn new() -> AppendList<T> {
        AppendList { list: append_list::AppendList::new(), appended: AtomicUsize::new(0) }
    }

    pub fn push(&self, value: T) {
        self.list.push(value);
        self.appended.fetch_add(1, Ordering::AcqRel);
    }

    pub fn prepare(value: T) -> Option<Prepared<T>> {
        append_list::AppendList::prepare(value)
    }

    pub fn append(&self, prepared: Prepared<T>) {
        self.list.append(prepared);
        self.appended.fetch_add(1, Ordering::AcqRel);
    }

    pub fn len(&self) -> usize {
        self.appended.load(Ordering::Acquire)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.list.iter().take(self.len())
    }
}
