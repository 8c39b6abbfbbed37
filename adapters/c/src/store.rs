//! A store: one state of a file, which never changes.

use std::ffi::c_int;
use std::sync::Arc;

use windlass::RootStore;

use crate::border::{answer, held, release, retain, write_fields};
use crate::error::{Code, Failure};
use crate::objects::Objects;

/// `windlass_store`. The reference count is the `Arc`'s.
pub struct Store {
    roots: Arc<RootStore>,
    pub objects: Objects,
}

impl Store {
    pub fn new(roots: Arc<RootStore>) -> Arc<Store> {
        Arc::new(Store { roots, objects: Objects::none() })
    }

    /// The state itself.
    pub fn roots(&self) -> &Arc<RootStore> {
        &self.roots
    }
}

/// `windlass_span`: bytes that live as long as a reference to their store.
#[repr(C)]
pub struct Span {
    bytes: *const u8,
    length: usize,
}

impl From<&[u8]> for Span {
    fn from(bytes: &[u8]) -> Span {
        Span { bytes: bytes.as_ptr(), length: bytes.len() }
    }
}

/// `windlass_anchor`.
#[repr(C)]
pub struct AnchorInfo {
    der: Span,
    subject: Span,
    issuer: Span,
    serial: Span,
    public_key_info: Span,
    subject_key_id: Span,
    not_before: i64,
    not_after: i64,
}

/// `windlass_crl`.
#[repr(C)]
pub struct CrlInfo {
    der: Span,
    issuer: Span,
    this_update: i64,
    next_update: i64,
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_retain(store: *const Store) -> *const Store {
    // SAFETY: as above.
    unsafe { retain(store) }
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller, who gives it up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_release(store: *const Store) {
    // SAFETY: as above.
    unsafe { release(store) }
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_anchor_count(store: *const Store) -> usize {
    // SAFETY: as above.
    unsafe { held(store) }.map_or(0, |store| store.roots.len())
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_crl_count(store: *const Store) -> usize {
    // SAFETY: as above.
    unsafe { held(store) }.map_or(0, |store| store.roots.crl_count())
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller; `anchor` is null or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_anchor(
    store: *const Store,
    index: usize,
    anchor: *mut AnchorInfo,
    size: usize,
) -> c_int {
    let tell = || {
        // SAFETY: as above.
        let found = unsafe { held(store) }?.roots.get(index).ok_or_else(|| Failure::new(Code::Argument))?;
        let info = AnchorInfo {
            der: found.der().into(),
            subject: found.raw_subject().as_bytes().into(),
            issuer: found.raw_issuer().as_bytes().into(),
            serial: found.serial().into(),
            public_key_info: found.spki().into(),
            subject_key_id: found.subject_key_id().unwrap_or_default().into(),
            not_before: found.not_before().seconds(),
            not_after: found.not_after().seconds(),
        };
        // SAFETY: as above.
        unsafe { write_fields(anchor, size, &info) }
    };
    // SAFETY: no error is written.
    unsafe { answer(std::ptr::null_mut(), tell) }
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller; `crl` is null or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_crl(
    store: *const Store,
    index: usize,
    crl: *mut CrlInfo,
    size: usize,
) -> c_int {
    let tell = || {
        // SAFETY: as above.
        let found = unsafe { held(store) }?.roots.crl(index).ok_or_else(|| Failure::new(Code::Argument))?;
        let info = CrlInfo {
            der: found.der().into(),
            issuer: found.raw_issuer().as_bytes().into(),
            this_update: found.this_update().seconds(),
            next_update: found.next_update().map_or(i64::MAX, |time| time.seconds()),
        };
        // SAFETY: as above.
        unsafe { write_fields(crl, size, &info) }
    };
    // SAFETY: no error is written.
    unsafe { answer(std::ptr::null_mut(), tell) }
}
