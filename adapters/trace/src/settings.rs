//! Whether anything is recorded in this process, and where.

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static FILE: AtomicPtr<File> = AtomicPtr::new(ptr::null_mut());

/// Where to write.
pub struct File {
    /// Its path.
    pub path: CString,
    /// Device and inode, if those were told: a file of the same name that somebody made when the first was gone is not
    /// the one.
    pub identity: Option<(u64, u64)>,
}

/// The file to write to, if there is anything to write.
pub fn file() -> Option<&'static File> {
    // SAFETY: only a pointer from Box::into_raw is stored, and never freed.
    unsafe { FILE.load(Ordering::Acquire).as_ref() }
}

/// Whether anything is recorded.
pub fn enabled() -> bool {
    file().is_some()
}

/// Decides, when the library is loaded, whether anything is recorded. `environment` is what the constructor was given,
/// or null: a program may change it later.
pub fn decide(environment: *const *const c_char) -> bool {
    // Not under secure execution: the variable may be that of a less privileged user.
    // SAFETY: getauxval has no preconditions.
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

/// The first variable that begins so.
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
        // SAFETY: this was not the null pointer at the end.
        at = unsafe { at.add(1) };
    }
    None
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

/// A variable of the environment as OpenSSL reads it (`ossl_safe_getenv`): at each call, nothing under secure
/// execution.
pub fn environment(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: NUL-terminated name.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: a value of the environment is NUL-terminated; it is copied at once.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
}
