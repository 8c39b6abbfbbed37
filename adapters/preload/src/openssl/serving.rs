//! Registering a file with a store instead of loading it.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use windlass::{LoadError, RootStore, TrustCache};

use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Label};
use crate::openssl::api::{OSSL_LIB_CTX, X509_LOOKUP};
use crate::openssl::libcrypto::{LIBCRYPTO, Libcrypto};
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::{StoreState, tracked, tracked_lookup};
use crate::openssl::{all_stores, follow, keys, snapshots};
use crate::process;

/// The library context and property query of a load. Both are null for functions without these arguments.
#[derive(Clone, Copy)]
pub struct Within {
    /// The library context for the certificates.
    pub context: *mut OSSL_LIB_CTX,
    /// The property query for the certificates.
    pub properties: *const c_char,
}

impl Within {
    /// The thread's default library context, and no query.
    pub const DEFAULT: Within = Within { context: ptr::null_mut(), properties: ptr::null() };

    /// Whether neither was given.
    pub fn is_default(&self) -> bool {
        self.context.is_null() && self.properties.is_null()
    }
}

/// Serves a PEM file. `None`: call the original; the store is ready for it.
pub fn load(
    state: Option<&StoreState>,
    caller: Caller,
    file: *const c_char,
    within: Within,
    entry: impl Label,
) -> Option<c_int> {
    serve_or_prepare(state, caller, entry, |state| {
        if file.is_null() {
            return Err(Bypass::Path);
        }
        if !within.is_default() {
            return Err(Bypass::LibraryContext);
        }
        // SAFETY: the program passes a NUL-terminated path.
        serve_file(state, unsafe { CStr::from_ptr(file) })
    })
}

/// Registers a PEM file with a store. Returns the number of certificates that a load would have reported.
///
/// Success affects the error queue as in stock OpenSSL: 1.1.1's PEM_X509_INFO_read_bio clears the whole queue at the
/// end of a file, 3.0 and later leave older entries alone.
pub fn serve_file(state: &StoreState, path: &CStr) -> Result<c_int, Bypass> {
    let served = state.served();
    if !state.library.originals.is_global_context() {
        return Err(Bypass::LibraryContext);
    }
    let snapshot = read(state, path)?;
    if !snapshot.has_readable_keys(served) {
        return Err(Bypass::UnsupportedContent);
    }
    let count = c_int::try_from(snapshot.roots.len()).map_err(|_| Bypass::NotAFile)?;
    let roots = state.follow.as_ref().map(|_| Arc::clone(&snapshot.roots));
    state.register(snapshot)?;
    if let Some(roots) = roots {
        follow::took_file(state, path, roots);
    }
    if served.is_before_3_0() {
        // SAFETY: no preconditions.
        unsafe { (served.api.ERR_clear_error)() };
    }
    Ok(count)
}

/// The certificates of a PEM file, from the cache.
pub fn read(state: &StoreState, path: &CStr) -> Result<Arc<Snapshot>, Bypass> {
    read_by(state, path, TrustCache::load_cafile)
}

/// As [`read`], for a file that by_dir.c has checked: the check is the same, and the file is opened only if it has
/// changed.
pub fn read_listed(state: &StoreState, path: &CStr) -> Result<Arc<Snapshot>, Bypass> {
    read_by(state, path, TrustCache::load_listed)
}

type Loading = fn(&TrustCache, &Path) -> Result<Arc<RootStore>, LoadError>;

fn read_by(state: &StoreState, path: &CStr, load: Loading) -> Result<Arc<Snapshot>, Bypass> {
    if path.is_empty() {
        return Err(Bypass::Path);
    }
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let roots = load(process::cache(), path).map_err(|error| Bypass::for_error(&error))?;
    if !keys::are_keys_plain(state.library, state.served()) {
        return Err(Bypass::KeyMethods);
    }
    snapshots::of(state.library, roots).ok_or(Bypass::NoMemory)
}

/// Runs `serve` for a watched store and counts the outcome. If the original has to be called, makes the store ready for
/// it.
pub fn serve_or_prepare<R>(
    state: Option<&StoreState>,
    caller: Caller,
    entry: impl Label,
    serve: impl FnOnce(&StoreState) -> Result<R, Bypass>,
) -> Option<R> {
    all_stores::complete_what_is_due();
    let served = guarded(|| {
        let Some(state) = state else {
            let library = Libcrypto::of_caller(caller);
            process::count(
                match library.and_then(Libcrypto::unserved) {
                    Some(reason) => reason,
                    None if LIBCRYPTO.is_hidden() => Bypass::HiddenCallers,
                    None if library.is_some_and(Libcrypto::is_from_before) => Bypass::LoadedBefore,
                    None => Bypass::UnknownStore,
                },
                1,
            );
            return None;
        };
        // The program holds the store's lock: nothing can be added, nor could it be in stock OpenSSL.
        if state.is_locked_here() {
            return None;
        }
        match serve(state) {
            Ok(served) => {
                process::count(entry, 1);
                Some(served)
            }
            Err(reason) => {
                process::count(reason, 1);
                state.leave_to_original();
                None
            }
        }
    });
    if let (None, Some(state)) = (&served, state) {
        follow::leave(state);
    }
    served
}

/// The store that a lookup belongs to, even if its method is the program's own.
pub fn owner<'a>(lookup: *mut X509_LOOKUP, caller: Caller) -> Option<&'a StoreState> {
    let known = tracked_lookup(lookup).map(|(state, _)| state);
    if known.is_some() || lookup.is_null() || !process::enabled() {
        return known;
    }
    let served = Libcrypto::of_caller(caller)?.served()?;
    // SAFETY: the caller passes a valid lookup of its own libcrypto.
    tracked(unsafe { (served.api.X509_LOOKUP_get_store)(lookup) })
}
