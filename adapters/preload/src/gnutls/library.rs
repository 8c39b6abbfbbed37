//! The copies of libgnutls in this process, kept apart.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::callers::Callers;
use crate::fork_lock::ForkLock;
use crate::gnutls::api::{Originals, Required};
use crate::gnutls::probe;
use crate::hook::Caller;
use crate::image::Image;
use crate::labels::Bypass;
use crate::object::{self, Object};
use crate::process;

/// The oldest that is served. Tested are 3.7.9 and 3.8.
const OLDEST: [u32; 3] = [3, 7, 0];
/// Versions from here on are not known yet.
const BEYOND: [u32; 3] = [3, 9, 0];

/// Functions through which libgnutls itself fills, reads and frees lists, called from other source files than their own. When
/// these calls can be seen, so can all that matters, also where a compiler has bound calls within a file.
const INTERNAL_CALLS: [&CStr; 11] = [
    c"gnutls_x509_trust_list_add_trust_file",
    c"gnutls_x509_trust_list_add_trust_mem",
    c"gnutls_x509_trust_list_add_cas",
    c"gnutls_x509_trust_list_add_crls",
    c"gnutls_x509_trust_list_remove_cas",
    c"gnutls_x509_trust_list_deinit",
    c"gnutls_x509_trust_list_get_issuer",
    c"gnutls_x509_trust_list_get_issuer_by_dn",
    c"gnutls_x509_trust_list_get_issuer_by_subject_key_id",
    c"gnutls_x509_trust_list_verify_crt2",
    c"gnutls_ocsp_resp_verify",
];

/// Who has called; flagged: it is linked against the functions that make lists.
static CALLERS: Callers<Libgnutls> = Callers::new();

static LOADED: [AtomicPtr<Libgnutls>; 16] = [const { AtomicPtr::new(ptr::null_mut()) }; 16];

/// One loaded libgnutls.
pub struct Libgnutls {
    object: Object,
    /// The originals of what is hooked.
    pub originals: Originals,
    /// Everything that serving needs, or why this one is not served.
    pub served: Result<Served, Bypass>,
}

/// A libgnutls that can be served.
pub struct Served {
    /// Its functions.
    pub api: Required,
    /// Its variable `gnutls_free`.
    free: *const unsafe extern "C-unwind" fn(*mut c_void),
}

// SAFETY: function addresses, and the address of a variable that holds one and is never changed (since GnuTLS 3.3).
unsafe impl Send for Libgnutls {}
// SAFETY: as above.
unsafe impl Sync for Libgnutls {}

impl Libgnutls {
    /// The libgnutls that a call from this place means.
    pub fn of_caller(caller: Caller) -> Option<&'static Libgnutls> {
        let object = Object::of(caller.address())?;
        if let Some(known) = CALLERS.find(&object) {
            return Some(known.library);
        }
        let library = Libgnutls::defining(object::original(caller.address(), ANCHOR)? as usize)?;
        CALLERS.remember(&object, library, is_linked(&object));
        Some(library)
    }

    /// Whether the call comes from this libgnutls itself.
    pub fn contains(&self, caller: Caller) -> bool {
        self.object.contains(caller.address())
    }

    fn defining(address: usize) -> Option<&'static Libgnutls> {
        static REGISTERING: ForkLock = ForkLock::new();
        let known = || Libgnutls::loaded().find(|library| library.object.contains(address));
        if let Some(library) = known() {
            return Some(library);
        }
        // Made before the lock is taken: it needs the dynamic linker's lock, whose holder may be waiting for ours.
        let fresh = Libgnutls::open(Object::of(address)?)?;
        let _guard = REGISTERING.lock();
        if let Some(library) = known() {
            return Some(library);
        }
        let free = LOADED.iter().find(|entry| entry.load(Ordering::Acquire).is_null())?;
        let library = Box::into_raw(Box::new(fresh));
        free.store(library, Ordering::Release);
        // SAFETY: just published, never freed.
        Some(unsafe { &*library })
    }

    /// Those that were met so far.
    fn loaded() -> impl Iterator<Item = &'static Libgnutls> {
        // SAFETY: entries come from Box::into_raw and are never freed.
        LOADED.iter().filter_map(|entry| unsafe { entry.load(Ordering::Acquire).as_ref() })
    }

    /// The function of the only libgnutls that has it, for callers that are not linked against any.
    fn only<F>(pick: &impl Fn(&Originals) -> Option<F>) -> Option<F> {
        for start in object::named("libgnutls.so") {
            let Some(object) = Object::of(start) else { continue };
            let Some(handle) = object::handle_of(&object) else { continue };
            let address = object::defined_by(&object, handle, ANCHOR);
            if !address.is_null() {
                Libgnutls::defining(address as usize);
            }
        }
        let mut found = Libgnutls::loaded().filter_map(|library| pick(&library.originals));
        found.next().filter(|_| found.next().is_none())
    }

    fn open(object: Object) -> Option<Libgnutls> {
        let handle = object::handle_of(&object)?;
        let find = |name: &CStr| object::defined_by(&object, handle, name);
        // SAFETY: the names are GnuTLS', and the declarations in `api` are those of its headers.
        let originals = unsafe { Originals::load(find) }?;
        // SAFETY: as above.
        let api = unsafe { Required::load(find) };
        let free: *const unsafe extern "C-unwind" fn(*mut c_void) = find(c"gnutls_free").cast_const().cast();
        let served = match api {
            Some(api) if !free.is_null() && is_known_version(&api) => {
                // Where nothing is served, nothing is called that the program has not called.
                if process::enabled() && shows_its_calls(&object) && probe::sees_calls(&object, &api)? {
                    Ok(Served { api, free })
                } else {
                    Err(Bypass::HiddenCalls)
                }
            }
            _ => Err(Bypass::UnsupportedLibrary),
        };
        Some(Libgnutls { object, originals, served })
    }
}

