//! The linker's own list of objects, as a debugger finds it (<link.h>).

use std::ffi::{c_char, c_int};

use crate::elf::Loaded;
use crate::elf::format::Dyn;

impl Loaded {
    /// An object from the linker's own list, of which only the address of its dynamic section is known.
    ///
    /// # Safety
    /// It stays loaded as long as the result is used.
    pub unsafe fn of_list(link: &Link) -> Loaded {
        let unknown = Loaded { base: link.base, start: link.base, dynamic: link.dynamic, ..Loaded::UNKNOWN };
        // SAFETY: as the caller states.
        unsafe { unknown.with_tables() }
    }
}

/// `struct r_debug` of <link.h>.
#[repr(C)]
pub struct Debug {
    version: c_int,
    first: *const Link,
    breakpoint: usize,
    state: c_int,
}

/// The public part of `struct link_map` of <link.h>.
#[repr(C)]
pub struct Link {
    base: usize,
    path: *const c_char,
    dynamic: *const Dyn,
    next: *const Link,
}

impl Debug {
    /// Whether the list is not being changed (`RT_CONSISTENT`).
    pub fn is_consistent(&self) -> bool {
        self.state == 0
    }

    /// The entries, in the order of loading. Nothing is read of the objects themselves.
    ///
    /// # Safety
    /// No other thread loads or unloads any meanwhile.
    pub unsafe fn entries(&self) -> impl Iterator<Item = &Link> {
        let mut at = self.first;
        std::iter::from_fn(move || {
            // SAFETY: as the caller states.
            let link = unsafe { at.as_ref() }?;
            at = link.next;
            Some(link)
        })
    }
}
