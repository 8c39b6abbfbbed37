//! Whether anything is recorded in this process, and where.

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static FILE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// The file to write to, if there is anything to write.
///
/// Found out once: a program may change its environment later, and other threads may read that at the same time.
pub fn file() -> Option<&'static CStr> {
    match STATE.load(Ordering::Acquire) {
        OFF => None,
        ON => known(),
        _ => {
            let file = from_environment();
            STATE.store(if file.is_some() { ON } else { OFF }, Ordering::Release);
            file
        }
    }
}

/// Whether anything is recorded.
pub fn enabled() -> bool {
    file().is_some()
}

fn known() -> Option<&'static CStr> {
    let file = FILE.load(Ordering::Acquire);
    // SAFETY: only strings from CString::into_raw are stored, and none is ever freed.
    (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) })
}

fn from_environment() -> Option<&'static CStr> {
    // Not under secure execution: the variable may be that of a less privileged user. (`secure_getenv` knows more cases than AT_SECURE.)
    // SAFETY: getauxval has no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: NUL-terminated name; the value is copied at once.
    let value = unsafe { secure_getenv(c"WINDLASS_TRACE".as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a value of the environment is NUL-terminated.
    let value = unsafe { CStr::from_ptr(value) };
    if value.to_bytes().first() != Some(&b'/') {
        return None;
    }
    // A panic message would go to the program's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
    let copy = CString::from(value).into_raw();
    if FILE.compare_exchange(ptr::null_mut(), copy, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: made above and not published.
        drop(unsafe { CString::from_raw(copy) });
    }
    known()
}

unsafe extern "C" {
    /// glibc 2.17, musl 1.1.24.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// A variable of the environment as OpenSSL reads it (`ossl_safe_getenv`): at each call, nothing under secure execution.
pub fn environment(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: NUL-terminated name.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: a value of the environment is NUL-terminated; it is copied at once.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
}
