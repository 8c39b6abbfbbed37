//! Ruby's frames, by the interface for profilers (debug.h: `rb_profile_frames`), on threads that hold the interpreter's
//! lock.

use std::ffi::{c_int, c_void};

use windlass_interpose::definitions::Name;

use super::frame::{Frame, MOST};

/// `VALUE`
type Value = usize;
type HasLock = unsafe extern "C" fn() -> c_int;
type ProfileFrames = unsafe extern "C" fn(c_int, c_int, *mut Value, *mut c_int) -> c_int;
type OfFrame = unsafe extern "C" fn(Value) -> Value;
type StringPointer = unsafe extern "C" fn(*mut Value) -> *const c_void;

/// The functions that identify an interpreter.
pub const FUNCTIONS: [Name<'static>; 5] = [
    Name::new(c"ruby_thread_has_gvl_p"),
    Name::new(c"rb_profile_frames"),
    Name::new(c"rb_profile_frame_path"),
    Name::new(c"rb_profile_frame_label"),
    Name::new(c"rb_string_value_ptr"),
];

/// The frames of this thread; `None` if it runs no Ruby.
pub fn frames(functions: &[usize]) -> Option<Vec<Frame>> {
    let [has_lock, frames, path, label, pointer] = *<&[usize; FUNCTIONS.len()]>::try_from(functions).ok()?;
    // SAFETY: Ruby's declarations for these names (include/ruby/debug.h, thread.h, internal/string.h).
    let (has_lock, frames, path, label, pointer) = unsafe {
        (
            std::mem::transmute::<usize, HasLock>(has_lock),
            std::mem::transmute::<usize, ProfileFrames>(frames),
            std::mem::transmute::<usize, OfFrame>(path),
            std::mem::transmute::<usize, OfFrame>(label),
            std::mem::transmute::<usize, StringPointer>(pointer),
        )
    };
    // SAFETY: returns 0 on threads that Ruby does not know and on those that have released the lock.
    if unsafe { has_lock() } == 0 {
        return None;
    }
    // On the stack, where the garbage collector looks for references.
    let (mut values, mut lines) = ([0; MOST], [0; MOST]);
    // SAFETY: this thread holds the lock; there is room for MOST of each.
    let count = unsafe { frames(0, MOST as c_int, values.as_mut_ptr(), lines.as_mut_ptr()) };
    let count = usize::try_from(count).ok()?.min(MOST);
    let found = (0..count).filter_map(|at| {
        // The frame below all others has no line.
        (lines[at] > 0).then_some(())?;
        // SAFETY: a frame that was just returned; both functions return strings that its code owns, or nil.
        let (file, function) = unsafe { (path(values[at]), label(values[at])) };
        // SAFETY: results of the functions above.
        let (file, function) = unsafe { (text(file, pointer)?, text(function, pointer).unwrap_or_default()) };
        Some(Frame { file, line: lines[at].into(), function })
    });
    Some(found.collect())
}

/// The bytes of a Ruby string, `None` for any other value.
///
/// # Safety
/// A value of Ruby's, and `rb_string_value_ptr`; this thread holds the interpreter's lock.
unsafe fn text(mut value: Value, pointer: StringPointer) -> Option<Vec<u8>> {
    const T_MASK: usize = 0x1f;
    const T_STRING: usize = 0x05;
    const LONGEST: usize = 4096;
    // Numbers, symbols, nil, true and false are not pointers: pointers are multiples of 8 beyond `Qnil`, `Qtrue` and
    // `Qundef`.
    if value & 7 != 0 || value < 4096 {
        return None;
    }
    // SAFETY: an object begins with its flags (`struct RBasic`).
    if unsafe { *(value as *const usize) } & T_MASK != T_STRING {
        return None;
    }
    // SAFETY: for a string, the function only returns the address of its bytes. Names of files and methods end with
    // NUL.
    unsafe {
        let start = pointer(&mut value).cast::<u8>();
        let length = libc::strnlen(start.cast(), LONGEST);
        Some(std::slice::from_raw_parts(start, length).to_vec())
    }
}
