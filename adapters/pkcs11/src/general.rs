//! General-purpose functions (PKCS#11 3.0, 5.4).

use std::ffi::{CStr, c_char, c_void};

use cryptoki_sys::*;
use windlass_trust::paths_argument;

use crate::call::{Answer, Refusal, answer, write};
use crate::module;
use crate::places::places;

/// Begins with the text that GnuTLS requires of a module before it asks it for distrust ("PKCS#11 Kit", lib/pkcs11.c),
/// and differs from p11-kit's: of modules with the same information GnuTLS uses only one.
pub const MANUFACTURER: &str = "PKCS#11 Kit (Windlass)";
const DESCRIPTION: &str = "Windlass Trust Module";

/// `C_Initialize`.
///
/// # Safety
/// `arguments` is null or a CK_C_INITIALIZE_ARGS, its pReserved null or a string.
pub unsafe extern "C" fn initialize(arguments: *mut c_void) -> CK_RV {
    answer(|| {
        let mut paths = None;
        // SAFETY: the caller's.
        if let Some(arguments) = unsafe { arguments.cast::<CK_C_INITIALIZE_ARGS>().as_ref() } {
            let given = [
                arguments.CreateMutex.is_some(),
                arguments.DestroyMutex.is_some(),
                arguments.LockMutex.is_some(),
                arguments.UnlockMutex.is_some(),
            ];
            if given.contains(&true) && given.contains(&false) {
                return Err(Refusal(CKR_ARGUMENTS_BAD));
            }
            // We use the locks of the operating system. A caller that requires other locks can't have them; one that
            // needs none loses nothing.
            if given.contains(&true) && arguments.flags & CKF_OS_LOCKING_OK == 0 {
                return Err(Refusal(CKR_CANT_LOCK));
            }
            if !arguments.pReserved.is_null() {
                // SAFETY: the caller's; p11-kit and NSS pass a string.
                let text = unsafe { CStr::from_ptr(arguments.pReserved.cast::<c_char>()) };
                paths = paths_argument(text.to_bytes());
            }
        }
        module::current().initialize(|| places(paths.as_deref()));
        Ok(())
    })
}

/// `C_Finalize`.
///
/// # Safety
/// None; `reserved` is not read.
pub unsafe extern "C" fn finalize(reserved: *mut c_void) -> CK_RV {
    answer(|| if reserved.is_null() { module::current().finalize() } else { Err(Refusal(CKR_ARGUMENTS_BAD)) })
}

/// `C_GetInfo`.
///
/// # Safety
/// `info` is null or valid for writes.
pub unsafe extern "C" fn get_info(info: *mut CK_INFO) -> CK_RV {
    // SAFETY: as above.
    answer(|| unsafe { info_inner(info, crate::interface::VERSION_2_40) })
}

/// As [`get_info`], for the interface of 3.0.
///
/// # Safety
/// `info` is null or valid for writes.
pub unsafe extern "C" fn get_info_3(info: *mut CK_INFO) -> CK_RV {
    // SAFETY: as above.
    answer(|| unsafe { info_inner(info, crate::interface::VERSION_3_0) })
}

/// This crate's version.
pub fn library_version() -> CK_VERSION {
    let number = |text: &str| text.parse().unwrap_or(0);
    CK_VERSION { major: number(env!("CARGO_PKG_VERSION_MAJOR")), minor: number(env!("CARGO_PKG_VERSION_MINOR")) }
}

/// Text, padded with blanks, truncated if it is too long.
pub fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut out = [b' '; N];
    for (to, from) in out.iter_mut().zip(text) {
        *to = *from;
    }
    out
}

unsafe fn info_inner(info: *mut CK_INFO, version: CK_VERSION) -> Answer {
    module::current().with(|_| Ok(()))?;
    let told = CK_INFO {
        cryptokiVersion: version,
        manufacturerID: padded(MANUFACTURER.as_bytes()),
        flags: 0,
        libraryDescription: padded(DESCRIPTION.as_bytes()),
        libraryVersion: library_version(),
    };
    // SAFETY: the caller's.
    unsafe { write(info, told) }
}
