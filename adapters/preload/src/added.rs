//! The certificates of `windlass run --add-ca`, which a process trusts beside the machine's own.
//!
//! `WINDLASS_ADD_CA` names a file of them. Whatever loads the machine's own trust gets that file as well, as if the program had
//! loaded it by one more call right behind; what loads anything else, a bundle of the program's own above all, gets nothing.
//! docs/add-ca.md has the rules and their reasons.

use std::ffi::{CStr, CString, OsStr, c_char};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::hook::{self, KeptErrno};
use crate::process;

/// Where distributions keep the machine's trust: bundles and directories, under the names by which programs load them. What
/// is a link to, or from, one of these is the same file, and found by that.
const DEFAULTS: [&str; 9] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs",
    "/usr/lib/ssl/cert.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// The file that is to be loaded now, if there is one, and if the call that asks is the program's own and not one that a
/// library makes on the way through another.
pub fn file() -> Option<&'static CStr> {
    let file = named()?;
    if hook::is_inside() || !process::enabled() {
        return None;
    }
    // Nothing of this is the program's business.
    let _errno = KeptErrno::new();
    (is_believed(file) && is_readable(file)).then_some(file)
}

/// Whether nobody else but root can have written it. A program can outlive `windlass run`, and then somebody could make a file
/// of that name.
fn is_believed(file: &CStr) -> bool {
    let Ok(metadata) = Path::new(OsStr::from_bytes(file.to_bytes())).metadata() else { return false };
    // SAFETY: no preconditions.
    let is_ours = metadata.uid() == 0 || metadata.uid() == unsafe { libc::geteuid() };
    metadata.is_file() && is_ours && metadata.mode() & 0o022 == 0
}

/// It may be out of reach here (another user, another mount namespace); no error is to be left where there was none.
fn is_readable(file: &CStr) -> bool {
    // SAFETY: NUL-terminated path.
    unsafe { libc::faccessat(libc::AT_FDCWD, file.as_ptr(), libc::R_OK, libc::AT_EACCESS) == 0 }
}

/// Whether a path leads to the machine's own trust.
pub fn is_default(path: &CStr) -> bool {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    if DEFAULTS.iter().any(|known| Path::new(known) == path) {
        return true;
    }
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let Ok(wanted) = path.metadata().map(identity) else { return false };
    DEFAULTS.iter().any(|known| Path::new(known).metadata().is_ok_and(|metadata| identity(metadata) == wanted))
}

/// Whether a file holds the added certificates already: `windlass run` puts all that it writes into one directory.
pub fn holds_them(path: &CStr) -> bool {
    let directory = named().and_then(|file| file.to_bytes().rsplitn(2, |byte| *byte == b'/').nth(1));
    let rest = directory.and_then(|directory| path.to_bytes().strip_prefix(directory));
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

/// What `WINDLASS_ADD_CA` names, as it was when this process first asked; nothing under secure execution.
fn named() -> Option<&'static CStr> {
    /// Stands for "nothing".
    static NOTHING: u8 = 0;
    static FILE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
    let nothing = (&raw const NOTHING).cast::<c_char>().cast_mut();
    let mut known = FILE.load(Ordering::Acquire);
    if known.is_null() {
        let value = process::environment(c"WINDLASS_ADD_CA").filter(|value| Path::new(value).is_absolute());
        let value = value.and_then(|value| CString::new(value.as_bytes()).ok());
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
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
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
