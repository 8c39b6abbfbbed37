//! Who uses a libcrypto in this process, as far as the dynamic linker knows.
//!
//! Two questions decide how far a libcrypto can be served. Is anything linked against it at all? If not, its functions are
//! called through `dlsym`, which no hook sees, and what we register could be enumerated behind our back. And can anything
//! change certificates? Then each store gets certificates of its own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::address_space;
use crate::image::Image;
use crate::object::Object;

/// What was found.
#[derive(Clone, Copy)]
pub struct Survey {
    /// Something other than OpenSSL's own libraries is linked against them.
    pub linked: bool,
    /// Something imports a function that changes a certificate's trust settings, alias, key id or extension data.
    pub changes_certificates: bool,
}

/// Functions that change a parsed certificate in a way that its users see.
const CHANGING: [&CStr; 10] = [
    c"X509_add1_trust_object",
    c"X509_add1_reject_object",
    c"X509_trust_clear",
    c"X509_reject_clear",
    c"X509_alias_set1",
    c"X509_keyid_set1",
    c"X509_set_ex_data",
    c"X509_set0_distinguishing_id",
    c"X509_set_proxy_flag",
    c"X509_set_proxy_pathlen",
];

static LINKED: AtomicBool = AtomicBool::new(false);
static CHANGES: AtomicBool = AtomicBool::new(false);
/// The address space in which all were looked at; 0: none.
static SURVEYED_BY: AtomicU32 = AtomicU32::new(0);

/// What is known. The first call looks at all loaded objects.
pub fn survey() -> Survey {
    if SURVEYED_BY.load(Ordering::Acquire) == 0 {
        look_at_all();
    }
    Survey { linked: LINKED.load(Ordering::Relaxed), changes_certificates: CHANGES.load(Ordering::Relaxed) }
}

/// An object calls for the first time. It may have been loaded after the last look, and not alone, so all are looked at again.
///
/// Not so in a forked child: a thread of its parent may hold the dynamic linker's lock there for ever (glibc 2.36 does not
/// reset dl_load_write_lock). The child looks at the new object alone, and takes it for granted that whatever came with it
/// can change certificates.
pub fn meet(object: &Object) {
    let me = address_space::id();
    match SURVEYED_BY.load(Ordering::Acquire) {
        0 => {}
        by if by == me => look_at_all(),
        _ => {
            // SAFETY: the object's code is running, so it stays loaded.
            if let Some(image) = unsafe { Image::of_object(object) } {
                inspect(&image);
            }
            CHANGES.store(true, Ordering::Relaxed);
        }
    }
}

fn look_at_all() {
    // SAFETY: the callback keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::null_mut()) };
    SURVEYED_BY.store(address_space::id(), Ordering::Release);
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid record; the object can't be unloaded during the iteration.
    if let Some(image) = unsafe { Image::of(&*info) } {
        inspect(&image);
    }
    0
}

fn inspect(image: &Image) {
    let is_openssl = |name: &CStr| {
        let name = name.to_bytes();
        [&b"libssl"[..], b"libcrypto"].iter().any(|known| {
            // libssl.so.3, or libssl-1a2b3c.so.3 of a wheel; not libsslwrap.so or libcryptopp.so.
            name.strip_prefix(*known).is_some_and(|rest| rest.starts_with(b".so") || rest.starts_with(b"-"))
        })
    };
    // SAFETY: the strings belong to the object's string table.
    let text = |at: *const c_char| unsafe { CStr::from_ptr(at) };
    if image.soname().is_some_and(|name| is_openssl(text(name))) {
        return;
    }
    if image.needed().any(|name| is_openssl(text(name))) {
        LINKED.store(true, Ordering::Relaxed);
    }
    if !CHANGES.load(Ordering::Relaxed) && image.imports().any(|name| CHANGING.contains(&text(name))) {
        CHANGES.store(true, Ordering::Relaxed);
    }
}
