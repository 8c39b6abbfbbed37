//! Functions that this token does not support. A program may call any function of the list, so none is null.

use std::ffi::c_void;

use cryptoki_sys::*;

/// A function of PKCS#11 that only returns an error.
pub trait Absent {
    /// Returns that the function is not supported.
    const UNSUPPORTED: Self;
    /// Returns that nothing can be changed.
    const READ_ONLY: Self;
    /// Returns that no function runs in parallel with its caller (PKCS#11 3.0, 5.21).
    const NOT_PARALLEL: Self;
}

macro_rules! absent {
    ($($argument:ident)*) => {
        impl<$($argument),*> Absent for Option<unsafe extern "C" fn($($argument),*) -> CK_RV> {
            const UNSUPPORTED: Self = {
                unsafe extern "C" fn refuse<$($argument),*>($(_: $argument),*) -> CK_RV {
                    CKR_FUNCTION_NOT_SUPPORTED
                }
                Some(refuse::<$($argument),*>)
            };
            const READ_ONLY: Self = {
                unsafe extern "C" fn refuse<$($argument),*>($(_: $argument),*) -> CK_RV {
                    CKR_TOKEN_WRITE_PROTECTED
                }
                Some(refuse::<$($argument),*>)
            };
            const NOT_PARALLEL: Self = {
                unsafe extern "C" fn refuse<$($argument),*>($(_: $argument),*) -> CK_RV {
                    CKR_FUNCTION_NOT_PARALLEL
                }
                Some(refuse::<$($argument),*>)
            };
        }
    };
}

absent!(A);
absent!(A B);
absent!(A B C);
absent!(A B C D);
absent!(A B C D E);
absent!(A B C D E F);
absent!(A B C D E F G);
absent!(A B C D E F G H);
absent!(A B C D E F G H I);
absent!(A B C D E F G H I J);

/// No token is ever inserted or removed.
///
/// # Safety
/// None; nothing is read or written.
pub unsafe extern "C" fn wait_for_slot_event(flags: CK_FLAGS, _slot: *mut CK_SLOT_ID, _reserved: *mut c_void) -> CK_RV {
    if flags & CKF_DONT_BLOCK != 0 { CKR_NO_EVENT } else { CKR_FUNCTION_NOT_SUPPORTED }
}
