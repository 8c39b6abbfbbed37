//! Searches in hashed directories whose result in libcrypto's own lookup (by_dir.c) is certain.
//!
//! For a file that is in the cache, libcrypto checks whether it exists and whether there is another behind it, and the
//! load checks a third time, whether it has changed. The first and the third check can be one. If libcrypto asks its
//! lookup for a subject whose file is known, and no file is behind it, the work of get_cert_by_subject_ex is done here,
//! at the same place and with libcrypto's own functions. All other cases are left to libcrypto.

use std::ffi::{CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use windlass::CanonicalName;

use crate::hook::{Caller, guarded};
use crate::memory;
use crate::openssl::api::{
    OSSL_LIB_CTX, Originals, Required, X509_LOOKUP, X509_LU_NONE, X509_LU_X509, X509_NAME, X509_OBJECT,
};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Served, transparent};
use crate::openssl::model::{Event, Locked, Phase};
use crate::openssl::names::canonical;
use crate::openssl::objects::{Objects, answer};
use crate::openssl::serving::{self, Within};
use crate::openssl::store::{HashedDirectory, LookupKind, StoreState, tracked_lookup};
use crate::openssl::{by_dir, capath, directory_file};
use crate::process;

/// `X509_LOOKUP_by_subject`: called by a search in 1.1.1. From 3.0 on it only calls the `_ex` function.
pub extern "C-unwind" fn by_subject(
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
    caller: Caller,
) -> c_int {
    let search = Search { lookup, kind, name, ret };
    let is_last = |state: &StoreState| state.served().is_before_3_0();
    search.run(is_last, caller, || transparent!(caller, X509_LOOKUP_by_subject(lookup, kind, name, ret), or 0))
}

/// `X509_LOOKUP_by_subject_ex` (3.0).
pub extern "C-unwind" fn by_subject_ex(
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> c_int {
    let search = Search { lookup, kind, name, ret };
    let is_default = Within { context, properties }.is_default();
    search.run(
        |_| is_default,
        caller,
        || transparent!(caller, X509_LOOKUP_by_subject_ex(lookup, kind, name, ret, context, properties), or 0),
    )
}

/// The arguments of both functions.
struct Search {
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
}

impl Search {
    fn run(
        &self,
        may_serve: impl FnOnce(&StoreState) -> bool,
        caller: Caller,
        original: impl FnOnce() -> c_int,
    ) -> c_int {
        let tracked = tracked_lookup(self.lookup);
        prepare(tracked, caller);
        let state = of_directories(tracked).filter(|state| may_serve(state));
        if state.is_some_and(|state| self.serve(state, caller)) {
            return 1;
        }
        original()
    }

    /// Whether the search was answered. If not, nothing was done.
    fn serve(&self, state: &StoreState, caller: Caller) -> bool {
        if self.kind != X509_LU_X509 || self.name.is_null() || self.ret.is_null() || !state.library.contains(caller) {
            return false;
        }
        let Some(errno) = guarded(|| search(state, self.lookup, self.name, self.ret)) else { return false };
        // SAFETY: the location is this thread's own. The last libcrypto call that sets it is the check that finds
        // nothing.
        unsafe { *libc::__errno_location() = errno };
        true
    }
}

/// A program that asks a lookup directly has not asked ours first, and libcrypto's methods look into the store's memory
/// in the end.
fn prepare(tracked: Option<(&StoreState, LookupKind)>, caller: Caller) {
    if let Some((state, _)) = tracked.filter(|(state, _)| !state.library.contains(caller)) {
        state.complete();
    }
}

fn of_directories(tracked: Option<(&StoreState, LookupKind)>) -> Option<&StoreState> {
    tracked.filter(|(_, kind)| *kind == LookupKind::HashedDirectory).map(|(state, _)| state)
}

/// Answers with a certificate of the first directory; returns the `errno` left by the check behind its file.
fn search(
    state: &StoreState,
    lookup: *const X509_LOOKUP,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
) -> Option<c_int> {
    let served = state.served();
    let directory = state.directories.iter().next().filter(|directory| directory.is_pem)?;
    let usable = state.library.shows_additions
        && served.has_known_directories()
        && state.model.phase() < Phase::Exposed
        && !state.is_locked_here()
        && state.library.originals.is_global_context()
        // SAFETY: the lookup was made with that method, and libcrypto is searching it; the version was checked above.
        && unsafe { by_dir::searches_first(state.library, served, lookup, &directory.path) }?
        // SAFETY: libcrypto passes an object. If it already held something, it would lose it here, but keep it in
        // libcrypto.
        && unsafe { (served.api.X509_OBJECT_get_type)(ret) } == X509_LU_NONE;
    if !usable {
        return None;
    }
    let subject = {
        let _marked = Marked::new(served);
        canonical(&served.api, name)?
    };
    let hash = subject.subject_hash().to_string();
    let file = file_of(directory, &hash, 0)?;
    let is_known = process::cache().holds_cafile(Path::new(OsStr::from_bytes(file.to_bytes())));
    if !is_known || hash_of(&state.library.originals, served, name)? != hash {
        return None;
    }
    let snapshot = serving::read_listed(state, &file).ok()?;
    if !snapshot.has_readable_keys(served) {
        return None;
    }
    let mut wanted = snapshot.roots.by_subject(&subject);
    let (first, is_alone) = (wanted.next()?, wanted.next().is_none());
    let errno = capath::missing(served, &file_of(directory, &hash, 1)?)?;
    let may = |locked: &Locked<'_, Objects>| {
        served.sorts_objects() || is_alone && is_absent(state, locked, &served.api, &subject)
    };
    let certificates = directory_file::add(state, &snapshot, may)?;
    let found =
        if served.sorts_objects() { state.model.foreign.retrieve(name)? } else { *certificates.get(first.get())? };
    // SAFETY: no preconditions. A search that finds something clears all errors, including earlier ones.
    unsafe { (served.api.ERR_clear_error)() };
    // SAFETY: libcrypto's own object, which is empty; the store holds a reference to the certificate.
    (unsafe { answer(&served.api, ret, found) } == 1).then_some(errno)
}

