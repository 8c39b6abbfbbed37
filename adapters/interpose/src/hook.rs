//! Hooking a foreign function: one macro, one guard.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::reserve;

/// Calls the function that a call would have reached without us. `$forward`, called with these arguments before its
/// own, finds it; the adapters wrap this.
#[macro_export]
macro_rules! call_original {
    ($forward:path, ($($of:expr),*), $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        match $forward(
            $($of,)*
            $crate::name!($name),
            |originals| originals.$name,
        ) {
            Some(function) => {
                // Any function called from there may unwind through the hook.
                $crate::unwinding::prepare();
                // SAFETY: the arguments that the program passed for this very function.
                unsafe { function($($arg),*) }
            }
            None => $failure,
        }
    };
}

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs the body of a handler. Returns `None` if this thread is already inside a hook, in which case the body does not
/// run (a foreign library is then calling itself through its PLT on our behalf), or if the body panics. The caller then
/// goes on with the original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if INSIDE.get() > 0 {
        return None;
    }
    shielded(part)
}

/// As [`guarded`], but runs the body in any case: for work that must be done on an object that is known to be ours to
/// serve.
pub fn shielded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    let _errno = KeptErrno::new();
    let _chunk = reserve::claim();
    let _inside = inside();
    let _uncancelled = uncancelled();
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(None)
}

/// Restores `errno`: CPython clears it, calls a loading function, and takes its value as the reason of a failure
/// (_ssl.c, load_verify_locations). The original sets it after this, as without us.
pub struct KeptErrno(c_int);

impl KeptErrno {
    /// Saves the current value.
    pub fn new() -> KeptErrno {
        // SAFETY: the location is this thread's own.
        KeptErrno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// Keeps `pthread_cancel` off this thread until the value is dropped: its forced unwinding can't pass a frame that
/// catches panics. Originals are called outside of this, through functions that may unwind.
pub fn uncancelled() -> Uncancelled {
    let mut previous = 0;
    // SAFETY: changes this thread's own state, which `drop` restores.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut previous) };
    Uncancelled { previous }
}

/// See [`uncancelled`].
pub struct Uncancelled {
    previous: c_int,
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(self.previous, std::ptr::null_mut()) };
    }
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, previous: *mut c_int) -> c_int;
}

/// Whether this thread is inside one of our hooks.
pub fn is_inside() -> bool {
    INSIDE.get() > 0
}

/// Marks this thread as inside until the value is dropped: hooks reached meanwhile go straight to their originals.
pub fn inside() -> Inside {
    Inside(INSIDE.replace(INSIDE.get() + 1))
}

/// Marks this thread as not inside until the value is dropped: a foreign library has called code of the program.
pub fn outside() -> Inside {
    Inside(INSIDE.replace(0))
}

/// See [`inside`] and [`outside`]: the previous state. Code of the program may jump (`longjmp`) over the frames in
/// between.
pub struct Inside(u32);

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}
