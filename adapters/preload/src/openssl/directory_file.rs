//! The files of hashed directories, as libcrypto's own lookup (by_dir.c) loads them when a verification needs them.
//!
//! The lookup stays libcrypto's: it decides which files are looked at, in which order, and what a broken link means. Only the
//! loading of one file is answered from the cache, so that nothing is opened or parsed that was before in this process.

use std::ffi::{CStr, c_char, c_int};

use crate::hook::guarded;
use crate::labels::Served as Entry;
use crate::openssl::api::{OSSL_LIB_CTX, X509, X509_FILETYPE_PEM};
use crate::openssl::enumerate;
use crate::openssl::lifecycle::add_beside;
use crate::openssl::materialise::{self, Marked};
use crate::openssl::store::{LookupKind, StoreState};
use crate::process;

/// Loads a file into the store that a hashed directory belongs to. `None`: nothing was done, and the original does it.
///
/// The original adds one certificate after the other, through the hook of `X509_STORE_add_cert`; so does this.
pub fn serve(
    lookup: Option<(&StoreState, LookupKind)>,
    file: *const c_char,
    kind: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
) -> Option<c_int> {
    let (state, LookupKind::HashedDirectory) = lookup? else { return None };
    let plain = kind == X509_FILETYPE_PEM && context.is_null() && properties.is_null() && !file.is_null();
    if !plain || !state.linked || enumerate::holds_store_lock(state.store) {
        return None;
    }
    guarded(|| {
        let served = state.served()?;
        if !state.library.originals.is_global_context() {
            return None;
        }
        // SAFETY: by_dir.c passes a NUL-terminated path.
        let snapshot = materialise::load(state, unsafe { CStr::from_ptr(file) }).ok()?;
        if !snapshot.has_readable_keys(served) {
            return None;
        }
        // All are parsed before the first is added: what libcrypto does not accept it shall see itself.
        let marked = Marked::new(served);
        let certificates: Option<Vec<*mut X509>> =
            snapshot.roots.anchors().map(|anchor| snapshot.certificate(served, anchor.index())).collect();
        drop(marked);
        for certificate in certificates? {
            // SAFETY: the snapshot holds the certificate; the store is not locked by this thread.
            if unsafe { add_beside(state, served, certificate) } != 1 {
                return None;
            }
        }
        process::count(Entry::DirectoryFile, 1);
        if served.is_before_3_0() {
            // As the original at the end of a file.
            // SAFETY: no preconditions.
            unsafe { (served.api.ERR_clear_error)() };
        }
        c_int::try_from(snapshot.roots.len()).ok()
    })
}
