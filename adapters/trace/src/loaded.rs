//! The loaded objects, seen without the dynamic linker's main lock.
//!
//! `dlsym` and `dlopen` wait for that lock. Whoever is loading a library holds it while constructors run, and one of those may be waiting
//! for the thread that loads certificates. `dl_iterate_phdr` takes another lock, held only while the list of objects changes or is read. But
//! `fork` leaves it as it is: a child of a thread that forks just then waits for ever. So it is called for what is new, not at each load.

use std::ffi::{c_int, c_void};

use windlass_interpose::definitions::{Definitions, Name};
use windlass_interpose::image::Image;
use windlass_interpose::object::{self, Object};

/// The definitions of a name, in the order of loading, without our own.
pub fn defining(name: Name) -> Vec<usize> {
    let mut found = Vec::new();
    each(&mut |info| {
        found.extend(definitions(info).and_then(|all| all.find(name)).filter(|at| !object::is_ours(*at)));
        true
    });
    found
}

/// What an object defines that a callback of [`each`] was given.
pub fn definitions(info: &libc::dl_phdr_info) -> Option<Definitions> {
    // SAFETY: no object is unloaded while the list is gone through, and definitions are not kept beyond.
    unsafe { Image::of(info) }.and_then(|image| image.definitions())
}

/// Tells an object from another one that is loaded to the same place later.
pub fn dynamic_section(object: &Object) -> usize {
    // SAFETY: the link map of a loaded object.
    unsafe { (*object.link_map).l_ld as usize }
}

/// Calls `look` for each object in the order of loading, until it returns `false`.
pub fn each(look: &mut dyn FnMut(&libc::dl_phdr_info) -> bool) {
    unsafe extern "C" fn pass(info: *mut libc::dl_phdr_info, _size: usize, look: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record, and `look` back as it was given.
        let (info, look) = unsafe { (&*info, &mut *look.cast::<&mut dyn FnMut(&libc::dl_phdr_info) -> bool>()) };
        c_int::from(!look(info))
    }
    let mut look = look;
    // SAFETY: the callback keeps nothing, and gets `look` back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(pass), (&raw mut look).cast()) };
}
