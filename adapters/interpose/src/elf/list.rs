//! The linker's own list of objects, as a debugger finds it (<link.h>).

use std::ffi::{c_char, c_int};

use crate::elf::Loaded;
use crate::elf::format::Dyn;

impl Loaded {
    /// An object of the linker's own list, of which no more is known than where its dynamic section lies.
    ///
    /// # Safety
    /// It stays loaded as long as the result is used.
    unsafe fn of_list(link: &Link) -> Loaded {
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
    /// The objects that are loaded, in the order of loading.
    ///
    /// # Safety
    /// No other thread loads or unloads any meanwhile.
    pub unsafe fn objects(&self) -> impl Iterator<Item = (*const Link, Loaded)> {
        let mut at = self.first;
        std::iter::from_fn(move || {
            // SAFETY: as the caller states.
            let link = unsafe { at.as_ref() }?;
            let found = at;
            at = link.next;
            // SAFETY: as above.
            Some((found, unsafe { Loaded::of_list(link) }))
        })
    }
}
