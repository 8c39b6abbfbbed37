//! Whether anything is recorded in this process, and in which file.

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static FILE: AtomicPtr<File> = AtomicPtr::new(ptr::null_mut());

/// The file to write to.
pub struct File {
    /// Its path.
    pub path: CString,
    /// Its device and inode, if given: after the file is gone, another file created under its name is not the same.
    pub identity: Option<(u64, u64)>,
}

/// The file to write to; None if nothing is recorded.
pub fn file() -> Option<&'static File> {
    // SAFETY: only a pointer from Box::into_raw is stored, and never freed.
    unsafe { FILE.load(Ordering::Acquire).as_ref() }
}

/// Whether anything is recorded.
pub fn enabled() -> bool {
    file().is_some()
}

/// Decides, when the library is loaded, whether anything is recorded. `environment` is the argument of the constructor,
/// or null: a program may change its environment later.
pub fn decide(environment: *const *const c_char) -> bool {
    // Not under secure execution: the variable may come from a less privileged user. SAFETY: getauxval has no
    // preconditions.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let Some(file) = (!secure).then(|| from_environment(environment)).flatten() else { return false };
    // A panic message would go to the program's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
    FILE.store(Box::into_raw(Box::new(file)), Ordering::Release);
    true
}

fn from_environment(environment: *const *const c_char) -> Option<File> {
    // SAFETY: the environment of a process.
    let value = |name| unsafe { variable(environment, name) };
    // An auditor sees, and decides, where a slot leads when it is bound (rtld-audit(7)).
    if value(b"LD_AUDIT=").is_some_and(|auditors| !auditors.is_empty()) {
        return None;
    }
    let path = value(b"WINDLASS_TRACE=").filter(|path| path.first() == Some(&b'/'))?;
    let identity = match value(b"WINDLASS_TRACE_FILE=") {
        Some(told) => Some(identity(std::str::from_utf8(told).ok()?)?),
        None => None,
    };
    Some(File { path: CString::new(path).ok()?, identity })
}

/// The rest of the first variable that begins with `name`.
///
/// # Safety
/// Null, or pointers to strings, ended by a null pointer.
unsafe fn variable(environment: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    let mut at = environment;
    // SAFETY: as the caller states.
    while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| !entry.is_null()) {
        // SAFETY: as above.
        if let Some(value) = unsafe { CStr::from_ptr(*entry) }.to_bytes().strip_prefix(name) {
            return Some(value);
        }
        // SAFETY: this entry was not the null pointer at the end.
        at = unsafe { at.add(1) };
    }
    None
}

/// Parses "DEVICE:INODE".
fn identity(text: &str) -> Option<(u64, u64)> {
    let (device, inode) = text.split_once(':')?;
    Some((device.parse().ok()?, inode.parse().ok()?))
}

unsafe extern "C" {
    /// Present in glibc 2.17 and musl 1.1.24.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// An environment variable, as OpenSSL reads it (`ossl_safe_getenv`): at each call, and None under secure execution.
pub fn environment(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: NUL-terminated name.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: values in the environment are NUL-terminated; this one is copied at once.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
}
