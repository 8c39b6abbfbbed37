//! The function lists, and how a program gets them (PKCS#11 3.0, 5.4): version 2.40 by C_GetFunctionList, 2.40 and 3.0
//! by C_GetInterface. These are the only names that the library exports.

use std::ffi::{CStr, c_char};
use std::ptr;

use cryptoki_sys::*;

use crate::absent::{self, Absent};
use crate::call::{Refusal, answer, write, write_list};
use crate::{general, object, session, slot};

pub const VERSION_2_40: CK_VERSION = CK_VERSION { major: 2, minor: 40 };
pub const VERSION_3_0: CK_VERSION = CK_VERSION { major: 3, minor: 0 };

/// The standard's own interface, as opposed to vendors'.
const NAME: &CStr = c"PKCS 11";

/// Returns the function list of version 2.40.
///
/// # Safety
/// `functions` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetFunctionList(functions: *mut *mut CK_FUNCTION_LIST) -> CK_RV {
    // SAFETY: as above.
    answer(|| unsafe { write(functions, ptr::from_ref(&FUNCTIONS).cast_mut()) })
}

/// Returns the number of interfaces, or all of them if there is room.
///
/// # Safety
/// `count` is null or valid for reads and writes; `interfaces` is null or has room for that many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterfaceList(interfaces: *mut CK_INTERFACE, count: *mut CK_ULONG) -> CK_RV {
    // SAFETY: as above.
    answer(|| unsafe { write_list(interfaces, count, &INTERFACES.0) })
}

/// Returns the interface of a name and version.
///
/// # Safety
/// `name` is null or a string; `version` is null or valid for reads; `interface` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterface(
    name: *mut CK_UTF8CHAR,
    version: *mut CK_VERSION,
    interface: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> CK_RV {
    answer(|| {
        // SAFETY: the caller's.
        let is_ours = name.is_null() || unsafe { CStr::from_ptr(name.cast::<c_char>()) } == NAME;
        // SAFETY: the caller's.
        let wanted = unsafe { version.as_ref() };
        let fits = |have: &CK_VERSION| wanted.is_none_or(|want| (want.major, want.minor) == (have.major, have.minor));
        let found = INTERFACES.0.iter().zip(&VERSIONS).find(|(_, version)| fits(version));
        match found {
            // No flags are supported: a child has to initialise the module anew.
            Some((found, _)) if is_ours && flags == 0 => {
                // SAFETY: the caller's.
                unsafe { write(interface, ptr::from_ref(found).cast_mut()) }
            }
            _ => Err(Refusal(CKR_FUNCTION_FAILED)),
        }
    })
}

/// The interfaces in order of preference. They hold pointers to constants, and nobody writes to them.
struct Interfaces([CK_INTERFACE; 2]);

// SAFETY: it only points to constants.
unsafe impl Sync for Interfaces {}

static INTERFACES: Interfaces = Interfaces([
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut().cast(),
        pFunctionList: ptr::from_ref(&FUNCTIONS_3_0).cast_mut().cast(),
        flags: 0,
    },
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut().cast(),
        pFunctionList: ptr::from_ref(&FUNCTIONS).cast_mut().cast(),
        flags: 0,
    },
]);

const VERSIONS: [CK_VERSION; 2] = [VERSION_3_0, VERSION_2_40];

