//! A trust: a file of roots, and the store of its present state.

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass::compiled::Directories;
use windlass::{BUNDLES, Config, Contents, MaxAge, RootStore, TrustCache};
use windlass_interpose::for_each_process::ForEachProcess;
use windlass_interpose::fork_lock::ForkLock;

use crate::border::{Answer, answer, held, release, retain, write};
use crate::error::{Code, ErrorInfo, Failure};
use crate::store::Store;

/// `WINDLASS_CRLS`.
const CRLS: c_uint = 1;

/// `windlass_trust`. The reference count is the `Arc`'s.
pub struct Trust {
    path: PathBuf,
    contents: Contents,
    cache: ForEachProcess<TrustCache>,
    lock: ForkLock,
    /// The store that was returned last. Changed under the lock, by one store of a pointer.
    present: UnsafeCell<Option<Arc<Store>>>,
}

// SAFETY: `present` is only touched under the lock.
unsafe impl Sync for Trust {}

/// An environment variable; None under secure execution.
fn environment(name: &str) -> Option<OsString> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name ends in NUL; the value is copied before the call ends, and the program must not change the
    // environment while another thread reads it.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: values in the environment end in NUL.
    (!value.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(value) }.to_bytes()).to_owned())
}

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

impl Trust {
    fn open(path: Option<&Path>, contents: Contents) -> Answer<Trust> {
        let usual = || BUNDLES.iter().map(Path::new).find(|path| path.exists());
        let path = path.or_else(usual).ok_or_else(|| Failure::new(Code::NoDefault))?.to_owned();
        let (cache, lock) = (ForEachProcess::new(), ForkLock::new());
        let trust = Trust { path, contents, cache, lock, present: UnsafeCell::new(None) };
        trust.store()?;
        Ok(trust)
    }

    /// The store of the file's present state.
    fn store(&self) -> Answer<Arc<Store>> {
        let roots = self.cache().load_cafile(&self.path)?;
        if let Some(store) = self.known(&roots) {
            return Ok(store);
        }
        let fresh = Store::new(roots);
        let guard = self.lock.lock();
        // SAFETY: under the lock.
        let previous = unsafe { &mut *self.present.get() };
        // Another thread may have been here.
        let same = previous.as_ref().filter(|store| Arc::ptr_eq(store.roots(), fresh.roots())).map(Arc::clone);
        let replaced = if same.is_none() { previous.replace(Arc::clone(&fresh)) } else { None };
        drop(guard);
        // Its last reference may be this one, and releases objects of the program.
        drop(replaced);
        Ok(same.unwrap_or(fresh))
    }

    fn cache(&self) -> &TrustCache {
        let new = || {
            let stores = Directories::from_environment(environment);
            let max_age = environment("WINDLASS_MAX_AGE").and_then(|value| MaxAge::parse(value.to_str()?));
            TrustCache::new(Config { stores, contents: self.contents, max_age: max_age.unwrap_or_default() }, None)
        };
        self.cache.get(|parent| parent.map_or_else(new, TrustCache::fork))
    }

    fn known(&self, roots: &Arc<RootStore>) -> Option<Arc<Store>> {
        let _guard = self.lock.lock();
        // SAFETY: under the lock.
        let present = unsafe { &*self.present.get() };
        present.as_ref().filter(|store| Arc::ptr_eq(store.roots(), roots)).map(Arc::clone)
    }
}

/// See windlass.h.
///
/// # Safety
/// `path` is null or ends in NUL; the others are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_trust_open(
    path: *const c_char,
    flags: c_uint,
    trust: *mut *const Trust,
    error: *mut ErrorInfo,
) -> c_int {
    let open = || {
        if trust.is_null() || flags & !CRLS != 0 {
            return Err(Failure::new(Code::Argument));
        }
        // SAFETY: as above.
        let path = (!path.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())));
        let contents = if flags & CRLS != 0 { Contents::WithCrls } else { Contents::Certificates };
        let opened = Arc::new(Trust::open(path, contents)?);
        // SAFETY: as above.
        unsafe { write(trust, Arc::into_raw(opened)) }
    };
    // SAFETY: as above.
    unsafe { answer(error, open) }
}

/// See windlass.h.
///
/// # Safety
/// `trust` is null or a reference of the caller; the others are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_trust_store(
    trust: *const Trust,
    store: *mut *const Store,
    error: *mut ErrorInfo,
) -> c_int {
    let find = || {
        if store.is_null() {
            return Err(Failure::new(Code::Argument));
        }
        // SAFETY: as above.
        let found = unsafe { held(trust) }?.store()?;
        // SAFETY: as above.
        unsafe { write(store, Arc::into_raw(found)) }
    };
    // SAFETY: as above.
    unsafe { answer(error, find) }
}

/// See windlass.h.
///
/// # Safety
/// `trust` is null or a reference of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_trust_retain(trust: *const Trust) -> *const Trust {
    // SAFETY: as above.
    unsafe { retain(trust) }
}

/// See windlass.h.
///
/// # Safety
/// `trust` is null or a reference of the caller, who gives it up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_trust_release(trust: *const Trust) {
    // SAFETY: as above.
    unsafe { release(trust) }
}
