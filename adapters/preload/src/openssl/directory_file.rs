//! The files of hashed directories, as libcrypto's own lookup (by_dir.c) loads them when a verification needs them.
//!
//! The lookup stays libcrypto's: it decides which files to check, in which order, and how to treat a broken link. Only
//! the load of a file is answered from the cache, so that nothing is opened or parsed twice in this process.

use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use crate::hook::guarded;
use crate::labels::Served as Entry;
use crate::openssl::api::{X509, X509_FILETYPE_PEM, X509_LOOKUP};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::Libcrypto;
use crate::openssl::model::{Foreign, Locked};
use crate::openssl::objects::Objects;
use crate::openssl::serving::{self, Within};
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::{StoreState, tracked};
use crate::process;

/// Loads a file into the store of a lookup, for libcrypto itself. Of libcrypto's own methods, only the one for hashed
/// directories loads PEM files by this function (the one for files uses `X509_load_cert_crl_file`). `None`: nothing was
/// done, and the original is to be called.
///
/// The original adds one certificate after the other, through the hook of `X509_STORE_add_cert`; so does this.
pub fn serve(
    library: &Libcrypto,
    lookup: *mut X509_LOOKUP,
    file: *const c_char,
    kind: c_int,
    within: Within,
) -> Option<c_int> {
    let plain = kind == X509_FILETYPE_PEM && within.is_default() && !file.is_null();
    if !plain || lookup.is_null() {
        return None;
    }
    guarded(|| {
        let served = library.served()?;
        // SAFETY: libcrypto passes its own lookup.
        let state = tracked(unsafe { (served.api.X509_LOOKUP_get_store)(lookup) })?;
        if state.is_locked_here() || !library.originals.is_global_context() {
            return None;
        }
        // SAFETY: by_dir.c passes a NUL-terminated path.
        let snapshot = serving::read_listed(state, unsafe { CStr::from_ptr(file) }).ok()?;
        if !snapshot.has_readable_keys(served) {
            return None;
        }
        add(state, &snapshot, |_| true)?;
        if served.is_before_3_0() {
            // As the original at the end of a file. SAFETY: no preconditions.
            unsafe { (served.api.ERR_clear_error)() };
        }
        c_int::try_from(snapshot.roots.len()).ok()
    })
}

/// Adds all certificates of a file to a store, in the order of the file. `may` is called when no other thread can add
/// anything; if it returns false, nothing is done.
pub fn add(
    state: &StoreState,
    snapshot: &Arc<Snapshot>,
    may: impl FnOnce(&Locked<'_, Objects>) -> bool,
) -> Option<Vec<*mut X509>> {
    // All are parsed before the first is added: libcrypto itself must see a certificate that it rejects.
    let marked = Marked::new(state.served());
    let objects = &state.model.foreign;
    snapshot.roots.anchors().for_each(|anchor| objects.make(snapshot, anchor.index()));
    let locked = state.model.lock();
    let mut certificates = Vec::new();
    certificates.try_reserve_exact(snapshot.roots.len()).ok()?;
    for anchor in snapshot.roots.anchors() {
        certificates.push(objects.certificate(snapshot, anchor.index())?);
    }
    drop(marked);
    if !may(&locked) {
        return None;
    }
    for &certificate in &certificates {
        // SAFETY: the snapshot keeps the certificate alive; the store is not locked by this thread.
        if unsafe { state.add_locked(&locked, certificate) } != 1 {
            return None;
        }
    }
    process::count(Entry::DirectoryFile, 1);
    Some(certificates)
}
