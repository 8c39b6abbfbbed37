//! The contents of libcrypto's own lookup of hashed directories.
//!
//! A program can add a directory by calling the method's `ctrl` itself, or put its own functions into the method,
//! unseen by any hook. Before a search is answered in libcrypto's place, libcrypto's own record is therefore checked.
//! No function returns it; it is read where by_dir.c keeps it, which is the same place in 1.1.1w, 3.0, 3.5 and 4.0
//! (`Served::has_known_directories` checks the version).

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::openssl::api::{OPENSSL_STACK, X509_FILETYPE_PEM, X509_LOOKUP};
use crate::openssl::libcrypto::{Libcrypto, Served};

/// The part of `BY_DIR` of by_dir.c that is read.
#[repr(C)]
struct ByDir {
    buffer: *const c_void,
    dirs: *const OPENSSL_STACK,
}

/// The part of `BY_DIR_ENTRY` of by_dir.c that is read.
#[repr(C)]
struct ByDirEntry {
    dir: *const c_char,
    dir_type: c_int,
}

/// Whether libcrypto would search this directory first, read as PEM, and with its own functions.
///
/// # Safety
/// `lookup` is a lookup of this libcrypto that was made with `X509_LOOKUP_hash_dir`, of a version whose record is
/// known, and nobody frees it or adds a directory to it meanwhile (libcrypto also searches without a lock).
pub unsafe fn searches_first(
    library: &Libcrypto,
    served: &Served,
    lookup: *const X509_LOOKUP,
    directory: &CStr,
) -> Option<bool> {
    let originals = &library.originals;
    // SAFETY: no preconditions; the method is a variable of libcrypto.
    let method = unsafe { (served.api.X509_LOOKUP_hash_dir)() };
    // SAFETY: a method of this libcrypto. The functions only read it.
    let functions = unsafe {
        [
            (originals.X509_LOOKUP_meth_get_new_item?)(method),
            (originals.X509_LOOKUP_meth_get_free?)(method),
            (originals.X509_LOOKUP_meth_get_ctrl?)(method),
            (originals.X509_LOOKUP_meth_get_get_by_subject?)(method),
        ]
    };
    if functions.iter().any(|&function| !library.defines(function as usize)) {
        return Some(false);
    }
    // SAFETY: as the caller states. The data was made by libcrypto's own `new_item`, so it is a BY_DIR.
    let record = unsafe { (originals.X509_LOOKUP_get_method_data?)(lookup).cast::<ByDir>().as_ref() }?;
    // SAFETY: the stack of the record, or null, which has no elements.
    if unsafe { (served.api.OPENSSL_sk_num)(record.dirs) } < 1 {
        return Some(false);
    }
    // SAFETY: it has a first element, and its elements are BY_DIR_ENTRYs.
    let first = unsafe { (served.api.OPENSSL_sk_value)(record.dirs, 0).cast::<ByDirEntry>().as_ref() }?;
    if first.dir.is_null() || first.dir_type != X509_FILETYPE_PEM {
        return Some(false);
    }
    // SAFETY: an entry holds a NUL-terminated copy of its path.
    Some(unsafe { CStr::from_ptr(first.dir) } == directory)
}
