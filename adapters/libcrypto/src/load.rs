//! Loads certificates as a context does, to see the result and to time it. Nothing is kept.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use thiserror::Error;

use crate::certificate::Certificate;
use crate::functions::{Functions, X509_STORE};
use crate::open::Libcrypto;

/// The reason why libcrypto loaded nothing from a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct NotLoaded {
    /// The first error in its queue, in its own words.
    pub reason: String,
}

impl Libcrypto {
    /// Loads a CAfile by `X509_STORE_load_locations` into a new store, which is freed again. It loads the whole file
    /// or, if any block of it is bad, fails.
    pub fn load_file(&self, path: &Path) -> Result<(), NotLoaded> {
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| NotLoaded { reason: String::from("the path holds a NUL byte") })?;
        let store = Store::new(&self.functions)?;
        // SAFETY: the store is ours, the path ends in NUL, and null means no directory.
        let loaded =
            unsafe { (self.functions.X509_STORE_load_locations)(store.store.as_ptr(), path.as_ptr(), ptr::null()) };
        let result = if loaded == 1 { Ok(()) } else { Err(first_error(&self.functions)) };
        clear_errors(&self.functions);
        result
    }

    /// Decodes certificates and adds them to a new store, as `X509_load_cert_crl_file` does with the certificates of a
    /// file. Returns the number added.
    pub fn load_certificates(&self, certificates: &[&[u8]]) -> usize {
        let Ok(store) = Store::new(&self.functions) else { return 0 };
        let taken = certificates.iter().filter(|der| {
            let Some((certificate, _)) = Certificate::decode(&self.functions, der) else { return false };
            // SAFETY: both are ours; the store takes its own reference.
            unsafe { (self.functions.X509_STORE_add_cert)(store.store.as_ptr(), certificate.as_ptr()) == 1 }
        });
        let taken = taken.count();
        clear_errors(&self.functions);
        taken
    }

    /// Whether libcrypto decodes these bytes as a certificate, with nothing left over.
    pub fn decodes(&self, der: &[u8]) -> bool {
        let decoded = Certificate::decode(&self.functions, der).is_some_and(|(_, taken)| taken == der.len());
        clear_errors(&self.functions);
        decoded
    }
}

/// An owned `X509_STORE`.
struct Store<'l> {
    store: ptr::NonNull<X509_STORE>,
    functions: &'l Functions,
}

impl<'l> Store<'l> {
    fn new(functions: &'l Functions) -> Result<Store<'l>, NotLoaded> {
        // SAFETY: no arguments; we own the result.
        let store = ptr::NonNull::new(unsafe { (functions.X509_STORE_new)() });
        let store = store.ok_or_else(|| NotLoaded { reason: String::from("not enough memory") })?;
        Ok(Store { store, functions })
    }
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nobody else has it.
        unsafe { (self.functions.X509_STORE_free)(self.store.as_ptr()) }
    }
}

/// The oldest error in the queue: the later ones only say that something inside them failed.
fn first_error(functions: &Functions) -> NotLoaded {
    // SAFETY: the queue is this thread's own.
    let code = unsafe { (functions.ERR_peek_error)() };
    // SAFETY: any code is a valid argument.
    let reason: *const c_char = unsafe { (functions.ERR_reason_error_string)(code) };
    if reason.is_null() {
        return NotLoaded { reason: String::from("it gives no reason") };
    }
    // SAFETY: a string of the library's own, never freed, that ends in NUL.
    NotLoaded { reason: unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned() }
}

fn clear_errors(functions: &Functions) {
    // SAFETY: the queue is this thread's own, and this libcrypto is used by this crate only.
    unsafe { (functions.ERR_clear_error)() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = include_str!("../../../tests/fixtures/rsa.pem");

    fn libcrypto() -> Libcrypto {
        Libcrypto::open(Path::new("libcrypto.so.3")).expect("libcrypto")
    }

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, content).expect("content");
        file
    }

    #[test]
    fn a_file_is_loaded_as_a_whole_or_not_at_all() {
        let libcrypto = libcrypto();
        assert_eq!(libcrypto.load_file(file(PEM).path()), Ok(()));
        let second_is_bad = format!("{PEM}-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n");
        let error = libcrypto.load_file(file(&second_is_bad).path()).expect_err("a bad block");
        assert_eq!(error.reason, "bad base64 decode");
        assert!(libcrypto.load_file(file("").path()).is_err());
        assert!(libcrypto.load_file(Path::new("/nonexistent")).is_err());
        assert!(libcrypto.load_file(Path::new("a\0b")).is_err());
    }

    #[test]
    fn certificates_are_counted_also_when_they_repeat() {
        let store = windlass::RootStore::from_pem(PEM.as_bytes()).expect("fixture");
        let der = store.anchors().next().expect("an anchor").der();
        let libcrypto = libcrypto();
        assert_eq!(libcrypto.load_certificates(&[der, der]), 2);
        assert_eq!(libcrypto.load_certificates(&[der, &der[1..]]), 1);
        assert_eq!(libcrypto.load_certificates(&[]), 0);
        assert!(libcrypto.decodes(der));
        assert!(!libcrypto.decodes(&der[..der.len() - 1]));
        assert!(!libcrypto.decodes(&[der, b"\0"].concat()));
    }
}
