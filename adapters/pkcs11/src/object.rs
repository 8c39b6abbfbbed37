//! Object management (PKCS#11 3.0, 5.7): the functions that read.

use std::sync::PoisonError;

use cryptoki_sys::*;

use crate::call::{Refusal, answer, list, write, write_all};
use crate::module;
use crate::search::{self, Wanted};

/// `C_FindObjectsInit`.
///
/// # Safety
/// `template` points to `count` attributes whose values are valid for reads.
pub unsafe extern "C" fn find_objects_init(
    session: CK_SESSION_HANDLE,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> CK_RV {
    answer(|| {
        // SAFETY: the caller's.
        let template = unsafe { list(template, count) }?;
        let session = module::current().with(|state| state.session(session))?;
        let mut wanted = Vec::with_capacity(template.len());
        for attribute in template {
            // SAFETY: the caller's; not used after this call.
            let value = unsafe { list(attribute.pValue.cast::<u8>(), attribute.ulValueLen) }?;
            wanted.push(Wanted { attribute: attribute.type_, value });
        }
        let mut search = session.search.lock().unwrap_or_else(PoisonError::into_inner);
        if search.is_some() {
            return Err(Refusal(CKR_OPERATION_ACTIVE));
        }
        let mut found = search::find(&*session.look()?, &wanted);
        found.reverse();
        *search = Some(found);
        Ok(())
    })
}

/// `C_FindObjects`.
///
/// # Safety
/// `objects` has room for `most` handles; `count` is null or valid for writes.
pub unsafe extern "C" fn find_objects(
    session: CK_SESSION_HANDLE,
    objects: *mut CK_OBJECT_HANDLE,
    most: CK_ULONG,
    count: *mut CK_ULONG,
) -> CK_RV {
    answer(|| {
        if count.is_null() {
            return Err(Refusal(CKR_ARGUMENTS_BAD));
        }
        let session = module::current().with(|state| state.session(session))?;
        let mut search = session.search.lock().unwrap_or_else(PoisonError::into_inner);
        let search = search.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(search.len());
        let found: Vec<CK_OBJECT_HANDLE> = search.iter().rev().take(most).copied().collect();
        // SAFETY: the caller's; no more than there is room for.
        unsafe {
            write_all(objects, &found)?;
            write(count, found.len() as CK_ULONG)?;
        }
        search.truncate(search.len() - most);
        Ok(())
    })
}

/// `C_FindObjectsFinal`.
///
/// # Safety
/// None.
pub unsafe extern "C" fn find_objects_final(session: CK_SESSION_HANDLE) -> CK_RV {
    answer(|| {
        let session = module::current().with(|state| state.session(session))?;
        let search = session.search.lock().unwrap_or_else(PoisonError::into_inner).take();
        search.map(drop).ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))
    })
}

/// `C_GetAttributeValue`.
///
/// # Safety
/// `template` points to `count` attributes whose values are null or valid for writes of their length.
pub unsafe extern "C" fn get_attribute_value(
    session: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> CK_RV {
    answer(|| {
        // SAFETY: the caller's. Nothing is written before the last read of it.
        let mut told = unsafe { list(template, count) }?.to_vec();
        let session = module::current().with(|state| state.session(session))?;
        let (snapshot, object) = session.object(object)?;
        let object = snapshot.view(object).ok_or(Refusal(CKR_OBJECT_HANDLE_INVALID))?;
        let mut outcome = Ok(());
        // All attributes are processed, even if one fails.
        for wanted in &mut told {
            let room = std::mem::replace(&mut wanted.ulValueLen, CK_UNAVAILABLE_INFORMATION);
            let Some(value) = object.attribute(wanted.type_) else {
                outcome = Err(Refusal(CKR_ATTRIBUTE_TYPE_INVALID));
                continue;
            };
            let value = value.as_slice();
            let len = value.len() as CK_ULONG;
            if wanted.pValue.is_null() {
                wanted.ulValueLen = len;
            } else if room < len || room == CK_UNAVAILABLE_INFORMATION {
                outcome = Err(Refusal(CKR_BUFFER_TOO_SMALL));
            } else {
                // SAFETY: the caller's, and there is that much room.
                unsafe { write_all(wanted.pValue.cast::<u8>(), value) }?;
                wanted.ulValueLen = len;
            }
        }
        // SAFETY: the caller's; as many as were read.
        unsafe { write_all(template, &told) }?;
        outcome
    })
}

/// `C_GetObjectSize`: the size of the certificate or extension in bytes; other objects have no size of their own.
///
/// # Safety
/// `size` is null or valid for writes.
pub unsafe extern "C" fn get_object_size(
    session: CK_SESSION_HANDLE,
    object: CK_OBJECT_HANDLE,
    size: *mut CK_ULONG,
) -> CK_RV {
    answer(|| {
        let session = module::current().with(|state| state.session(session))?;
        let (snapshot, object) = session.object(object)?;
        let object = snapshot.view(object).ok_or(Refusal(CKR_OBJECT_HANDLE_INVALID))?;
        let value = object.attribute(CKA_VALUE);
        // SAFETY: the caller's.
        unsafe { write(size, value.map_or(0, |value| value.as_slice().len() as CK_ULONG)) }
    })
}
