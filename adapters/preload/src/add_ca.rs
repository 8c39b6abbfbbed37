//! The certificates of `windlass run --add-ca`, which a process trusts in addition to the machine's own.
//!
//! `WINDLASS_ADD_CA` names a file with them. A load of the machine's own trust also gets that file, as if the program
//! had loaded it by another call right afterwards. A load of anything else, above all a bundle of the program's own,
//! gets nothing. docs/add-ca.md has the rules and their reasons.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::hook::{self, KeptErrno};
use crate::process;

/// The places where distributions keep the machine's trust: bundles and directories, under the names that programs load
/// them by. A link to or from one of these is the same file, and is recognised as such.
const DEFAULTS: [&CStr; 9] = [
    c"/etc/ssl/certs/ca-certificates.crt",
    c"/etc/ssl/certs",
    c"/usr/lib/ssl/cert.pem",
    c"/etc/ssl/cert.pem",
    c"/etc/pki/tls/cert.pem",
    c"/etc/pki/tls/certs/ca-bundle.crt",
    c"/etc/pki/tls/certs",
    c"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    c"/etc/ssl/ca-bundle.pem",
];

/// The file to be loaded now, if there is one, and if the program itself makes the call, not a library on the way
/// through another function.
pub fn file() -> Option<&'static CStr> {
    let file = named()?;
    if hook::is_inside() || !process::enabled() {
        return None;
    }
    // The program must not see any of this in errno.
    let _errno = KeptErrno::new();
    is_believed(file).then_some(file)
}

/// Whether only root can have written it. A program can outlive `windlass run`, and then anyone could create a file of
/// that name. The file may also be out of reach here (another user, another mount namespace); this must leave no error
/// where there was none.
fn is_believed(file: &CStr) -> bool {
    let Some(status) = status(file, libc::O_RDONLY | libc::O_NONBLOCK) else { return false };
    let is_ours = status.st_uid == 0 || status.st_uid == process::first_user();
    status.st_mode & libc::S_IFMT == libc::S_IFREG && is_ours && status.st_mode & 0o022 == 0
}

/// The status of the file that a path leads to, determined by the calls that a load makes: open, fstat, close.
pub fn status(path: &CStr, flags: c_int) -> Option<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a NUL-terminated path, and room for the state, which is read only if it was written. What was opened is
    // closed again, and nobody else has it.
    unsafe {
        let opened = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC);
        if opened < 0 {
            return None;
        }
        let found = libc::fstat(opened, status.as_mut_ptr()) == 0;
        libc::close(opened);
        found.then(|| status.assume_init())
    }
}

/// Whether a path leads to the machine's own trust.
pub fn is_default(path: &CStr) -> bool {
    if DEFAULTS.contains(&path) {
        return true;
    }
    let identity = |path| status(path, libc::O_PATH).map(|status| (status.st_dev, status.st_ino));
    let Some(wanted) = identity(path) else { return false };
    DEFAULTS.into_iter().any(|known| identity(known) == Some(wanted))
}

/// Whether a file already holds the added certificates: `windlass run` puts everything that it writes into one
/// directory.
pub fn holds_them(path: &CStr) -> bool {
    let directory = named().and_then(|file| file.to_bytes().rsplitn(2, |byte| *byte == b'/').nth(1));
    let rest = directory.and_then(|directory| path.to_bytes().strip_prefix(directory));
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// The file that `WINDLASS_ADD_CA` names, as read at the first use in this process; None under secure execution.
fn named() -> Option<&'static CStr> {
    /// Stands for "nothing".
    static NOTHING: u8 = 0;
    static FILE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
    let nothing = (&raw const NOTHING).cast::<c_char>().cast_mut();
    let mut known = FILE.load(Ordering::Acquire);
    if known.is_null() {
        let value = process::environment(c"WINDLASS_ADD_CA").filter(|value| Path::new(value).is_absolute());
        let value = value.and_then(|value| CString::new(value.as_encoded_bytes()).ok());
        let fresh = value.map_or(nothing, CString::into_raw);
        known = match FILE.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(winner) => {
                if fresh != nothing {
                    // SAFETY: from `into_raw`, and not published.
                    drop(unsafe { CString::from_raw(fresh) });
                }
                winner
            }
        };
    }
    // SAFETY: a string from `into_raw` that is never freed.
    (known != nothing).then(|| unsafe { CStr::from_ptr(known) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("windlass-believed-{}", std::process::id()));
        fs::write(&path, "x").unwrap();
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        let found = [0o444, 0o464, 0o646].map(|mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            is_believed(&name)
        });
        fs::remove_file(&path).unwrap();
        assert_eq!(found, [true, false, false]);
        assert!(!is_believed(c"/dev/null") && !is_believed(c"/") && !is_believed(&name));
    }

    #[test]
    fn defaults_are_known_by_name_and_by_identity() {
        assert!(is_default(c"/etc/ssl/certs/ca-certificates.crt"));
        assert!(is_default(c"/etc/ssl/certs"));
        assert!(!is_default(c"/proc/self/exe") && !is_default(c"") && !is_default(c"/no/such/file"));
        if Path::new("/etc/ssl/certs").is_dir() {
            assert!(is_default(c"/etc/ssl/../ssl/certs/"));
        }
    }
}
