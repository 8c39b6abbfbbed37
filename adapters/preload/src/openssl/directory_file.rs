//! The files of hashed directories, as libcrypto's own lookup (by_dir.c) loads them when a verification needs them.
//!
//! The lookup stays libcrypto's: it decides which files are looked at, in which order, and what a broken link means. Only the
//! loading of one file is answered from the cache, so that nothing is opened or parsed that was before in this process.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use crate::hook::guarded;
use crate::labels::Served as Entry;
use crate::openssl::api::{OSSL_LIB_CTX, X509, X509_FILETYPE_PEM, X509_LOOKUP};
use crate::openssl::library::{Libcrypto, Served};
use crate::openssl::lifecycle::add_beside_locked;
use crate::openssl::materialise::{self, Marked};
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::{enumerate, own};
use crate::process;

/// Loads a file into the store of a lookup, for libcrypto itself: of its own methods only that of hashed directories loads
/// PEM files by this function (that of files uses `X509_load_cert_crl_file`). `None`: nothing was done, and the original
/// does it.
///
/// The original adds one certificate after the other, through the hook of `X509_STORE_add_cert`; so does this.
pub fn serve(
    library: &Libcrypto,
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
) -> Option<c_int> {
    let plain = kind == X509_FILETYPE_PEM && context.is_null() && properties.is_null() && !file.is_null();
    if !plain || lookup.is_null() {
        return None;
    }
    guarded(|| {
        let served = library.served.as_ref()?;
        // SAFETY: libcrypto passes its own lookup.
        let state = tracked(unsafe { (served.api.X509_LOOKUP_get_store)(lookup) })?;
        if !state.linked || enumerate::holds_store_lock(state.store) || !library.originals.is_global_context() {
            return None;
        }
        // SAFETY: by_dir.c passes a NUL-terminated path.
        let snapshot = materialise::load(state, unsafe { CStr::from_ptr(file) }).ok()?;
        if !snapshot.has_readable_keys(served) {
            return None;
        }
        add(state, served, &snapshot, || true)?;
        if served.is_before_3_0() {
            // As the original at the end of a file.
            // SAFETY: no preconditions.
            unsafe { (served.api.ERR_clear_error)() };
        }
        c_int::try_from(snapshot.roots.len()).ok()
    })
}

/// Adds all that a file holds to a store, in the order of the file. `may` is asked when no other thread can add anything;
/// when it says no, nothing was done.
pub fn add(
    state: &StoreState,
    served: &Served,
    snapshot: &Arc<Snapshot>,
    may: impl FnOnce() -> bool,
) -> Option<Vec<*mut X509>> {
    let _guard = state.lock();
    // All are parsed before the first is added: what libcrypto does not accept it shall see itself.
    let marked = Marked::new(served);
    let certificates: Option<Vec<*mut X509>> =
        snapshot.roots.anchors().map(|anchor| own::certificate(state, served, snapshot, anchor.index())).collect();
    drop(marked);
    let certificates = certificates?;
    if !may() {
        return None;
    }
    for &certificate in &certificates {
        // SAFETY: the snapshot holds the certificate; the store is not locked by this thread.
        if unsafe { add_beside_locked(state, served, certificate) } != 1 {
            return None;
        }
    }
    process::count(Entry::DirectoryFile, 1);
    Some(certificates)
}
