//! The third source of the default paths in OpenSSL 3.0 to 3.3: the default directory once more, as an OSSL_STORE.
//!
//! Opening it costs tens of microseconds for each context, and libcrypto only searches it for subjects that neither the
//! file nor the hashed directory has. Here it is opened at its first search, in a store of its own; the certificates
//! that it finds go into the program's store.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;

use windlass_interpose::reserve;

use crate::hook::{self, Caller, guarded};
use crate::labels::{Bypass, Served as Entry};
use crate::memory;
use crate::openssl::api::{
    Required, X509, X509_CRL, X509_L_ADD_STORE, X509_LOOKUP, X509_LOOKUP_METHOD, X509_NAME, X509_OBJECT, X509_STORE,
};
use crate::openssl::errors::Marked;
use crate::openssl::held::{self, BaseObject};
use crate::openssl::names::canonical;
use crate::openssl::objects::answer;
use crate::openssl::serving::serve_or_prepare;
use crate::openssl::store::{LookupKind, StoreState, tracked_lookup};
use crate::openssl::{capath, follow};

/// Creates the method that replaces `X509_LOOKUP_store`.
pub fn method(api: &Required) -> Option<*mut X509_LOOKUP_METHOD> {
    // SAFETY: as in `lookup::method`. There is nothing to free: the state frees it.
    unsafe {
        let method = (api.X509_LOOKUP_meth_new)(c"Windlass: default store".as_ptr());
        let complete = !method.is_null() && (api.X509_LOOKUP_meth_set_get_by_subject)(method, get_by_subject) == 1;
        complete.then_some(method)
    }
}

/// The last step of `X509_STORE_set_default_paths`: `X509_LOOKUP_add_store_ex(lookup, NULL, …)`. As in stock, false
/// when the lookup can't be added.
///
/// Stock opens the URI at once to check that it can be opened, and forgets it if not. Here one look at the directory
/// gives the same answer; anything but a plain absolute path of a readable directory goes to the original.
pub fn register(state: &StoreState) -> bool {
    let served = state.served();
    if !served.opens_default_store() || state.default_store.original.load(Ordering::Acquire) {
        return add_original(state);
    }
    let Some(uri) = capath::default_directories(served) else { return add_original(state) };
    match Uri::of(uri) {
        // Nothing is there: stock adds no URI either.
        Uri::Missing => return true,
        Uri::Directory => {}
        Uri::Other => return add_original(state),
    }
    // SAFETY: the store is alive for the length of the call that we are in.
    let lookup = unsafe { (served.api.X509_STORE_add_lookup)(state.store, served.default_store_method) };
    if lookup.is_null() {
        return false;
    }
    let known = state.default_store.directory();
    match known {
        Some(known) if known.as_c_str() == uri => true,
        // The variable has changed between two calls for the same store.
        Some(_) => add_original(state),
        None => {
            let Some(fresh) = memory::c_string(&[uri.to_bytes()]) else { return add_original(state) };
            follow::took_default_store(state, &fresh);
            state.default_store.set_directory(fresh);
            state.track_lookup(lookup, LookupKind::DefaultStore);
            true
        }
    }
}

/// The program is about to add a URI of its own. Stock keeps all URIs of a store in one lookup, which asks one after
/// the other and leaves the errors that this causes. The default URI therefore goes there, too, before the program's,
/// and the stand-in is no longer used.
pub fn make_way(state: &StoreState) {
    let was = state.default_store.original.swap(true, Ordering::AcqRel);
    if !was && state.default_store.directory().is_some() {
        let _marked = Marked::new(state.served());
        add_original(state);
    }
}

/// The program adds a URI. It can hold anything, and is read during a verification. Where we don't see what libcrypto
/// then adds, nothing may be merely registered any more.
pub fn prepare_for_uri(state: Option<&StoreState>, command: c_int, caller: Caller) {
    if let Some(state) = state {
        follow::leave(state);
    }
    if let (Some(state), X509_L_ADD_STORE) = (state, command) {
        guarded(|| {
            if !state.is_locked_here() {
                make_way(state);
            }
            Some(())
        });
    }
    if command == X509_L_ADD_STORE && state.is_some_and(|state| state.library.shows_additions) {
        return;
    }
    serve_or_prepare(state, caller, Entry::LoadFile, |state| {
        state.make_eager();
        Err::<(), _>(Bypass::StoreUri)
    });
}

/// The original function has registered the default store itself. Anything but a plain directory can add certificates
/// of any subject at any search, so nothing may be merely registered from now on.
pub fn registered_by_original(state: &StoreState) {
    let served = state.served();
    // The directory is only checked where stock does this, too.
    let plain = || capath::default_directories(served).is_some_and(|uri| !matches!(Uri::of(uri), Uri::Other));
    if served.opens_default_store() && !state.library.shows_additions && !plain() {
        state.make_eager();
    }
}

/// A longer path goes to the original.
const LONGEST: usize = 253;

enum Uri {
    Missing,
    Directory,
    Other,
}

