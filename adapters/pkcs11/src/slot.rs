//! Slot and token management (PKCS#11 3.0, 5.5). Each place has a slot, and the slot always has a token.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use cryptoki_sys::*;

use crate::call::{Refusal, answer, write, write_list};
use crate::general::{MANUFACTURER, library_version, padded};
use crate::module;

const MODEL: &[u8] = b"windlass-trust";
const SERIAL_NUMBER: &[u8] = b"1";

/// `C_GetSlotList`.
///
/// # Safety
/// `count` is null or valid for reads and writes; `slots` is null or has room for that many.
pub unsafe extern "C" fn get_slot_list(_present: CK_BBOOL, slots: *mut CK_SLOT_ID, count: *mut CK_ULONG) -> CK_RV {
    answer(|| {
        let ids: Vec<CK_SLOT_ID> =
            module::current().with(|state| Ok(state.slots().iter().map(|slot| slot.id).collect()))?;
        // SAFETY: the caller's.
        unsafe { write_list(slots, count, &ids) }
    })
}

/// `C_GetSlotInfo`.
///
/// # Safety
/// `info` is null or valid for writes.
pub unsafe extern "C" fn get_slot_info(id: CK_SLOT_ID, info: *mut CK_SLOT_INFO) -> CK_RV {
    answer(|| {
        let slot = module::current().with(|state| state.slot(id).map(Arc::clone))?;
        let told = CK_SLOT_INFO {
            slotDescription: padded(slot.path().as_os_str().as_bytes()),
            manufacturerID: padded(MANUFACTURER.as_bytes()),
            flags: CKF_TOKEN_PRESENT,
            hardwareVersion: library_version(),
            firmwareVersion: CK_VERSION { major: 0, minor: 0 },
        };
        // SAFETY: the caller's.
        unsafe { write(info, told) }
    })
}

/// `C_GetTokenInfo`.
///
/// # Safety
/// `info` is null or valid for writes.
pub unsafe extern "C" fn get_token_info(id: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) -> CK_RV {
    answer(|| {
        let slot = module::current().with(|state| state.slot(id).map(Arc::clone))?;
        let told = CK_TOKEN_INFO {
            label: padded(slot.label.as_bytes()),
            manufacturerID: padded(MANUFACTURER.as_bytes()),
            model: padded(MODEL),
            serialNumber: padded(SERIAL_NUMBER),
            // NSS accepts distrust dates only from a write-protected token.
            flags: CKF_TOKEN_INITIALIZED | CKF_WRITE_PROTECTED,
            ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
            ulSessionCount: CK_UNAVAILABLE_INFORMATION,
            ulMaxRwSessionCount: 0,
            ulRwSessionCount: CK_UNAVAILABLE_INFORMATION,
            ulMaxPinLen: 0,
            ulMinPinLen: 0,
            ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
            hardwareVersion: library_version(),
            firmwareVersion: CK_VERSION { major: 0, minor: 0 },
            utcTime: padded(b""),
        };
        // SAFETY: the caller's.
        unsafe { write(info, told) }
    })
}

/// `C_GetMechanismList`.
///
/// # Safety
/// `count` is null or valid for writes.
pub unsafe extern "C" fn get_mechanism_list(
    id: CK_SLOT_ID,
    _mechanisms: *mut CK_MECHANISM_TYPE,
    count: *mut CK_ULONG,
) -> CK_RV {
    answer(|| {
        module::current().with(|state| state.slot(id).map(|_| ()))?;
        // SAFETY: the caller's.
        unsafe { write(count, 0) }
    })
}

/// `C_GetMechanismInfo`.
///
/// # Safety
/// None; `info` is not written to.
pub unsafe extern "C" fn get_mechanism_info(
    id: CK_SLOT_ID,
    _mechanism: CK_MECHANISM_TYPE,
    _info: *mut CK_MECHANISM_INFO,
) -> CK_RV {
    answer(|| {
        module::current().with(|state| state.slot(id).map(|_| ()))?;
        Err(Refusal(CKR_MECHANISM_INVALID))
    })
}
