//! The native frames of this thread.

use std::ffi::{c_int, c_void};
use std::fmt::Write;

use windlass_interpose::object;

use crate::process;

const MOST: usize = 128;

struct Frames {
    addresses: [usize; MOST],
    count: usize,
}

/// The callers of a hooked function, innermost first, as JSON.
pub fn native() -> String {
    let mut frames = Frames { addresses: [0; MOST], count: 0 };
    // SAFETY: the callback keeps nothing and gets `frames` back, which outlives the call.
    unsafe { _Unwind_Backtrace(note, (&raw mut frames).cast()) };
    let process = process::current();
    let mut list = String::with_capacity(frames.count * 16 + 2);
    list.push('[');
    for address in &frames.addresses[..frames.count] {
        if let Some((module, offset)) = process.modules.locate(process.id, *address) {
            // Writing into a String can't fail.
            let _ = write!(list, "{}[{module},{offset}]", if list.len() > 1 { "," } else { "" });
        }
    }
    list.push(']');
    list
}

unsafe extern "C" fn note(context: *mut c_void, frames: *mut c_void) -> c_int {
    let mut before = 0;
    // SAFETY: the unwinder passes its context, and our own `Frames`.
    let (address, frames) = unsafe { (_Unwind_GetIPInfo(context, &mut before), &mut *frames.cast::<Frames>()) };
    // A return address is that of the next instruction, which may belong to another line or another function. In the frame of a
    // signal it is exact.
    let address = if before == 0 { address.wrapping_sub(1) } else { address };
    if !object::is_ours(address) {
        frames.addresses[frames.count] = address;
        frames.count += 1;
    }
    if frames.count < MOST { URC_NO_REASON } else { URC_NORMAL_STOP }
}

const URC_NO_REASON: c_int = 0;
const URC_NORMAL_STOP: c_int = 4;

unsafe extern "C" {
    // Itanium C++ ABI, "Exception Handling"; GCC's unwinder, which is linked in.
    fn _Unwind_Backtrace(callback: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void)
    -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
}