/// Both lists begin with the same functions; their C_GetInfo return different versions.
macro_rules! functions {
    ($list:ident { $version:expr, $info:expr, $($name:ident: $function:expr),* $(,)? }) => {
        $list {
            version: $version,
            C_GetInfo: Some($info),
            C_Initialize: Some(general::initialize),
            C_Finalize: Some(general::finalize),
            C_GetFunctionList: Some(C_GetFunctionList),
            C_GetSlotList: Some(slot::get_slot_list),
            C_GetSlotInfo: Some(slot::get_slot_info),
            C_GetTokenInfo: Some(slot::get_token_info),
            C_GetMechanismList: Some(slot::get_mechanism_list),
            C_GetMechanismInfo: Some(slot::get_mechanism_info),
            C_InitToken: Absent::READ_ONLY,
            C_InitPIN: Absent::READ_ONLY,
            C_SetPIN: Absent::READ_ONLY,
            C_OpenSession: Some(session::open_session),
            C_CloseSession: Some(session::close_session),
            C_CloseAllSessions: Some(session::close_all_sessions),
            C_GetSessionInfo: Some(session::get_session_info),
            C_GetOperationState: Absent::UNSUPPORTED,
            C_SetOperationState: Absent::UNSUPPORTED,
            C_Login: Some(session::login),
            C_Logout: Some(session::logout),
            C_CreateObject: Absent::READ_ONLY,
            C_CopyObject: Absent::READ_ONLY,
            C_DestroyObject: Absent::READ_ONLY,
            C_GetObjectSize: Some(object::get_object_size),
            C_GetAttributeValue: Some(object::get_attribute_value),
            C_SetAttributeValue: Absent::READ_ONLY,
            C_FindObjectsInit: Some(object::find_objects_init),
            C_FindObjects: Some(object::find_objects),
            C_FindObjectsFinal: Some(object::find_objects_final),
            C_EncryptInit: Absent::UNSUPPORTED,
            C_Encrypt: Absent::UNSUPPORTED,
            C_EncryptUpdate: Absent::UNSUPPORTED,
            C_EncryptFinal: Absent::UNSUPPORTED,
            C_DecryptInit: Absent::UNSUPPORTED,
            C_Decrypt: Absent::UNSUPPORTED,
            C_DecryptUpdate: Absent::UNSUPPORTED,
            C_DecryptFinal: Absent::UNSUPPORTED,
            C_DigestInit: Absent::UNSUPPORTED,
            C_Digest: Absent::UNSUPPORTED,
            C_DigestUpdate: Absent::UNSUPPORTED,
            C_DigestKey: Absent::UNSUPPORTED,
            C_DigestFinal: Absent::UNSUPPORTED,
            C_SignInit: Absent::UNSUPPORTED,
            C_Sign: Absent::UNSUPPORTED,
            C_SignUpdate: Absent::UNSUPPORTED,
            C_SignFinal: Absent::UNSUPPORTED,
            C_SignRecoverInit: Absent::UNSUPPORTED,
            C_SignRecover: Absent::UNSUPPORTED,
            C_VerifyInit: Absent::UNSUPPORTED,
            C_Verify: Absent::UNSUPPORTED,
            C_VerifyUpdate: Absent::UNSUPPORTED,
            C_VerifyFinal: Absent::UNSUPPORTED,
            C_VerifyRecoverInit: Absent::UNSUPPORTED,
            C_VerifyRecover: Absent::UNSUPPORTED,
            C_DigestEncryptUpdate: Absent::UNSUPPORTED,
            C_DecryptDigestUpdate: Absent::UNSUPPORTED,
            C_SignEncryptUpdate: Absent::UNSUPPORTED,
            C_DecryptVerifyUpdate: Absent::UNSUPPORTED,
            C_GenerateKey: Absent::UNSUPPORTED,
            C_GenerateKeyPair: Absent::UNSUPPORTED,
            C_WrapKey: Absent::UNSUPPORTED,
            C_UnwrapKey: Absent::UNSUPPORTED,
            C_DeriveKey: Absent::UNSUPPORTED,
            C_SeedRandom: Absent::UNSUPPORTED,
            C_GenerateRandom: Absent::UNSUPPORTED,
            C_GetFunctionStatus: Absent::NOT_PARALLEL,
            C_CancelFunction: Absent::NOT_PARALLEL,
            C_WaitForSlotEvent: Some(absent::wait_for_slot_event),
            $($name: $function),*
        }
    };
}

static FUNCTIONS: CK_FUNCTION_LIST = functions!(CK_FUNCTION_LIST { VERSION_2_40, general::get_info, });

static FUNCTIONS_3_0: CK_FUNCTION_LIST_3_0 = functions!(CK_FUNCTION_LIST_3_0 {
    VERSION_3_0,
    general::get_info_3,
    C_GetInterfaceList: Some(C_GetInterfaceList),
    C_GetInterface: Some(C_GetInterface),
    C_LoginUser: Some(session::login_user),
    C_SessionCancel: Some(session::session_cancel),
    C_MessageEncryptInit: Absent::UNSUPPORTED,
    C_EncryptMessage: Absent::UNSUPPORTED,
    C_EncryptMessageBegin: Absent::UNSUPPORTED,
    C_EncryptMessageNext: Absent::UNSUPPORTED,
    C_MessageEncryptFinal: Absent::UNSUPPORTED,
    C_MessageDecryptInit: Absent::UNSUPPORTED,
    C_DecryptMessage: Absent::UNSUPPORTED,
    C_DecryptMessageBegin: Absent::UNSUPPORTED,
    C_DecryptMessageNext: Absent::UNSUPPORTED,
    C_MessageDecryptFinal: Absent::UNSUPPORTED,
    C_MessageSignInit: Absent::UNSUPPORTED,
    C_SignMessage: Absent::UNSUPPORTED,
    C_SignMessageBegin: Absent::UNSUPPORTED,
    C_SignMessageNext: Absent::UNSUPPORTED,
    C_MessageSignFinal: Absent::UNSUPPORTED,
    C_MessageVerifyInit: Absent::UNSUPPORTED,
    C_VerifyMessage: Absent::UNSUPPORTED,
    C_VerifyMessageBegin: Absent::UNSUPPORTED,
    C_VerifyMessageNext: Absent::UNSUPPORTED,
    C_MessageVerifyFinal: Absent::UNSUPPORTED,
});
