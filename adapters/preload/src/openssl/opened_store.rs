//! The private store in which the default directory is opened as an OSSL_STORE (see `default_store`).

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::openssl::api::{X509_L_ADD_STORE, X509_LOOKUP, X509_STORE};
use crate::openssl::libcrypto::{Libcrypto, Served};

/// The private store of one watched store.
#[derive(Default)]
pub struct DefaultStore {
    directory: AtomicPtr<CString>,
    opened: AtomicPtr<Opened>,
    /// Set when the program has URIs of its own.
    pub original: AtomicBool,
}

/// The private store, opened.
pub struct Opened {
    /// The private store.
    pub store: *mut X509_STORE,
    /// Its lookup.
    pub lookup: *mut X509_LOOKUP,
}

impl DefaultStore {
    /// The directory; None if it is not known yet.
    pub fn directory(&self) -> Option<&CString> {
        // SAFETY: set once, freed with the state.
        unsafe { self.directory.load(Ordering::Acquire).as_ref() }
    }

    /// Notes the directory, if none is known.
    pub fn set_directory(&self, directory: CString) {
        let fresh = Box::into_raw(Box::new(directory));
        let none = ptr::null_mut();
        if self.directory.compare_exchange(none, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: not published.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// The private store, created at the first call. No lock is held: code of providers opens the directory.
    pub fn open(&self, library: &Libcrypto, served: &Served) -> Option<&Opened> {
        // SAFETY: set once; freed with the state.
        if let Some(opened) = unsafe { self.opened.load(Ordering::Acquire).as_ref() } {
            return Some(opened);
        }
        let (method, ctrl) = (library.originals.X509_LOOKUP_store?, library.originals.X509_LOOKUP_ctrl_ex?);
        let directory = self.directory()?;
        let api = &served.api;
        // SAFETY: a store of our own; no one else knows it before it is published.
        unsafe {
            let store = (api.X509_STORE_new)();
            if store.is_null() {
                return None;
            }
            let lookup = (api.X509_STORE_add_lookup)(store, method());
            let usable = !lookup.is_null()
                && ctrl(lookup, X509_L_ADD_STORE, directory.as_ptr(), 0, ptr::null_mut(), ptr::null_mut(), ptr::null())
                    == 1;
            if !usable {
                (api.X509_STORE_free)(store);
                return None;
            }
            let opened = Box::into_raw(Box::new(Opened { store, lookup }));
            let known = self.opened.compare_exchange(ptr::null_mut(), opened, Ordering::AcqRel, Ordering::Acquire);
            known.map_or_else(
                |known| {
                    // Another thread was faster.
                    (api.X509_STORE_free)(Box::from_raw(opened).store);
                    known.as_ref()
                },
                |_| opened.as_ref(),
            )
        }
    }

    /// Frees the private store.
    ///
    /// # Safety
    /// No lookup of the store that this belongs to is or will be under way.
    pub unsafe fn close(&self, served: &Served) {
        let opened = self.opened.swap(ptr::null_mut(), Ordering::AcqRel);
        let directory = self.directory.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: made by Box::into_raw; nobody uses them any more, as the caller states.
        unsafe {
            if !directory.is_null() {
                drop(Box::from_raw(directory));
            }
            if !opened.is_null() {
                (served.api.X509_STORE_free)(Box::from_raw(opened).store);
            }
        }
    }
}
