//! Hashed directories. They stay libcrypto's own: its lookup, registered behind ours, sees new files and CRLs, and its
//! handling of broken links, bad files and the error queue differs between versions. This module only knows where
//! libcrypto will look.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;

use windlass::CanonicalName;

use crate::labels::Bypass;
use crate::memory;
use crate::openssl::libcrypto::Served;
use crate::openssl::store::{HashedDirectory, LookupKind, StoreState};
use crate::openssl::{follow, names, serving};
use crate::process;

/// Remembers the argument of `X509_LOOKUP_add_dir`: directories separated by `:`, without empty ones, each once, with
/// the type that it was first given with.
pub fn track(state: &StoreState, list: &CStr, is_pem: bool) {
    if !state.tracks(LookupKind::HashedDirectory) {
        let served = state.served();
        // SAFETY: the store is alive, and has the lookup that the directory was just added to: this call finds it and
        // creates none.
        let lookup = unsafe { (served.api.X509_STORE_add_lookup)(state.store, (served.api.X509_LOOKUP_hash_dir)()) };
        if !lookup.is_null() {
            state.track_lookup(lookup, LookupKind::HashedDirectory);
        }
    }
    for directory in list.to_bytes().split(|&byte| byte == b':').filter(|part| !part.is_empty()) {
        let known = state.directories.iter().any(|known| known.path.to_bytes() == directory);
        if known {
            continue;
        }
        follow::took_directory(state, directory, is_pem);
        match memory::c_string(&[directory]) {
            Some(path) => state.directories.push(HashedDirectory { path, is_pem }),
            // Searches in it can't be predicted: from now on nothing is merely registered.
            None => state.make_eager(),
        }
    }
}

/// As [`track`] for the default: `SSL_CERT_DIR`, else the compiled-in directory.
pub fn track_default(state: &StoreState) {
    if let Some(list) = default_directories(state.served()) {
        track(state, list, true);
    }
}

/// libcrypto's default file as of now: `SSL_CERT_FILE`, even when empty, else the compiled-in one.
pub fn default_file(served: &Served) -> Result<&'static CStr, Bypass> {
    let api = &served.api;
    let variable = served.default_string(api.X509_get_default_cert_file_env).ok_or(Bypass::Path)?;
    process::environment_pointer(variable)
        .or_else(|| served.default_string(api.X509_get_default_cert_file))
        .ok_or(Bypass::Path)
}

/// libcrypto's default directories as of now.
pub fn default_directories(served: &Served) -> Option<&'static CStr> {
    let variable = served.default_string(served.api.X509_get_default_cert_dir_env)?;
    process::environment_pointer(variable).or_else(|| served.default_string(served.api.X509_get_default_cert_dir))
}

/// libcrypto is about to search its directories for a subject that no registered source has. It adds all certificates
/// in the files of that hash, whatever their subject. Where it does so through calls that we don't see, the registered
/// certificates of those subjects must be in memory first, or they would be hidden.
pub fn prepare(state: &StoreState, name: &CanonicalName) {
    if state.library.shows_additions || !state.model.has_pending() {
        return;
    }
    let hash = name.subject_hash();
    for directory in state.directories.iter() {
        for suffix in 0u32.. {
            let path = memory::c_string(&[directory.path.to_bytes(), format!("/{hash}.{suffix}").as_bytes()]);
            if path.as_ref().is_some_and(|path| missing(state.served(), path).is_some()) {
                break;
            }
            let file = path.and_then(|path| serving::read_listed(state, &path).ok());
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

/// The error number if by_dir.c finds nothing of this name, determined by the same call. A version that calls `stat`
/// ends its search at a dangling link; one that calls `lstat` first passes over it. The calls are known for the
/// versions here; for others only `lstat` is sure to find everything that they find.
pub fn missing(served: &Served, path: &CStr) -> Option<c_int> {
    let mut state = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: no preconditions.
    let version = unsafe { (served.api.OpenSSL_version_num)() };
    let follows = version < 0x3000_0000 || matches!(version, 0x3000_0000..=0x3000_013f | 0x3050_0000..=0x3050_005f);
    let look = if follows { libc::stat } else { libc::lstat };
    // SAFETY: a NUL-terminated path, and room for the status, which is not read.
    if unsafe { look(path.as_ptr(), state.as_mut_ptr()) } == 0 {
        return None;
    }
    std::io::Error::last_os_error().raw_os_error()
}
