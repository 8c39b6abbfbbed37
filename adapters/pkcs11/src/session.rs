//! Session management (PKCS#11 3.0, 5.6).

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cryptoki_sys::*;

use crate::call::{Answer, Refusal, answer, write};
use crate::module::{self, Slot};
use crate::snapshot::{Object, Snapshot};

/// A session: a search, and the objects as its searches have seen them.
pub struct Session {
    pub slot: Arc<Slot>,
    seen: Mutex<Seen>,
    /// The handles that are still to be returned, in reverse. None if there is no search.
    pub search: Mutex<Option<Vec<CK_OBJECT_HANDLE>>>,
}

/// The newest search's objects, and those before the last change. More would let a session that is never closed, as a
/// JVM's, hold every state that there was.
#[derive(Default)]
struct Seen {
    newest: Option<Arc<Snapshot>>,
    earlier: Option<Arc<Snapshot>>,
}

impl Session {
    /// The objects as they are now, for a search.
    pub fn look(&self) -> Answer<Arc<Snapshot>> {
        let snapshot = self.slot.snapshot()?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, &snapshot)) {
            seen.earlier = seen.newest.replace(Arc::clone(&snapshot));
        }
        Ok(snapshot)
    }

    /// The objects that a handle of this session is about, and its object there.
    pub fn object(&self, handle: CK_OBJECT_HANDLE) -> Answer<(Arc<Snapshot>, Object)> {
        if self.seen.lock().unwrap_or_else(PoisonError::into_inner).newest.is_none() {
            // A handle of another session; valid here as long as nothing has changed.
            self.look()?;
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = [&seen.newest, &seen.earlier].into_iter().flatten().find_map(|snapshot| {
            let object = snapshot.object(handle).filter(|object| snapshot.view(*object).is_some())?;
            Some((Arc::clone(snapshot), object))
        });
        found.ok_or(Refusal(CKR_OBJECT_HANDLE_INVALID))
    }
}

/// `C_OpenSession`.
///
/// # Safety
/// `handle` is null or valid for writes.
pub unsafe extern "C" fn open_session(
    slot: CK_SLOT_ID,
    flags: CK_FLAGS,
    _application: *mut c_void,
    _notify: CK_NOTIFY,
    handle: *mut CK_SESSION_HANDLE,
) -> CK_RV {
    answer(|| {
        if handle.is_null() {
            return Err(Refusal(CKR_ARGUMENTS_BAD));
        }
        let opened = module::current().with(|state| {
            let slot = Arc::clone(state.slot(slot)?);
            if flags & CKF_SERIAL_SESSION == 0 {
                return Err(Refusal(CKR_SESSION_PARALLEL_NOT_SUPPORTED));
            }
            if flags & CKF_RW_SESSION != 0 {
                return Err(Refusal(CKR_TOKEN_WRITE_PROTECTED));
            }
            Ok(state.open(Session { slot, seen: Mutex::default(), search: Mutex::new(None) }))
        })?;
        // SAFETY: the caller's.
        unsafe { write(handle, opened) }
    })
}

/// `C_CloseSession`.
///
/// # Safety
/// None.
pub unsafe extern "C" fn close_session(handle: CK_SESSION_HANDLE) -> CK_RV {
    answer(|| module::current().with(|state| state.close(handle)).map(drop))
}

/// `C_CloseAllSessions`.
///
/// # Safety
/// None.
pub unsafe extern "C" fn close_all_sessions(slot: CK_SLOT_ID) -> CK_RV {
    answer(|| {
        let closed = module::current().with(|state| {
            state.slot(slot)?;
            Ok(state.close_all(slot))
        });
        closed.map(drop)
    })
}

/// `C_GetSessionInfo`.
///
/// # Safety
/// `info` is null or valid for writes.
pub unsafe extern "C" fn get_session_info(handle: CK_SESSION_HANDLE, info: *mut CK_SESSION_INFO) -> CK_RV {
    answer(|| {
        let session = module::current().with(|state| state.session(handle))?;
        let told = CK_SESSION_INFO {
            slotID: session.slot.id,
            state: CKS_RO_PUBLIC_SESSION,
            flags: CKF_SERIAL_SESSION,
            ulDeviceError: 0,
        };
        // SAFETY: the caller's.
        unsafe { write(info, told) }
    })
}

/// `C_Login`. Everybody may read and nobody may do more: p11-kit-trust and NSS's own module refuse a user in the same
/// way.
///
/// # Safety
/// None; the PIN is not read.
pub unsafe extern "C" fn login(
    handle: CK_SESSION_HANDLE,
    _user: CK_USER_TYPE,
    _pin: *mut CK_UTF8CHAR,
    _pin_len: CK_ULONG,
) -> CK_RV {
    answer(|| module::current().with(|state| state.session(handle)).and(Err(Refusal(CKR_USER_TYPE_INVALID))))
}

/// `C_LoginUser`.
///
/// # Safety
/// None; neither name nor PIN is read.
pub unsafe extern "C" fn login_user(
    handle: CK_SESSION_HANDLE,
    _user: CK_USER_TYPE,
    _pin: *mut CK_UTF8CHAR,
    _pin_len: CK_ULONG,
    _name: *mut CK_UTF8CHAR,
    _name_len: CK_ULONG,
) -> CK_RV {
    answer(|| module::current().with(|state| state.session(handle)).and(Err(Refusal(CKR_USER_TYPE_INVALID))))
}

/// `C_Logout`.
///
/// # Safety
/// None.
pub unsafe extern "C" fn logout(handle: CK_SESSION_HANDLE) -> CK_RV {
    answer(|| module::current().with(|state| state.session(handle)).and(Err(Refusal(CKR_USER_NOT_LOGGED_IN))))
}

/// Ends a search, the only operation that a session can have.
///
/// # Safety
/// None.
pub unsafe extern "C" fn session_cancel(handle: CK_SESSION_HANDLE, flags: CK_FLAGS) -> CK_RV {
    answer(|| {
        let session = module::current().with(|state| state.session(handle))?;
        if flags & CKF_FIND_OBJECTS != 0 {
            session.search.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        Ok(())
    })
}