impl Uri {
    fn of(uri: &CStr) -> Uri {
        let path = uri.to_bytes();
        // If a path is a directory that can be entered, the name `.` in it can be reached; for anything else it can't.
        // Stock calls stat and then opendir(3); where everybody may list the directory, the first call predicts the
        // result of the second.
        let mut inside = [0_u8; LONGEST + b"/.\0".len()];
        if !path.starts_with(b"/") || path.contains(&b':') || path.len() > LONGEST {
            return Uri::Other;
        }
        inside[..path.len()].copy_from_slice(path);
        inside[path.len()..][..2].copy_from_slice(b"/.");
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the bytes behind the path are still NUL; the status is read if it was written.
        let mode = unsafe {
            (libc::stat(inside.as_ptr().cast(), status.as_mut_ptr()) == 0).then(|| status.assume_init().st_mode)
        };
        if mode.is_some_and(|mode| mode & 0o444 == 0o444) {
            return Uri::Directory;
        }
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_DIRECTORY;
        // SAFETY: the bytes behind the path are still NUL; what was opened is closed again, and nobody else has it.
        unsafe {
            let opened = libc::open(inside.as_ptr().cast(), flags);
            if opened >= 0 {
                libc::close(opened);
                return Uri::Directory;
            }
        }
        match std::io::Error::last_os_error().kind() {
            std::io::ErrorKind::NotFound => Uri::Missing,
            _ => Uri::Other,
        }
    }
}

fn add_original(state: &StoreState) -> bool {
    let served = state.served();
    // Later versions open nothing here.
    if served.opens_default_store() {
        follow::leave(state);
    }
    let originals = &state.library.originals;
    let (Some(method), Some(ctrl)) = (originals.X509_LOOKUP_store, originals.X509_LOOKUP_ctrl_ex) else { return true };
    // SAFETY: the store is alive; the arguments are those of X509_LOOKUP_add_store_ex with a NULL URI.
    unsafe {
        let lookup = (served.api.X509_STORE_add_lookup)(state.store, method());
        if lookup.is_null() {
            return false;
        }
        ctrl(lookup, X509_L_ADD_STORE, ptr::null(), 0, ptr::null_mut(), ptr::null_mut(), ptr::null());
    }
    registered_by_original(state);
    true
}

unsafe extern "C" fn get_by_subject(
    lookup: *mut X509_LOOKUP,
    kind: c_int,
    name: *const X509_NAME,
    ret: *mut X509_OBJECT,
) -> c_int {
    let Some((state, LookupKind::DefaultStore)) = tracked_lookup(lookup) else { return 0 };
    if state.default_store.original.load(Ordering::Acquire) {
        return 0;
    }
    let _chunk = reserve::claim();
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let found = catch_unwind(AssertUnwindSafe(|| find(state, kind, name)));
    let api = &state.served().api;
    match found {
        // SAFETY: `find` added the object to the program's store, which holds a reference.
        Ok(Some(Found::Certificate(found))) => unsafe { answer(api, ret, found) },
        // SAFETY: as above; a CRL's reference is released in the same way.
        Ok(Some(Found::Crl(found))) => unsafe {
            if (api.X509_OBJECT_set1_X509_CRL)(ret, found) != 1 {
                return 0;
            }
            (api.X509_CRL_free)(found);
            1
        },
        _ => 0,
    }
}

enum Found {
    Certificate(*mut X509),
    Crl(*mut X509_CRL),
}

fn find(state: &StoreState, kind: c_int, name: *const X509_NAME) -> Option<Found> {
    let served = state.served();
    let api = &served.api;
    let opened = {
        let _marked = Marked::new(served);
        state.default_store.open(state.library, served)?
    };
    // SAFETY: the private store and its lookup live as long as the state, and several threads may search them; `object`
    // is ours. by_store.c leaves it without a reference of its own, so one is taken before it is freed.
    unsafe {
        let object = (api.X509_OBJECT_new)();
        if object.is_null() {
            return None;
        }
        let hit = (api.X509_LOOKUP_by_subject)(opened.lookup, kind, name, object) == 1;
        let certificate = (api.X509_OBJECT_get0_X509)(object);
        let crl = (api.X509_OBJECT_get0_X509_CRL)(object);
        if !certificate.is_null() {
            (api.X509_up_ref)(certificate);
        }
        if !crl.is_null() {
            (api.X509_CRL_up_ref)(crl);
        }
        (api.X509_OBJECT_free)(object);
        // As in stock, everything read on the way stays, even if the search was for something else.
        {
            let _marked = Marked::new(served);
            copy_objects(state, opened.store);
        }
        if !hit {
            return None;
        }
        if !certificate.is_null() {
            return Some(Found::Certificate(certificate));
        }
        (!crl.is_null()).then_some(Found::Crl(crl))
    }
}

/// Adds everything that the private store has found so far to the program's store.
///
/// # Safety
/// `from` is a live store of the state's libcrypto.
unsafe fn copy_objects(state: &StoreState, from: *mut X509_STORE) {
    let api = &state.served().api;
    // SAFETY: as the caller states; the stack is locked, and the objects taken from it are kept alive.
    let found = unsafe {
        if (api.X509_STORE_lock)(from) != 1 {
            return;
        }
        let found = held::base(api, (api.X509_STORE_get0_objects)(from));
        (api.X509_STORE_unlock)(from);
        found
    };
    // If memory is short, they are copied at the next search.
    let Some(found) = found else { return };
    let locked = state.model.lock();
    for object in &found {
        // SAFETY: the list keeps the objects; the program's store is alive, and takes its own references.
        unsafe {
            match object {
                BaseObject::Certificate(held) => {
                    match canonical(api, (api.X509_get_subject_name)(held.certificate)) {
                        Some(subject) => drop(locked.put_subject(&subject)),
                        None => locked.settle(),
                    }
                    // Alone it would hide the certificates that could not be made.
                    if locked.has_all_of(held) {
                        (api.X509_STORE_add_cert)(state.store, held.certificate);
                    }
                }
                BaseObject::Crl(held) => {
                    (api.X509_STORE_add_crl)(state.store, held.crl);
                }
            }
        }
    }
}
