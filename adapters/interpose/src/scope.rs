//! The scope in which the linker looks for a function when it binds a slot at the first call: the global scope, then
//! the object's dependencies (elf/dl-lookup.c). With `RTLD_DEEPBIND` it is the other way round.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::definitions::{Definitions, Name};
use crate::elf::{Dyn, Loaded};
use crate::family::Family;
use crate::{dlsym, linker};

/// The function in the global scope; null if it has none.
pub fn global(family: &Family, name: Name, version: Option<&CStr>) -> usize {
    let found = search(name.text(), None);
    if linker::is_stand_in(name, found) {
        return behind_executable(name);
    }
    // `dlsym` returns the newest version of the first object that has any. `dlvsym` returns this version, and skips
    // objects without versions of their own, although a slot can be bound to these, too.
    let exact = version.map_or(0, |version| search(name.text(), Some(version)));
    if found == exact || found == 0 {
        return exact;
    }
    let of_copy = family.copies().find(|(_, copy)| copy.contains(found)).and_then(|(_, copy)| copy.object());
    let fits = match of_copy {
        Some(object) => object.defines(name, version),
        None => linker::object_at(found).is_none_or(|object| object.may_define(name, version)),
    };
    match (fits, exact) {
        (true, 0) => found,
        (false, _) if version.is_none() => UNKNOWN,
        (false, _) => exact,
        (true, _) => first(found, exact),
    }
}

/// The one of two addresses whose object comes first.
fn first(one: usize, other: usize) -> usize {
    let mut found = UNKNOWN;
    linker::each_object(0, |object| {
        found = [one, other].into_iter().find(|&address| object.contains(address)).unwrap_or(UNKNOWN);
        found == UNKNOWN
    });
    found
}

/// The function behind the executable's own entry: a call is bound to the function, a taken address to the entry
/// (`ELF_RTYPE_CLASS_PLT`). It belongs to the libraries that the program was started with, in the order of their
/// loading.
fn behind_executable(name: Name) -> usize {
    let mut found = None;
    linker::each_object(0, |object| {
        let definitions = object.definitions().filter(|_| !object.is_executable());
        found = definitions.filter(|definitions| definitions.any_symbol(name).is_some());
        found.is_none()
    });
    found.and_then(|definitions| definitions.find(name)).unwrap_or(UNKNOWN)
}

/// Not the address of any function.
const UNKNOWN: usize = 1;

fn search(name: &CStr, version: Option<&CStr>) -> usize {
    // SAFETY: searches by NUL-terminated names. This library itself defines none of them.
    let found: *mut c_void = unsafe {
        match version {
            Some(version) => dlsym::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()),
            None => dlsym::dlsym(libc::RTLD_DEFAULT, name.as_ptr()),
        }
    };
    if found.is_null() {
        dlsym::forget_error();
    }
    found as usize
}

/// Whether the program was started with an object.
pub fn is_of_program(object: &Loaded) -> bool {
    let mut program = ptr::null();
    linker::each_object(0, |first| {
        program = first.dynamic;
        false
    });
    let mut found = false;
    each_dependency(program, |one| {
        found |= one.dynamic == object.dynamic;
        !found
    });
    found
}

/// An object and its dependencies, breadth first.
pub struct Scope {
    of: *const Dyn,
    /// The dynamic section of each, and its definitions: nothing is known of an object without a GNU hash table.
    objects: [MaybeUninit<(*const Dyn, Option<Definitions>)>; MOST],
    count: usize,
}

const MOST: usize = 64;

impl Scope {
    /// A scope without an object.
    pub const fn new() -> Scope {
        Scope { of: ptr::null(), objects: [const { MaybeUninit::uninit() }; MOST], count: 0 }
    }

    /// Forgets the object.
    pub fn forget(&mut self) {
        (self.of, self.count) = (ptr::null(), 0);
    }

    /// The dynamic section of the first object in which the linker can find a function.
    pub fn find(&mut self, object: &Loaded, name: Name) -> Option<*const Dyn> {
        if self.of != object.dynamic {
            (self.of, self.count) = (object.dynamic, 0);
            each_dependency(object.dynamic, |one| {
                self.objects[self.count].write((one.dynamic, one.definitions()));
                self.count += 1;
                self.count < MOST
            });
        }
        // SAFETY: `count` entries were written, for this object.
        let mut known = self.objects[..self.count].iter().map(|one| unsafe { one.assume_init_ref() });
        let may_define = |definitions: &Definitions| definitions.any_symbol(name).is_some();
        known.find(|(_, definitions)| definitions.as_ref().is_none_or(may_define)).map(|(dynamic, _)| *dynamic)
    }
}

/// Calls `visit` with an object and its dependencies, breadth first, until `visit` has seen enough.
fn each_dependency(object: *const Dyn, mut visit: impl FnMut(&Loaded) -> bool) {
    let mut queue = [ptr::null(); MOST];
    let (mut at, mut end) = (0, 1);
    queue[0] = object;
    let mut goes_on = true;
    while goes_on && at < end {
        linker::each_object(0, |one| {
            if one.dynamic != queue[at] {
                return true;
            }
            goes_on = visit(one);
            for needed in one.needed() {
                linker::each_object(0, |other| {
                    let is_it = is_named(other, needed);
                    if is_it && end < MOST && !queue[..end].contains(&other.dynamic) {
                        queue[end] = other.dynamic;
                        end += 1;
                    }
                    !is_it
                });
            }
            false
        });
        at += 1;
    }
}

/// Whether a `DT_NEEDED` entry names an object.
fn is_named(object: &Loaded, needed: &CStr) -> bool {
    if object.soname().is_some_and(|name| name == needed) {
        return true;
    }
    if object.path.is_null() {
        return false;
    }
    // SAFETY: the path of a loaded object.
    let path = unsafe { CStr::from_ptr(object.path) }.to_bytes();
    path == needed.to_bytes() || path.rsplit(|byte| *byte == b'/').next() == Some(needed.to_bytes())
}

/// Working memory for one look through all objects: too large for the stack of a small thread.
pub struct Room<T>(UnsafeCell<T>);

// SAFETY: see `Room::lend`.
unsafe impl<T> Sync for Room<T> {}

impl<T> Room<T> {
    /// Room with this value.
    pub const fn new(value: T) -> Room<T> {
        Room(UnsafeCell::new(value))
    }

    /// Lends the value.
    ///
    /// # Safety
    /// The linker's lock is held, and nobody else on this thread has it.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn lend(&self) -> &mut T {
        // SAFETY: as the caller states.
        unsafe { &mut *self.0.get() }
    }
}
