//! The border to C: errors become codes, panics stop here, pointers are checked before they are used.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use windlass_interpose::hook::{KeptErrno, uncancelled};
use windlass_interpose::{address_space, reserve};

use crate::error::{Code, ErrorInfo, Failure, tell};

/// The result of an inner function.
pub type Answer<T = ()> = Result<T, Failure>;

/// Called by the dynamic linker before anything else in this library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    address_space::prepare();
    // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
}

/// Runs the inner function of a call; None if it panics. `errno` is as before.
pub fn shielded<T>(call: impl FnOnce() -> T) -> Option<T> {
    let _errno = KeptErrno::new();
    let _chunk = reserve::claim();
    // A cancelled thread ends in its next call of another library: its unwinding can't pass a frame that catches
    // panics.
    let _uncancelled = uncancelled();
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Some(result),
        Err(payload) => {
            // Dropping the payload may also panic.
            std::mem::forget(payload);
            None
        }
    }
}

/// Runs the inner function of a call that returns a code.
///
/// # Safety
/// `error` is null or valid for writes.
pub unsafe fn answer(error: *mut ErrorInfo, call: impl FnOnce() -> Answer) -> c_int {
    let report = || {
        let Err(failure) = call() else { return Code::Ok };
        // SAFETY: as above.
        unsafe { tell(&failure, error) };
        failure.code
    };
    shielded(report).unwrap_or_else(|| {
        // SAFETY: as above.
        unsafe { tell(&Failure::new(Code::Internal), error) };
        Code::Internal
    }) as c_int
}

/// Bytes of the caller.
///
/// # Safety
/// `first` is null, or points to `len` bytes that nobody writes to until the call returns.
pub unsafe fn bytes<'a>(first: *const u8, len: usize) -> Answer<&'a [u8]> {
    if first.is_null() || len > isize::MAX as usize {
        return Err(Failure::new(Code::Argument));
    }
    // SAFETY: not null, and as above.
    Ok(unsafe { std::slice::from_raw_parts(first, len) })
}

/// Writes a result.
///
/// # Safety
/// `to` is null or valid for writes of a `T`.
pub unsafe fn write<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() {
        return Err(Failure::new(Code::Argument));
    }
    // SAFETY: not null, and as above.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a structure to a caller that may know fewer or more fields of it. It gets the fields that both know.
///
/// # Safety
/// `to` is null or valid for writes of `size` bytes. `T` has no padding.
pub unsafe fn write_fields<T>(to: *mut T, size: usize, value: &T) -> Answer {
    if to.is_null() {
        return Err(Failure::new(Code::Argument));
    }
    // SAFETY: both have that many bytes; the caller's memory is not ours, so they do not overlap.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(std::ptr::from_ref(value).cast(), size.min(size_of::<T>())) };
    Ok(())
}

/// An object that the caller holds a reference to.
///
/// # Safety
/// `object` is null, or a reference that `give` or [`retain`] returned and nobody has released.
pub unsafe fn held<'a, T>(object: *const T) -> Answer<&'a T> {
    // SAFETY: as above.
    unsafe { object.as_ref() }.ok_or_else(|| Failure::new(Code::Argument))
}

/// Adds a reference and returns the object.
///
/// # Safety
/// As for [`held`].
pub unsafe fn retain<T>(object: *const T) -> *const T {
    if !object.is_null() {
        // SAFETY: the caller holds a reference, so the count is not 0.
        unsafe { Arc::increment_strong_count(object) };
    }
    object
}

/// Releases a reference.
///
/// # Safety
/// As for [`held`].
pub unsafe fn release<T>(object: *const T) {
    if !object.is_null() {
        // SAFETY: the reference is the caller's, who gives it up. If it was the last, this drops the object.
        shielded(|| unsafe { Arc::decrement_strong_count(object) });
    }
}
