//! Searches in a store. Each gives places, in the order of the file.

use std::ffi::c_int;
use std::ptr;

use windlass::{AnchorIndex, CanonicalName, RawName, RootStore};

use crate::border::{Answer, answer, bytes, held};
use crate::error::{Code, Failure};
use crate::store::Store;

/// Where the caller wants the result: `places` has room for that many.
struct Out {
    places: *mut usize,
    room: usize,
    count: *mut usize,
}

impl Out {
    /// Writes the places that there is room for, and the number of all.
    ///
    /// # Safety
    /// `places` is null or has that much room; `count` is null or valid for writes.
    unsafe fn fill(&self, found: impl Iterator<Item = usize>) -> Answer {
        if self.count.is_null() || self.places.is_null() && self.room > 0 {
            return Err(Failure::new(Code::Argument));
        }
        let mut count = 0;
        for place in found {
            if count < self.room {
                // SAFETY: within the caller's room.
                unsafe { self.places.add(count).write(place) };
            }
            count += 1;
        }
        // SAFETY: not null, and as above.
        unsafe { self.count.write(count) };
        Ok(())
    }
}

fn name(der: &[u8]) -> Answer<RawName<'_>> {
    RawName::from_der(der).map_err(|_| Failure::new(Code::Name))
}

fn canonical(der: &[u8]) -> Answer<CanonicalName> {
    CanonicalName::from_raw(name(der)?)
        .map_err(|error| Failure::new(if error.label() == "out-of-memory" { Code::Memory } else { Code::Name }))
}

/// The common part of all searches.
///
/// # Safety
/// `store` is null or a reference of the caller; `out` as for [`Out::fill`].
unsafe fn search<'s, I: Iterator<Item = usize>>(
    store: *const Store,
    out: &Out,
    find: impl FnOnce(&'s RootStore) -> Answer<I>,
) -> c_int {
    // Whoever does not look at the result finds nothing.
    // SAFETY: null, or valid for writes.
    if let Some(count) = unsafe { out.count.as_mut() } {
        *count = 0;
    }
    // SAFETY: as above; no error is written.
    unsafe { answer(ptr::null_mut(), || out.fill(find(held(store)?.roots())?)) }
}

/// See windlass.h.
///
/// # Safety
/// `subject` points to that many bytes; the rest as for [`search`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_by_subject(
    store: *const Store,
    subject: *const u8,
    length: usize,
    places: *mut usize,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        search(store, &Out { places, room, count }, |roots| {
            Ok(roots.by_subject(&canonical(bytes(subject, length)?)?).map(AnchorIndex::get))
        })
    }
}

/// See windlass.h.
///
/// # Safety
/// `key_id` points to that many bytes; the rest as for [`search`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_by_key_id(
    store: *const Store,
    key_id: *const u8,
    length: usize,
    places: *mut usize,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        search(store, &Out { places, room, count }, |roots| {
            Ok(roots.by_key_id(bytes(key_id, length)?).map(AnchorIndex::get))
        })
    }
}

/// See windlass.h.
///
/// # Safety
/// `issuer` and `serial` point to that many bytes; the rest as for [`search`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_by_issuer_and_serial(
    store: *const Store,
    issuer: *const u8,
    issuer_length: usize,
    serial: *const u8,
    serial_length: usize,
    places: *mut usize,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        search(store, &Out { places, room, count }, |roots| {
            let (issuer, serial) = (bytes(issuer, issuer_length)?, bytes(serial, serial_length)?);
            Ok(roots.by_issuer_and_serial(name(issuer)?, serial).map(AnchorIndex::get))
        })
    }
}

/// See windlass.h.
///
/// # Safety
/// As for [`search`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_shared_subjects(
    store: *const Store,
    places: *mut usize,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        search(store, &Out { places, room, count }, |roots| {
            Ok(roots.shared_subjects().iter().copied().map(AnchorIndex::get))
        })
    }
}

/// See windlass.h.
///
/// # Safety
/// `issuer` points to that many bytes; the rest as for [`search`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_crls_by_issuer(
    store: *const Store,
    issuer: *const u8,
    length: usize,
    places: *mut usize,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        search(store, &Out { places, room, count }, |roots| {
            Ok(roots.crls_by_issuer(&canonical(bytes(issuer, length)?)?))
        })
    }
}
