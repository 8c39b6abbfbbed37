//! Unwinding through our frames: a cancelled thread, or an exception of a program's callback.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prepares our copy of the compiler's unwinder. Cancelling a thread unwinds with the copy in libgcc_s.so, which calls
/// Rust's personality here. The personality sets registers by a table that our copy fills when it first unwinds by
/// itself, and aborts the process if it never has. Only the first call is costly. It is made with the linker's lock
/// held: if two threads filled the table at the same time, one could find it half filled.
pub fn prepare() {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if PREPARED.load(Ordering::Relaxed) {
        return;
    }
    unsafe extern "C" fn stop(_context: *mut c_void, _data: *mut c_void) -> c_int {
        URC_NORMAL_STOP
    }
    // SAFETY: the callback ends the walk in this very frame.
    unsafe { _Unwind_Backtrace(stop, ptr::null_mut()) };
    PREPARED.store(true, Ordering::Relaxed);
}

const URC_NORMAL_STOP: c_int = 4;

// The unwinder is linked in: loading libgcc_s.so.1 would cost every process more than everything else that a preloaded
// library does.
#[cfg_attr(target_env = "gnu", link(name = "gcc_eh", kind = "static", modifiers = "-bundle"))]
unsafe extern "C" {
    // Itanium C++ ABI, "Exception Handling".
    fn _Unwind_Backtrace(callback: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void)
    -> c_int;
}
