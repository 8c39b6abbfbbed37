//! Hashed directories. They stay libcrypto's own: its lookup, registered behind ours, sees new files and CRLs, and its ways
//! with broken links, bad files and the error queue differ between versions. Here is only known where it will look.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

use windlass::CanonicalName;

use crate::labels::Bypass;
use crate::openssl::library::Served;
use crate::openssl::store::{HashedDirectory, LookupKind, StoreState};
use crate::openssl::{names, serving};
use crate::process;

/// Remembers what `X509_LOOKUP_add_dir` was given: directories with `:` between them, empty ones ignored, each once, with
/// the type that it was first given with.
pub fn track(state: &StoreState, list: &CStr, is_pem: bool) {
    if !state.tracks(LookupKind::HashedDirectory) {
        let served = state.served();
        // SAFETY: the store is alive, and has the lookup that the directory was just added to: it is found, not made.
        let lookup = unsafe { (served.api.X509_STORE_add_lookup)(state.store, (served.api.X509_LOOKUP_hash_dir)()) };
        if !lookup.is_null() {
            state.track_lookup(lookup, LookupKind::HashedDirectory);
        }
    }
    for directory in list.to_bytes().split(|&byte| byte == b':').filter(|part| !part.is_empty()) {
        let known = state.directories.iter().any(|known| known.path.to_bytes() == directory);
        if let (false, Ok(path)) = (known, CString::new(directory)) {
            state.directories.push(HashedDirectory { path, is_pem });
        }
    }
}

/// As [`track`] for the default: `SSL_CERT_DIR`, else the directory that was compiled in.
pub fn track_default(state: &StoreState) {
    if let Some(list) = default_directories(state.served()) {
        track(state, list, true);
    }
}

/// What libcrypto takes for its default file at this moment: `SSL_CERT_FILE`, even when empty, else the one compiled in.
pub fn default_file(served: &Served) -> Result<&'static CStr, Bypass> {
    let api = &served.api;
    let variable = served.default_string(api.X509_get_default_cert_file_env).ok_or(Bypass::Path)?;
    process::environment_pointer(variable)
        .or_else(|| served.default_string(api.X509_get_default_cert_file))
        .ok_or(Bypass::Path)
}

/// What libcrypto takes for its default directories at this moment.
pub fn default_directories(served: &Served) -> Option<&'static CStr> {
    let variable = served.default_string(served.api.X509_get_default_cert_dir_env)?;
    process::environment_pointer(variable).or_else(|| served.default_string(served.api.X509_get_default_cert_dir))
}

/// libcrypto is about to search its directories for a subject that nothing registered has. It adds all that the files of
/// that hash hold, of whatever subject. Where it does so through calls that we don't see, what is registered of those subjects has to
/// be in memory before, or it would be hidden.
pub fn prepare(state: &StoreState, name: &CanonicalName) {
    if state.library.shows_additions || !state.model.has_pending() {
        return;
    }
    let hash = name.subject_hash();
    for directory in state.directories.iter() {
        for suffix in 0u32.. {
            let mut path = directory.path.to_bytes().to_vec();
            path.extend_from_slice(format!("/{hash}.{suffix}").as_bytes());
            if std::fs::symlink_metadata(std::ffi::OsStr::from_bytes(&path)).is_err() {
                break;
            }
            let file = CString::new(path).ok().and_then(|path| serving::read(state, &path).ok());
            let Some(file) = file else {
                state.complete_now();
                return;
            };
            let locked = state.model.lock();
            for anchor in file.roots.anchors() {
                let other = anchor.canonical_subject() != name.as_bytes();
                if let (true, Some(other)) = (other, names::canonical_subject(&file, anchor.index())) {
                    locked.put_subject(&other);
                }
            }
        }
    }
}
