//! Which loaded object (executable or shared library) an address lies in, and how that object would resolve a symbol.
//!
//! An unversioned symbol of a preloaded library captures calls meant for any library that defines the name. To
//! forward a call to where it would have gone, the dynamic linker's own order is followed: the global scope after us, with
//! the version that the caller was linked against, then the caller's own dependencies (libraries opened with
//! `RTLD_LOCAL`, as Python's extension modules are).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::image::Image;

/// `struct link_map` of <link.h>: the part that is public.
#[repr(C)]
pub struct LinkMap {
    /// Difference between the addresses in the file and those in memory.
    pub l_addr: usize,
    /// Path; empty for the executable.
    pub l_name: *const c_char,
    /// Dynamic section.
    pub l_ld: *const Dyn,
}

/// `ElfW(Dyn)`.
#[repr(C)]
pub struct Dyn {
    /// `DT_…`
    pub tag: isize,
    /// Number or address.
    pub value: usize,
}

/// A loaded object.
#[derive(Clone, Copy)]
pub struct Object {
    /// The dynamic linker's own record.
    pub link_map: *const LinkMap,
    /// First address of its mapping.
    pub start: usize,
    /// End of its mapping.
    pub end: usize,
}

impl Object {
    /// Whether the address belongs to this object.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The object that holds this address, by glibc 2.35's lock-free `_dl_find_object`, else by `dladdr1`.
    pub fn of(address: usize) -> Option<Object> {
        match find_object_function() {
            Some(find) => {
                let mut found = DlFindObject::EMPTY;
                // SAFETY: the function accepts any address and fills the structure, whose layout is glibc's ABI.
                let status = unsafe { find(address as *mut c_void, &mut found) };
                (status == 0).then_some(Object {
                    link_map: found.link_map,
                    start: found.map_start as usize,
                    end: found.map_end as usize,
                })
            }
            None => Object::by_dladdr(address),
        }
    }

    fn by_dladdr(address: usize) -> Option<Object> {
        let mut map: *mut c_void = ptr::null_mut();
        // SAFETY: Dl_info is plain data that dladdr1 fills.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: dladdr1 accepts any address; with RTLD_DL_LINKMAP it stores a link_map pointer.
        let found = unsafe { dladdr1(address as *const c_void, &mut info, &mut map, RTLD_DL_LINKMAP) };
        if found == 0 || map.is_null() {
            return None;
        }
        let mut range = Range { address, found: None };
        // SAFETY: the callback gets `range` back as its argument and keeps nothing.
        unsafe { libc::dl_iterate_phdr(Some(match_range), (&raw mut range).cast()) };
        let (start, end) = range.found?;
        Some(Object { link_map: map.cast(), start, end })
    }
}

/// What `dlopen` gave for a loaded object.
#[derive(Clone, Copy)]
pub struct Handle(*mut c_void);

/// The address that a call of `name` from `caller` would have reached if this library were not there.
pub fn original(caller: usize, name: &CStr) -> Option<*mut c_void> {
    let object = Object::of(caller);
    let versions = object.map(|object| foreign_versions(&object)).unwrap_or_default();
    let found = in_scope(libc::RTLD_NEXT, name, &versions)
        .or_else(|| in_dependencies(&object?, name, &versions))
        .or_else(|| in_scope(libc::RTLD_NEXT, name, &[]));
    if found.is_none() {
        // SAFETY: clears the message that our own failed search left for this thread.
        unsafe { libc::dlerror() };
    }
    found
}

/// A handle on a loaded object, without loading anything. The reference is kept: libcrypto pins itself in the same way.
pub fn handle_of(object: &Object) -> Option<Handle> {
    // SAFETY: link maps of loaded objects are valid; l_name is a NUL-terminated string that lives as long.
    let name = unsafe { (*object.link_map).l_name };
    // SAFETY: as above; an empty name is the executable itself.
    if name.is_null() || unsafe { *name } == 0 {
        return None;
    }
    // SAFETY: RTLD_NOLOAD opens nothing new.
    let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        // SAFETY: as in `original`.
        unsafe { libc::dlerror() };
        return None;
    }
    Some(Handle(handle))
}

/// Looks a name up in one handle's object and accepts only what that very object defines.
pub fn defined_by(object: &Object, handle: Handle, name: &CStr) -> *mut c_void {
    // SAFETY: `handle` came from `handle_of`, `name` is NUL-terminated.
    let symbol = unsafe { libc::dlsym(handle.0, name.as_ptr()) };
    if symbol.is_null() {
        // SAFETY: as in `original`.
        unsafe { libc::dlerror() };
    }
    if object.contains(symbol as usize) { symbol } else { ptr::null_mut() }
}

