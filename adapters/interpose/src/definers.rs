//! Whether something that is no copy of a library defines a hooked function, too: another interposer.
//!
//! Only asked for where that is not told otherwise. A slot that the linker has bound says by its value where it leads.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::definitions::{Definitions, Name};
use crate::elf::Loaded;
use crate::family::Family;
use crate::linker;

/// What the loaded objects define, as far as it was noted: in the order of loading, from the first on.
pub struct Definers {
    noted: UnsafeCell<[MaybeUninit<Definitions>; MOST]>,
    count: AtomicUsize,
    /// How many objects were met, with those that had no place any more.
    met: AtomicUsize,
}

const MOST: usize = 128;

// SAFETY: only used by the one thread that holds the linker's lock.
unsafe impl Sync for Definers {}

impl Definers {
    /// Nothing is noted yet.
    pub const fn new() -> Definers {
        Definers {
            noted: UnsafeCell::new([const { MaybeUninit::uninit() }; MOST]),
            count: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
        }
    }

    /// Forgets all, as objects were unloaded.
    ///
    /// # Safety
    /// The linker's lock is held.
    pub unsafe fn forget(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.met.store(0, Ordering::Relaxed);
    }

    /// Notes the next object.
    ///
    /// # Safety
    /// The linker's lock is held, and the object stays loaded until [`Definers::forget`] is called.
    pub unsafe fn note(&self, definitions: Definitions) {
        let count = self.count.load(Ordering::Relaxed);
        // SAFETY: only this thread uses it.
        if let Some(place) = unsafe { (*self.noted.get()).get_mut(count) } {
            place.write(definitions);
            self.count.store(count + 1, Ordering::Relaxed);
        }
        self.met.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether one of them is no copy of the family and defines this function.
    ///
    /// # Safety
    /// The linker's lock is held.
    pub unsafe fn define(&self, family: &Family, name: Name) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        if count < self.met.load(Ordering::Relaxed) {
            return are_loaded(family, name);
        }
        // SAFETY: only this thread uses it; so many were written.
        let noted = unsafe { std::slice::from_raw_parts(self.noted.get().cast::<Definitions>(), count) };
        noted.iter().any(|definitions| is_one(definitions, family, name))
    }
}

/// As [`Definers::define`], for all objects that are loaded. Without the linker's lock.
pub fn are_loaded(family: &Family, name: Name) -> bool {
    let mut found = false;
    linker::each_object(0, |object: &Loaded| {
        found = object.definitions().is_some_and(|definitions| is_one(&definitions, family, name));
        !found
    });
    found
}

fn is_one(definitions: &Definitions, family: &Family, name: Name) -> bool {
    definitions.find(name).is_some() && definitions.find(family.anchor).is_none()
}
