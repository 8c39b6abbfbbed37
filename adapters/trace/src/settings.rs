//! Whether anything is recorded in this process, and where.

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static FILE: AtomicPtr<File> = AtomicPtr::new(ptr::null_mut());

/// Where to write.
pub struct File {
    /// Its path.
    pub path: CString,
    /// Device and inode, if those were told: a file of the same name that somebody made when the first was gone is not the one.
    pub identity: Option<(u64, u64)>,
}

/// The file to write to, if there is anything to write.
///
/// Found out once: a program may change its environment later, and other threads may read that at the same time.
pub fn file() -> Option<&'static File> {
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

fn known() -> Option<&'static File> {
    let file = FILE.load(Ordering::Acquire);
    // SAFETY: only pointers from Box::into_raw are stored, and none is ever freed.
    unsafe { file.as_ref() }
}

fn from_environment() -> Option<&'static File> {
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
    // SAFETY: as above.
    let told = unsafe { secure_getenv(c"WINDLASS_TRACE_FILE".as_ptr()) };
    let identity = if told.is_null() {
        None
    } else {
        // SAFETY: as above.
        Some(identity(unsafe { CStr::from_ptr(told) }.to_str().ok()?)?)
    };
    let file = Box::into_raw(Box::new(File { path: CString::from(value), identity }));
    if FILE.compare_exchange(ptr::null_mut(), file, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: made above and not published.
        drop(unsafe { Box::from_raw(file) });
    }
    known()
}

/// "DEVICE:INODE".
fn identity(text: &str) -> Option<(u64, u64)> {
    let (device, inode) = text.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
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
