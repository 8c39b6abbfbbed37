//! Entry points that load a file or a buffer.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use windlass::{RootStore, Unsupported};
use windlass_gnutls::GnutlsProfile;

use crate::gnutls::api::{Datum, FORMAT_PEM, INTERNAL_ERROR, List};
use crate::gnutls::libgnutls::{Libgnutls, original};
use crate::gnutls::list::{ListState, Source, tracked};
use crate::gnutls::{fill, log, server};
use crate::hook::{Caller, guarded};
use crate::labels::{Bypass, Gnutls, Served as Entry};
use crate::process;

thread_local! {
    /// Set while the original of `trust_file` runs on this thread: its input was already examined.
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Handles a file of `gnutls_x509_trust_list_add_trust_file`.
///
/// A file that is not served goes to the original with the list as it is. If GnuTLS can't read or parse it, nothing is
/// added, and the list stays lazy; otherwise libgnutls calls `add_cas` or `add_crls`, whose hooks complete the list
/// first.
pub fn trust_file(
    list: *mut List,
    ca_file: *const c_char,
    crl_file: *const c_char,
    format: c_uint,
    flags: c_uint,
    verify_flags: c_uint,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    let served = serve(state, flags, caller, Entry::TrustFile, |state| {
        if !crl_file.is_null() {
            return Err(Bypass::CrlWithTrust);
        }
        if ca_file.is_null() {
            return Err(Bypass::Path);
        }
        // SAFETY: the program passes a NUL-terminated path.
        let path = unsafe { CStr::from_ptr(ca_file) };
        if is_pkcs11_url(path) {
            // No other function notes a token in the list.
            fill::complete(state);
            return Err(Bypass::Pkcs11Url);
        }
        if format != FORMAT_PEM {
            return Err(Bypass::FileType);
        }
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        process::cache().load_cafile(path).map_err(|error| Bypass::for_error(&error))
    });
    served.unwrap_or_else(|| {
        let _left = Left(LEFT.replace(true));
        let library = state.map(|state| state.library);
        original!(
            library,
            caller,
            gnutls_x509_trust_list_add_trust_file(list, ca_file, crl_file, format, flags, verify_flags),
            or INTERNAL_ERROR
        )
    })
}

/// `gnutls_x509_trust_list_add_trust_mem`.
pub extern "C-unwind" fn add_trust_mem(
    list: *mut List,
    cas: *const Datum,
    crls: *const Datum,
    format: c_uint,
    flags: c_uint,
    verify_flags: c_uint,
    caller: Caller,
) -> c_int {
    let state = tracked(list);
    // SAFETY: the program passes valid data or null.
    let (cas_bytes, crl_bytes) = unsafe { (bytes_of(cas), bytes_of(crls)) };
    let served = if LEFT.get() {
        None
    } else {
        serve(state, flags, caller, Entry::TrustMemory, |_| {
            if crl_bytes.is_some() {
                return Err(Bypass::CrlWithTrust);
            }
            let pem = cas_bytes.ok_or(Bypass::Path)?;
            if format != FORMAT_PEM {
                return Err(Bypass::FileType);
            }
            RootStore::from_pem(pem).map(Arc::new).map_err(|what| match what {
                Unsupported::OutOfMemory => Bypass::NoMemory,
                _ => Bypass::UnsupportedContent,
            })
        })
    };
    served.unwrap_or_else(|| {
        let library = state.map(|state| state.library);
        original!(
            library,
            caller,
            gnutls_x509_trust_list_add_trust_mem(list, cas, crls, format, flags, verify_flags),
            or INTERNAL_ERROR
        )
    })
}

/// Notes a load instead of performing it; returns the number of certificates that GnuTLS would have reported. `None`:
/// call the original.
fn serve(
    state: Option<&ListState>,
    flags: c_uint,
    caller: Caller,
    entry: Entry,
    load: impl FnOnce(&ListState) -> Result<Arc<RootStore>, Bypass>,
) -> Option<c_int> {
    guarded(|| {
        process::cache();
        let served = match state {
            None => Err(unwatched(caller)?),
            Some(state) if !state.is_lazy() => Err(Bypass::CompleteList),
            Some(state) => load(state).and_then(|roots| note(state, roots, flags)),
        };
        match served {
            Ok(count) => {
                process::count(entry, 1);
                Some(count)
            }
            Err(reason) => {
                process::count(reason, 1);
                None
            }
        }
    })
}

fn note(state: &ListState, roots: Arc<RootStore>, flags: c_uint) -> Result<c_int, Bypass> {
    let profile = windlass_gnutls::profile(&roots);
    if profile == GnutlsProfile::Outside {
        return Err(Bypass::Profile);
    }
    let count = c_int::try_from(roots.len()).map_err(|_| Bypass::NotAFile)?;
    let _guard = state.lock();
    if !state.is_lazy() {
        return Err(Bypass::CompleteList);
    }
    let source = Source::new(roots, flags);
    if source.has_names() && server::asks_clients() {
        return Err(Bypass::ServerNames);
    }
    if profile != GnutlsProfile::Plain && log::is_heard() {
        return Err(Bypass::Profile);
    }
    process::count(Gnutls::AnchorsRegistered, source.roots.len() as u64);
    state.recipe.push(source);
    Ok(count)
}

/// The reason why a list is not watched; `None` if it was counted when the list was created.
fn unwatched(caller: Caller) -> Option<Bypass> {
    let library = Libgnutls::of_caller(caller);
    match library.and_then(|library| library.served.as_ref().err()) {
        Some(Bypass::HiddenCalls) => None,
        Some(reason) => Some(*reason),
        None if library.is_some_and(Libgnutls::is_from_before) => Some(Bypass::LoadedBefore),
        None => Some(Bypass::UnknownStore),
    }
}

/// verify-high2.c compares with `c_strncasecmp`.
fn is_pkcs11_url(path: &CStr) -> bool {
    path.to_bytes().get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"pkcs11:"))
}

/// # Safety
/// A valid datum or null, for the length of the call that uses the result.
unsafe fn bytes_of<'a>(datum: *const Datum) -> Option<&'a [u8]> {
    // SAFETY: as the caller states.
    let datum = unsafe { datum.as_ref() }?;
    // SAFETY: as above.
    (!datum.data.is_null()).then(|| unsafe { std::slice::from_raw_parts(datum.data, datum.size as usize) })
}

/// Restores [`LEFT`].
struct Left(bool);

impl Drop for Left {
    fn drop(&mut self) {
        LEFT.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::is_pkcs11_url;

    #[test]
    fn a_url_is_known_by_its_scheme_in_any_case() {
        assert!(is_pkcs11_url(c"pkcs11:") && is_pkcs11_url(c"PKCS11:token=x"));
        assert!(!is_pkcs11_url(c"pkcs11") && !is_pkcs11_url(c"./pkcs11:") && !is_pkcs11_url(c""));
    }
}