impl Served {
    /// `gnutls_free`.
    ///
    /// # Safety
    /// The memory was allocated by this libgnutls for its caller to free.
    pub unsafe fn free(&self, memory: *mut c_void) {
        // SAFETY: the variable always holds a function that accepts what the allocating functions gave, and null.
        unsafe { (*self.free)(memory) };
    }
}

/// Whether the calling object makes its lists by linked functions. What was found by `dlsym` in the library itself is called
/// where no hook sees it, so a list that begins there can't be watched.
pub fn is_linked_caller(caller: Caller) -> bool {
    Object::of(caller.address()).and_then(|object| CALLERS.find(&object)).is_some_and(|known| known.flag)
}

/// The function that a call would have reached without us: that of the list's libgnutls, else of the caller's.
pub fn forward<F: Copy>(
    library: Option<&'static Libgnutls>,
    caller: Caller,
    name: &CStr,
    pick: impl Fn(&Originals) -> Option<F>,
) -> Option<F> {
    let library = library.or_else(|| Libgnutls::of_caller(caller));
    if let Some(function) = library.and_then(|library| pick(&library.originals)) {
        return Some(function);
    }
    let Some(address) = object::original(caller.address(), name) else {
        return Libgnutls::only(&pick);
    };
    // SAFETY: F is the type that GnuTLS declares for `name`, an unsafe extern function pointer, as large as an address.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// Calls an original. What it does through libgnutls' PLT is seen: the hooks there make a list ready for what it is going to do.
macro_rules! original {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!($crate::gnutls::library::forward, $library, $caller, $name($($arg),*), or $failure)
    };
}
pub(crate) use original;

const ANCHOR: &CStr = c"gnutls_x509_trust_list_init";

fn is_linked(object: &Object) -> bool {
    // SAFETY: the object's code is running, so it stays loaded; the names belong to its string table.
    let image = unsafe { Image::of_object(object) };
    let makes_lists = |name: *const c_char| {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) };
        name == ANCHOR || name == c"gnutls_certificate_allocate_credentials"
    };
    image.is_some_and(|image| image.imports().any(makes_lists))
}

/// Whether a name begins with these bytes, of which none is NUL.
///
/// # Safety
/// A NUL-terminated string.
unsafe fn begins(name: *const c_char, with: &[u8]) -> bool {
    // SAFETY: a byte is only read when those before it were equal, so none of them was the terminator.
    with.iter().enumerate().all(|(at, byte)| unsafe { *name.cast::<u8>().add(at) } == *byte)
}

fn shows_its_calls(object: &Object) -> bool {
    // SAFETY: the caller holds a handle, which keeps the object loaded.
    let Some(image) = (unsafe { Image::of_object(object) }) else { return false };
    let mut seen = [false; INTERNAL_CALLS.len()];
    // A thousand names and more: most end at their first byte.
    // SAFETY: the names belong to the object's string table.
    let is_ours = |name: &*const c_char| unsafe { begins(*name, b"gnutls_x509_t") || begins(*name, b"gnutls_ocsp_r") };
    for name in image.imports().filter(is_ours) {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) };
        if let Some(at) = INTERNAL_CALLS.iter().position(|known| *known == name) {
            seen[at] = true;
        }
    }
    seen.iter().all(|seen| *seen)
        // Two copies of the same version in the global scope call each other.
        && object::original(object.start, ANCHOR).is_some_and(|address| object.contains(address as usize))
}

fn is_known_version(api: &Required) -> bool {
    // SAFETY: with no version asked for, the function returns its own, a constant string.
    let text = unsafe { (api.gnutls_check_version)(ptr::null()) };
    if text.is_null() {
        return false;
    }
    // SAFETY: as above.
    let version = parse_version(unsafe { CStr::from_ptr(text) }.to_bytes());
    version.is_some_and(|version| (OLDEST..BEYOND).contains(&version))
}

fn parse_version(text: &[u8]) -> Option<[u32; 3]> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(3, '.');
    let mut number = || {
        let part = parts.next()?;
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().ok()
    };
    Some([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version(b"3.7.9"), Some([3, 7, 9]));
        assert_eq!(parse_version(b"3.8.13-rc1"), Some([3, 8, 13]));
        assert_eq!(parse_version(b"3.8"), None);
        assert_eq!(parse_version(b"x.8.1"), None);
        let served = |text: &[u8]| parse_version(text).is_some_and(|version| (OLDEST..BEYOND).contains(&version));
        assert!(served(b"3.8.13") && served(b"3.7.0"));
        assert!(!served(b"3.6.16") && !served(b"3.9.0") && !served(b"4.0.0"));
    }
}
