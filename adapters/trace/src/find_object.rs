//! The loaded object (executable or shared library) that contains an address.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::linker;

/// A loaded object.
#[derive(Clone, Copy)]
pub struct Object {
    /// The difference between the addresses in memory and those in the file.
    pub base: usize,
    /// Its path; empty for the executable.
    pub path: *const c_char,
    /// The address of its dynamic section.
    pub dynamic: usize,
    /// The first address of its mapping.
    pub start: usize,
    /// The end of its mapping.
    pub end: usize,
}

impl Object {
    /// Whether this object contains an address.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Whether both are the same object.
    pub fn is(&self, other: &Object) -> bool {
        (self.dynamic, self.start) == (other.dynamic, other.start)
    }

    /// The object that contains this address: found by `_dl_find_object` of glibc 2.35, which takes no lock, else by
    /// the list of objects.
    pub fn of(address: usize) -> Option<Object> {
        let function = FUNCTION.load(Ordering::Relaxed);
        if function != 0 {
            let mut found = DlFindObject::EMPTY;
            // SAFETY: glibc documents this signature for the symbol of this name. The function accepts any address and
            // fills the structure, whose layout is glibc's ABI.
            let status =
                unsafe { std::mem::transmute::<usize, FindObject>(function)(address as *mut c_void, &mut found) };
            if status != 0 {
                return None;
            }
            // SAFETY: the linker's record of a loaded object.
            let LinkMap { base, path, dynamic } = unsafe { &*found.link_map };
            let (start, end) = (found.map_start as usize, found.map_end as usize);
            return Some(Object { base: *base, path: *path, dynamic: *dynamic, start, end });
        }
        if linker::is_out_of_reach() {
            return None;
        }
        let found = linker::object_at(address)?;
        let (base, path, dynamic) = (found.base, found.path, found.dynamic as usize);
        Some(Object { base, path, dynamic, start: found.start, end: found.end })
    }
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut DlFindObject) -> c_int;

/// `_dl_find_object`, or 0.
static FUNCTION: AtomicUsize = AtomicUsize::new(0);

/// Looks for the function, once, at the start.
pub fn prepare() {
    const NAME: Name = Name::new(c"_dl_find_object");
    linker::each_object(0, |object| {
        let found = object.definitions().and_then(|definitions| definitions.find(NAME));
        FUNCTION.store(found.unwrap_or(0), Ordering::Relaxed);
        found.is_none()
    });
}

/// `struct link_map` of <link.h>: its public part.
#[repr(C)]
struct LinkMap {
    base: usize,
    path: *const c_char,
    dynamic: usize,
}

/// `struct dl_find_object` of <dlfcn.h>, glibc 2.35.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *const LinkMap,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

impl DlFindObject {
    const EMPTY: Self = DlFindObject {
        flags: 0,
        map_start: ptr::null_mut(),
        map_end: ptr::null_mut(),
        link_map: ptr::null(),
        eh_frame: ptr::null_mut(),
        reserved: [0; 7],
    };
}
