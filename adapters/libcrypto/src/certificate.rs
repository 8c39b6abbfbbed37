//! A certificate that libcrypto decoded.

use std::ffi::{c_int, c_long};
use std::ptr;

use crate::functions::{Functions, X509};

/// An owned `X509`.
pub struct Certificate<'l> {
    x509: ptr::NonNull<X509>,
    functions: &'l Functions,
}

impl<'l> Certificate<'l> {
    /// Decodes by `d2i_X509`; returns the certificate and the number of bytes that it took.
    pub fn decode(functions: &'l Functions, der: &[u8]) -> Option<(Certificate<'l>, usize)> {
        let length = c_long::try_from(der.len()).ok()?;
        let mut end = der.as_ptr();
        // SAFETY: `end` points to `length` bytes; null asks for a new certificate, which we own.
        let x509 = unsafe { (functions.d2i_X509)(ptr::null_mut(), &mut end, length) };
        let certificate = Certificate { x509: ptr::NonNull::new(x509)?, functions };
        Some((certificate, end as usize - der.as_ptr() as usize))
    }

    /// The pointer for a call; it stays ours.
    pub fn as_ptr(&self) -> *mut X509 {
        self.x509.as_ptr()
    }

    /// Whether `i2d_X509` returns these bytes. `buffer` is only room, reused from one certificate to the next.
    pub fn encodes_as(&self, der: &[u8], buffer: &mut Vec<u8>) -> bool {
        let x509 = self.x509.as_ptr();
        // SAFETY: the certificate is ours; null asks for the length only.
        let length = unsafe { (self.functions.i2d_X509)(x509, ptr::null_mut()) };
        if usize::try_from(length) != Ok(der.len()) {
            return false;
        }
        buffer.clear();
        buffer.resize(der.len(), 0);
        let mut end = buffer.as_mut_ptr();
        // SAFETY: the buffer has as many bytes as the previous call returned, and nobody changed the certificate since.
        let written: c_int = unsafe { (self.functions.i2d_X509)(x509, &mut end) };
        written == length && buffer == der
    }

    /// Whether the public key can be used.
    pub fn has_key(&self) -> bool {
        // SAFETY: the certificate is ours; the key stays its own and is not used.
        !unsafe { (self.functions.X509_get0_pubkey)(self.x509.as_ptr()) }.is_null()
    }

    /// The subject hash, which names the certificate in a hashed directory.
    #[allow(clippy::useless_conversion, reason = "c_ulong has 32 bits on some machines")]
    pub fn subject_hash(&self) -> u64 {
        // SAFETY: the certificate is ours.
        u64::from(unsafe { (self.functions.X509_subject_name_hash)(self.x509.as_ptr()) })
    }
}

impl Drop for Certificate<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `decode`, and nobody else has it.
        unsafe { (self.functions.X509_free)(self.x509.as_ptr()) }
    }
}