/// The path of a file: `dir/0123abcd.0`
fn file_of(directory: &HashedDirectory, hash: &str, number: u32) -> Option<CString> {
    memory::c_string(&[directory.path.to_bytes(), format!("/{hash}.{number}").as_bytes()])
}

/// The hash of a name as libcrypto computes it, in the notation of by_dir.c. None without SHA-1.
fn hash_of(originals: &Originals, served: &Served, name: *const X509_NAME) -> Option<String> {
    let _marked = Marked::new(served);
    let mut done = 1;
    // SAFETY: libcrypto passes a valid name; these are the functions with which by_dir.c hashes it.
    let hash = unsafe {
        match originals.X509_NAME_hash_ex {
            Some(hash) => hash(name, ptr::null_mut(), ptr::null(), &mut done),
            None => originals.X509_NAME_hash?(name),
        }
    };
    (done != 0).then(|| format!("{hash:08x}"))
}

/// Whether a store of 4.0, whose table can't be searched from outside, has nothing of a subject.
fn is_absent(state: &StoreState, locked: &Locked<'_, Objects>, api: &Required, subject: &CanonicalName) -> bool {
    /// The most events that are examined in each search.
    const FEW: usize = 64;
    let model = &state.model;
    let is_registered =
        || model.registrations().iter().any(|known| known.source.roots.by_subject(subject).next().is_some());
    let is_other = |event: &Event<Objects>| match event {
        Event::Added(held) => {
            // SAFETY: the event holds the certificate.
            let name = unsafe { (api.X509_get_subject_name)(held.certificate) };
            canonical(api, name).is_some_and(|name| name != *subject)
        }
        Event::Base(..) => false,
        Event::Load(_) | Event::Find => true,
    };
    !model.has_unseen()
        && !model.is_stack()
        && !is_registered()
        && locked.events().take(FEW + 1).count() <= FEW
        && locked.events().all(is_other)
}
