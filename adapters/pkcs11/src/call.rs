//! The border to C: errors become return values, panics stop here, pointers are checked before they are used.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cryptoki_sys::{CK_RV, CK_ULONG, CKR_ARGUMENTS_BAD, CKR_BUFFER_TOO_SMALL, CKR_GENERAL_ERROR, CKR_OK};
use windlass_interpose::hook::uncancelled;

/// The reason why a call was refused: one of PKCS#11's return values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub CK_RV);

/// The result of an inner function.
pub type Answer<T = ()> = Result<T, Refusal>;

/// Runs the inner function of a call.
pub fn answer(call: impl FnOnce() -> Answer) -> CK_RV {
    // A cancelled thread ends in its next call of another library: its unwinding can't pass a frame that catches
    // panics.
    let _uncancelled = uncancelled();
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CKR_OK,
        Ok(Err(Refusal(value))) => value,
        Err(payload) => {
            // Dropping the payload may also panic.
            std::mem::forget(payload);
            CKR_GENERAL_ERROR
        }
    }
}

/// Reads an argument that the caller passes by pointer.
///
/// # Safety
/// `from` is null, or valid for reads of an initialised `T`.
pub unsafe fn read<T: Copy>(from: *const T) -> Answer<T> {
    if from.is_null() {
        return Err(Refusal(CKR_ARGUMENTS_BAD));
    }
    // SAFETY: not null, and as above.
    Ok(unsafe { from.read() })
}

/// Writes a result to the caller's memory, which need not be initialised.
///
/// # Safety
/// `to` is null, or valid for writes of a `T`.
pub unsafe fn write<T: Copy>(to: *mut T, value: T) -> Answer {
    // SAFETY: as above.
    unsafe { write_all(to, &[value]) }
}

/// As [`write()`], for several values.
///
/// # Safety
/// `to` is null, or valid for writes of as many `T`.
pub unsafe fn write_all<T: Copy>(to: *mut T, values: &[T]) -> Answer {
    if values.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(Refusal(CKR_ARGUMENTS_BAD));
    }
    // SAFETY: not null, and as above; the values are our own, so they do not overlap.
    unsafe { to.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    Ok(())
}

/// Writes a list to the caller's memory, and its length; without room for a list, only the length.
///
/// # Safety
/// `count` is null or valid for reads and writes; `to` is null or has room for that many `T`.
pub unsafe fn write_list<T: Copy>(to: *mut T, count: *mut CK_ULONG, values: &[T]) -> Answer {
    // SAFETY: as above; the count is an input only if there is room.
    let room = if to.is_null() { 0 } else { unsafe { read(count) }? };
    // SAFETY: as above.
    unsafe { write(count, values.len() as CK_ULONG) }?;
    if to.is_null() {
        return Ok(());
    }
    if room < values.len() as CK_ULONG {
        return Err(Refusal(CKR_BUFFER_TOO_SMALL));
    }
    // SAFETY: as above, and there is that much room.
    unsafe { write_all(to, values) }
}

/// A list in the caller's memory.
///
/// # Safety
/// `first` is null, or points to `count` initialised `T` that nobody writes to until the call returns.
pub unsafe fn list<'a, T>(first: *const T, count: CK_ULONG) -> Answer<&'a [T]> {
    let count = usize::try_from(count).map_err(|_| Refusal(CKR_ARGUMENTS_BAD))?;
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Refusal(CKR_ARGUMENTS_BAD));
    }
    // SAFETY: not null, and as above.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_return_value() {
        assert_eq!(answer(|| panic!("for the test")), CKR_GENERAL_ERROR);
        assert_eq!(answer(|| Ok(())), CKR_OK);
        assert_eq!(answer(|| Err(Refusal(7))), 7);
    }
}
