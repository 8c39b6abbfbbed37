//! Who uses a libcrypto in this process, as far as the dynamic linker knows.
//!
//! Can certificates reach anything by a way that is not hooked (see `handed_out`)? Then each store gets certificates of its own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::address_space;
use crate::definitions::Name;
use crate::image::Image;
use crate::object::Object;

/// Functions that give certificates of any store away, or let them be given, so that it can't be said of which. Nothing of 180
/// programs and libraries of Debian 12 that use OpenSSL imports one, but for the commands `openssl` and `sslscan`.
static CHANGING: [Name<'static>; 10] = [
    // The checks that they add are called with certificates of all stores.
    Name::new(c"X509_PURPOSE_add"),
    Name::new(c"X509_TRUST_add"),
    // It is called with certificates that a server is about to send (ssl_security_cert, t1_lib.c).
    Name::new(c"SSL_CTX_set_security_callback"),
    Name::new(c"SSL_set_security_callback"),
    // Its nodes have qualifiers that lie in the chain's certificates.
    Name::new(c"X509_STORE_CTX_get0_policy_tree"),
    // The issuer is one of the verified chain's.
    Name::new(c"CT_POLICY_EVAL_CTX_get0_issuer"),
    // Searches by the built-in lookups, with no lookup handle's function called.
    Name::new(c"X509_LOOKUP_meth_get_get_by_alias"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_fingerprint"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_issuer_serial"),
    Name::new(c"X509_LOOKUP_meth_get_get_by_subject"),
];

static CHANGES: AtomicBool = AtomicBool::new(false);
/// The address space in which all were looked at; 0: none.
static SURVEYED_BY: AtomicU32 = AtomicU32::new(0);

/// The names that end all sharing, wherever one is imported or asked for.
pub fn changing() -> &'static [Name<'static>] {
    &CHANGING
}

/// Something that is loaded imports one of these names, or has asked for one. It may be called anywhere, also while the dynamic
/// linker holds its locks: a store that already has shared certificates gives them up before its next verification begins.
pub fn note_changer() {
    CHANGES.store(true, Ordering::Release);
}

/// Whether [`note_changer`] was called.
pub fn may_change_certificates() -> bool {
    CHANGES.load(Ordering::Acquire)
}

/// The first call looks at all loaded objects.
pub fn survey() {
    if SURVEYED_BY.load(Ordering::Acquire) == 0 {
        look_at_all();
    }
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
            note_changer();
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
    if is_openssl(image) {
        return;
    }
    // SAFETY: the strings belong to the object's string table.
    let text = |at: *const c_char| unsafe { CStr::from_ptr(at) };
    if !may_change_certificates() && image.imports().any(|at| changing().iter().any(|name| name.text() == text(at))) {
        note_changer();
    }
}

/// Whether an object is one of OpenSSL's own libraries.
pub fn is_openssl(image: &Image) -> bool {
    // SAFETY: the name belongs to the object's string table.
    image.soname().is_some_and(|name| is_openssl_name(unsafe { CStr::from_ptr(name) }))
}

fn is_openssl_name(name: &CStr) -> bool {
    let name = name.to_bytes();
    [&b"libssl"[..], b"libcrypto"].iter().any(|known| {
        // libssl.so.3, or libssl-1a2b3c.so.3 of a wheel; not libsslwrap.so or libcryptopp.so.
        name.strip_prefix(*known).is_some_and(|rest| rest.starts_with(b".so") || rest.starts_with(b"-"))
    })
}