/// An address in each loaded object whose `DT_SONAME` begins so.
pub fn named(beginning: &str) -> Vec<usize> {
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record, and `search` back as it was given.
        let (info, (beginning, found)) = unsafe { (&*info, &mut *search.cast::<(&str, Vec<usize>)>()) };
        // SAFETY: as above; the object can't be unloaded during the iteration.
        let name = unsafe { Image::of(info) }.and_then(|image| image.soname());
        // SAFETY: the name belongs to the object's string table.
        if name.is_some_and(|name| unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(beginning.as_bytes())) {
            // SAFETY: the program headers of a loaded object.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
            let code = headers.iter().find(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
            found.extend(code.map(|code| info.dlpi_addr as usize + code.p_vaddr as usize));
        }
        0
    }
    let mut search: (&str, Vec<usize>) = (beginning, Vec::new());
    // SAFETY: the callback keeps nothing, and gets `search` back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut search).cast()) };
    search.1
}

fn in_dependencies(object: &Object, name: &CStr, versions: &[*const c_char]) -> Option<*mut c_void> {
    let Handle(handle) = handle_of(object)?;
    let found = in_scope(handle, name, versions).or_else(|| in_scope(handle, name, &[]));
    // SAFETY: gives back the reference that handle_of took.
    unsafe { libc::dlclose(handle) };
    found
}

fn in_scope(handle: *mut c_void, name: &CStr, versions: &[*const c_char]) -> Option<*mut c_void> {
    let found = if versions.is_empty() {
        // SAFETY: a valid (pseudo) handle and a NUL-terminated name.
        unsafe { libc::dlsym(handle, name.as_ptr()) }
    } else {
        versions
            .iter()
            // SAFETY: as above; the version strings come from a loaded object's string table.
            .map(|&version| unsafe { dlvsym(handle, name.as_ptr(), version) })
            .find(|found| !found.is_null())
            .unwrap_or(ptr::null_mut())
    };
    (!found.is_null() && !is_ours(found as usize)).then_some(found)
}

/// Whether the address lies in this library.
pub fn is_ours(address: usize) -> bool {
    static START: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    if START.load(Ordering::Acquire) == 0 {
        let Some(own) = Object::of(is_ours as fn(usize) -> bool as usize) else { return false };
        END.store(own.end, Ordering::Relaxed);
        START.store(own.start, Ordering::Release);
    }
    (START.load(Ordering::Acquire)..END.load(Ordering::Relaxed)).contains(&address)
}

/// The `OPENSSL_…` and `GNUTLS_…` symbol versions that an object's calls can carry.
fn foreign_versions(object: &Object) -> Vec<*const c_char> {
    // SAFETY: the caller's code is running, so its object stays loaded meanwhile.
    let image = unsafe { Image::of_object(object) };
    // A libcrypto's calls of itself carry the versions that it defines.
    let versions =
        image.into_iter().flat_map(|image| image.versions_needed().into_iter().chain(image.versions_defined()));
    // SAFETY: strings of a loaded object's string table.
    let text = |name: *const c_char| unsafe { CStr::from_ptr(name) }.to_bytes();
    let is_foreign = |name: &[u8]| name.starts_with(b"OPENSSL_") || name.starts_with(b"GNUTLS_");
    versions.filter(|&name| is_foreign(text(name))).collect()
}

const RTLD_DL_LINKMAP: c_int = 2;

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

type FindObject = unsafe extern "C" fn(*mut c_void, *mut DlFindObject) -> c_int;

fn find_object_function() -> Option<FindObject> {
    const UNKNOWN: usize = 0;
    const ABSENT: usize = 1;
    static FUNCTION: AtomicUsize = AtomicUsize::new(UNKNOWN);
    let address = match FUNCTION.load(Ordering::Relaxed) {
        UNKNOWN => {
            // SAFETY: a search in the global scope by a NUL-terminated name.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) } as usize;
            let found = if found == 0 { ABSENT } else { found };
            FUNCTION.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    };
    // SAFETY: glibc documents this signature for the symbol of this name.
    (address != ABSENT).then(|| unsafe { std::mem::transmute::<usize, FindObject>(address) })
}

struct Range {
    address: usize,
    found: Option<(usize, usize)>,
}

unsafe extern "C" fn match_range(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid record and our own `Range`.
    let (info, range) = unsafe { (&*info, &mut *data.cast::<Range>()) };
    let (mut start, mut end) = (usize::MAX, 0);
    for index in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: dlpi_phdr has dlpi_phnum entries.
        let header = unsafe { &*info.dlpi_phdr.add(index) };
        if header.p_type == libc::PT_LOAD {
            let at = info.dlpi_addr as usize + header.p_vaddr as usize;
            start = start.min(at);
            end = end.max(at + header.p_memsz as usize);
        }
    }
    if (start..end).contains(&range.address) {
        range.found = Some((start, end));
        return 1;
    }
    0
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}
