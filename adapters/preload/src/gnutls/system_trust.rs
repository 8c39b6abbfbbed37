//! After a load of the machine's own trust: the certificates of `windlass run --add-ca` (see `crate::add_ca`).
//!
//! GnuTLS loads every file by `gnutls_x509_trust_list_add_trust_file`: system trust, credentials, the files of a
//! directory. Where its internal calls can be seen, the hook of that function is enough, except for a directory that
//! holds no bundle. Elsewhere only the functions that call it can be seen. They are therefore hooked as well, and check
//! whether the inner call was seen.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

use crate::add_ca;
use crate::gnutls::api::{Credentials, FORMAT_PEM, INTERNAL_ERROR, List};
use crate::gnutls::libgnutls::original;
use crate::gnutls::load;
use crate::hook::{Caller, KeptErrno};
use crate::labels::Gnutls;
use crate::process;

/// The source that `gnutls_x509_trust_list_add_system_trust` loads where GnuTLS was built to ask p11-kit (Fedora): all
/// tokens that hold trust.
const SYSTEM_TOKENS: &CStr = c"pkcs11:";

thread_local! {
    /// The number of this thread's loads that the certificates were added to.
    static DONE: Cell<u32> = const { Cell::new(0) };
}

/// `gnutls_x509_trust_list_add_trust_file`. The result that the program sees includes the certificates that are added
/// after the file. GnuTLS drops certificates that a list has already (`GNUTLS_TL_NO_DUPLICATES` in
/// `gnutls_x509_trust_list_add_trust_mem`).
pub extern "C-unwind" fn add_trust_file(
    list: *mut List,
    ca_file: *const c_char,
    crl_file: *const c_char,
    format: c_uint,
    flags: c_uint,
    verify_flags: c_uint,
    caller: Caller,
) -> c_int {
    let result = load::trust_file(list, ca_file, crl_file, format, flags, verify_flags, caller);
    result
        + after(result, Loaded::Path(ca_file), DONE.get(), |file| {
            load::trust_file(list, file, ptr::null(), FORMAT_PEM, flags, verify_flags, caller)
        })
}

/// `gnutls_certificate_set_x509_system_trust`.
pub extern "C-unwind" fn credentials_system_trust(credentials: *mut Credentials, caller: Caller) -> c_int {
    let before = DONE.get();
    let result = original!(None, caller, gnutls_certificate_set_x509_system_trust(credentials), or INTERNAL_ERROR);
    result + after(result, Loaded::System, before, |file| load_for(credentials, file, caller))
}

/// `gnutls_certificate_set_x509_trust_file`.
pub extern "C-unwind" fn credentials_trust_file(
    credentials: *mut Credentials,
    file: *const c_char,
    format: c_uint,
    caller: Caller,
) -> c_int {
    let before = DONE.get();
    let result =
        original!(None, caller, gnutls_certificate_set_x509_trust_file(credentials, file, format), or INTERNAL_ERROR);
    result + after(result, Loaded::Path(file), before, |file| load_for(credentials, file, caller))
}

/// `gnutls_certificate_set_x509_trust_dir`.
pub extern "C-unwind" fn credentials_trust_dir(
    credentials: *mut Credentials,
    directory: *const c_char,
    format: c_uint,
    caller: Caller,
) -> c_int {
    let before = DONE.get();
    let result = original!(
        None,
        caller,
        gnutls_certificate_set_x509_trust_dir(credentials, directory, format),
        or INTERNAL_ERROR
    );
    result + after(result, Loaded::Path(directory), before, |file| load_for(credentials, file, caller))
}

/// `gnutls_x509_trust_list_add_system_trust`.
pub extern "C-unwind" fn list_system_trust(
    list: *mut List,
    flags: c_uint,
    verify_flags: c_uint,
    caller: Caller,
) -> c_int {
    let before = DONE.get();
    let result =
        original!(None, caller, gnutls_x509_trust_list_add_system_trust(list, flags, verify_flags), or INTERNAL_ERROR);
    result
        + after(result, Loaded::System, before, |file| {
            load::trust_file(list, file, ptr::null(), FORMAT_PEM, flags, verify_flags, caller)
        })
}

/// `gnutls_x509_trust_list_add_trust_dir`.
pub extern "C-unwind" fn list_trust_dir(
    list: *mut List,
    ca_directory: *const c_char,
    crl_directory: *const c_char,
    format: c_uint,
    flags: c_uint,
    verify_flags: c_uint,
    caller: Caller,
) -> c_int {
    let before = DONE.get();
    let result = original!(
        None,
        caller,
        gnutls_x509_trust_list_add_trust_dir(list, ca_directory, crl_directory, format, flags, verify_flags),
        or INTERNAL_ERROR
    );
    result
        + after(result, Loaded::Path(ca_directory), before, |file| {
            load::trust_file(list, file, ptr::null(), FORMAT_PEM, flags, verify_flags, caller)
        })
}

/// The source that a program has loaded.
enum Loaded {
    System,
    Path(*const c_char),
}

impl Loaded {
    fn is_default(&self) -> bool {
        match *self {
            Loaded::System => true,
            Loaded::Path(path) if path.is_null() => false,
            Loaded::Path(path) => {
                // SAFETY: the program passed a NUL-terminated path.
                let path = unsafe { CStr::from_ptr(path) };
                path == SYSTEM_TOKENS || add_ca::is_default(path)
            }
        }
    }
}

/// Adds the file, unless it was already added on the way since `before`. Returns the number of certificates in it.
fn after(result: c_int, loaded: Loaded, before: u32, load: impl FnOnce(*const c_char) -> c_int) -> c_int {
    if result < 0 || DONE.get() != before {
        return 0;
    }
    let Some(file) = add_ca::file() else { return 0 };
    let _errno = KeptErrno::new();
    if !loaded.is_default() {
        return 0;
    }
    DONE.set(before.wrapping_add(1));
    process::count(Gnutls::AddedCa, 1);
    load(file.as_ptr()).max(0)
}

fn load_for(credentials: *mut Credentials, file: *const c_char, caller: Caller) -> c_int {
    original!(None, caller, gnutls_certificate_set_x509_trust_file(credentials, file, FORMAT_PEM), or INTERNAL_ERROR)
}
