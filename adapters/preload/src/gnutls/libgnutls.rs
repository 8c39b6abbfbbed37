//! The copies of libgnutls in this process, each with its own state.

use std::ffi::{CStr, c_void};
use std::ptr;

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{Copy, Family, Libraries};

use crate::gnutls::api::{Originals, Required};
use crate::hook::Caller;
use crate::labels::Bypass;
use crate::openssl::libcrypto::defined;

/// The oldest version that is served. 3.7.9 and 3.8 are tested.
const OLDEST: [u32; 3] = [3, 7, 0];
/// The first version that is not known yet.
const BEYOND: [u32; 3] = [3, 9, 0];

/// Functions that libgnutls itself calls, from other source files than the one defining them, to fill, read and free
/// lists. If these calls can be seen, then so can all calls that matter, even where a compiler has bound calls within a
/// file.
const INTERNAL_CALLS: [&CStr; 11] = [
    c"gnutls_x509_trust_list_add_trust_file",
    c"gnutls_x509_trust_list_add_trust_mem",
    c"gnutls_x509_trust_list_add_cas",
    c"gnutls_x509_trust_list_add_crls",
    c"gnutls_x509_trust_list_remove_cas",
    c"gnutls_x509_trust_list_deinit",
    c"gnutls_x509_trust_list_get_issuer",
    c"gnutls_x509_trust_list_get_issuer_by_dn",
    c"gnutls_x509_trust_list_get_issuer_by_subject_key_id",
    c"gnutls_x509_trust_list_verify_crt2",
    c"gnutls_ocsp_resp_verify",
];

/// The copies of libgnutls.
pub static LIBGNUTLS: Family =
    Family::new(&[Name::new(c"gnutls_x509_trust_list_init"), Name::new(c"gnutls_check_version")]);

static KNOWN: Libraries<Libgnutls> = Libraries::new(&LIBGNUTLS);

/// One loaded libgnutls.
pub struct Libgnutls {
    copy: &'static Copy,
    /// The originals of the hooked functions.
    pub originals: Originals,
    /// Everything needed for serving, or the reason why this copy is not served.
    pub served: Result<Served, Bypass>,
}

/// A libgnutls that can be served.
pub struct Served {
    /// Its functions.
    pub api: Required,
    /// Its variable `gnutls_free`.
    free: *const unsafe extern "C-unwind" fn(*mut c_void),
}

// SAFETY: function addresses, and the address of a variable that holds one and never changes (since GnuTLS 3.3).
unsafe impl Send for Libgnutls {}
// SAFETY: as above.
unsafe impl Sync for Libgnutls {}

impl Libgnutls {
    /// The libgnutls that a call is meant for.
    pub fn of_caller(caller: Caller) -> Option<&'static Libgnutls> {
        KNOWN.of(caller, Libgnutls::open)
    }

    /// See [`Copy::is_from_before`].
    pub fn is_from_before(&self) -> bool {
        self.copy.is_from_before()
    }

    /// Whether this libgnutls itself makes the call.
    pub fn contains(&self, caller: Caller) -> bool {
        caller.is_own() && ptr::eq(self.copy, LIBGNUTLS.copy(caller.copy()))
    }

    fn open(copy: &'static Copy) -> Option<Libgnutls> {
        let find = |name: &CStr| copy.find(Name::new(name)).map_or(ptr::null_mut(), |address| address as *mut c_void);
        // SAFETY: the names are GnuTLS', and the declarations in `api` are those of its headers.
        let originals = unsafe { Originals::load(find) }?;
        // SAFETY: as above.
        let api = unsafe { Required::load(find) };
        let free: *const unsafe extern "C-unwind" fn(*mut c_void) = find(c"gnutls_free").cast_const().cast();
        // The compiler binds some calls within a source file; the calls that matter come from other files.
        let shows_its_calls =
            || INTERNAL_CALLS.iter().all(|&call| LIBGNUTLS.sees_own_call(copy, Name::new(call))) && copy.pin();
        let served = match api {
            Some(api) if !free.is_null() && is_known_version(&api) => {
                if shows_its_calls() {
                    Ok(Served { api, free })
                } else {
                    Err(Bypass::HiddenCalls)
                }
            }
            _ => Err(Bypass::UnsupportedLibrary),
        };
        Some(Libgnutls { copy, originals, served })
    }
}

impl Served {
    /// `gnutls_free`.
    ///
    /// # Safety
    /// The memory was allocated by this libgnutls for its caller to free.
    pub unsafe fn free(&self, memory: *mut c_void) {
        // SAFETY: the variable always holds a function that accepts null and the results of the allocating functions.
        unsafe { (*self.free)(memory) };
    }
}

/// The function that a call would have reached without us: from the list's libgnutls, else from the one that the call
/// was meant for.
pub fn forward<F: core::marker::Copy>(
    library: Option<&'static Libgnutls>,
    caller: Caller,
    name: &CStr,
    pick: impl Fn(&Originals) -> Option<F>,
) -> Option<F> {
    if let Some(library) = library.or_else(|| Libgnutls::of_caller(caller)) {
        return pick(&library.originals);
    }
    defined(LIBGNUTLS.copy(caller.copy()), name)
}

/// Calls an original. The calls that it makes through libgnutls' PLT are seen: the hooks there prepare a list for them.
macro_rules! original {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!($crate::gnutls::libgnutls::forward, ($library, $caller), $name($($arg),*), or $failure)
    };
}
pub(crate) use original;

fn is_known_version(api: &Required) -> bool {
    // SAFETY: when no version is requested, the function returns its own, a constant string.
    let text = unsafe { (api.gnutls_check_version)(ptr::null()) };
    if text.is_null() {
        return false;
    }
    // SAFETY: as above.
    let version = parse_version(unsafe { CStr::from_ptr(text) }.to_bytes());
    version.is_some_and(|version| (OLDEST..BEYOND).contains(&version))
}

fn parse_version(text: &[u8]) -> Option<[u32; 3]> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(3, '.');
    let mut number = || {
        let part = parts.next()?;
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().ok()
    };
    Some([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version(b"3.7.9"), Some([3, 7, 9]));
        assert_eq!(parse_version(b"3.8.13-rc1"), Some([3, 8, 13]));
        assert_eq!(parse_version(b"3.8"), None);
        assert_eq!(parse_version(b"x.8.1"), None);
        let served = |text: &[u8]| parse_version(text).is_some_and(|version| (OLDEST..BEYOND).contains(&version));
        assert!(served(b"3.8.13") && served(b"3.7.0"));
        assert!(!served(b"3.6.16") && !served(b"3.9.0") && !served(b"4.0.0"));
    }
}
