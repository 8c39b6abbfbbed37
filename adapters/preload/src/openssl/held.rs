//! Our own references to certificates and CRLs, and the contents of a stack.

use crate::memory;
use crate::openssl::api::{OPENSSL_STACK, Required, X509, X509_CRL, X509_OBJECT};

/// A reference to a certificate, released when dropped.
pub struct Held {
    pub certificate: *mut X509,
    free: unsafe extern "C-unwind" fn(*mut X509),
}

/// A reference to a CRL, released when dropped.
pub struct HeldCrl {
    pub crl: *mut X509_CRL,
    free: unsafe extern "C-unwind" fn(*mut X509_CRL),
}

impl Held {
    /// Takes a new reference.
    ///
    /// # Safety
    /// `certificate` is a valid certificate of the libcrypto of `api`.
    pub unsafe fn new(api: &Required, certificate: *mut X509) -> Held {
        // SAFETY: as the caller states.
        unsafe { (api.X509_up_ref)(certificate) };
        Held { certificate, free: api.X509_free }
    }
}

impl HeldCrl {
    /// Takes a new reference.
    ///
    /// # Safety
    /// `crl` is a valid CRL of the libcrypto of `api`.
    pub unsafe fn new(api: &Required, crl: *mut X509_CRL) -> HeldCrl {
        // SAFETY: as the caller states.
        unsafe { (api.X509_CRL_up_ref)(crl) };
        HeldCrl { crl, free: api.X509_CRL_free }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the reference that `new` took.
        unsafe { (self.free)(self.certificate) };
    }
}

impl Drop for HeldCrl {
    fn drop(&mut self) {
        // SAFETY: the reference that `new` took.
        unsafe { (self.free)(self.crl) };
    }
}

/// A certificate's DER.
///
/// # Safety
/// `certificate` is a live certificate.
pub unsafe fn encoding(api: &Required, certificate: *mut X509) -> Option<Vec<u8>> {
    // SAFETY: as the caller states; i2d_X509 writes as many bytes as it has announced.
    unsafe {
        let length = (api.i2d_X509)(certificate, std::ptr::null_mut());
        let length = usize::try_from(length).ok().filter(|&length| length > 0)?;
        let mut der = memory::collected(std::iter::repeat_n(0u8, length), length)?;
        let mut at = der.as_mut_ptr();
        (api.i2d_X509)(certificate, &mut at);
        Some(der)
    }
}

/// An object that was in a store's memory.
pub enum BaseObject {
    /// A certificate.
    Certificate(Held),
    /// A revocation list.
    Crl(HeldCrl),
}

/// The objects of a stack. None if there is no memory for them.
///
/// # Safety
/// `stack` is a live stack of objects that does not change meanwhile.
pub unsafe fn elements(api: &Required, stack: *mut OPENSSL_STACK) -> Option<Vec<*mut X509_OBJECT>> {
    // SAFETY: as the caller states.
    unsafe {
        let count = (api.OPENSSL_sk_num)(stack).max(0);
        memory::collected((0..count).map(|at| (api.OPENSSL_sk_value)(stack, at).cast()), count as usize)
    }
}

/// The objects of a stack, in its current order. None if there is no memory for them.
///
/// # Safety
/// As for `elements`.
pub unsafe fn base(api: &Required, stack: *mut OPENSSL_STACK) -> Option<Vec<BaseObject>> {
    // SAFETY: as the caller states.
    let objects = unsafe { elements(api, stack) }?;
    let count = objects.len();
    let objects = objects.into_iter().filter_map(|object| {
        // SAFETY: as the caller states.
        unsafe {
            let (certificate, crl) = ((api.X509_OBJECT_get0_X509)(object), (api.X509_OBJECT_get0_X509_CRL)(object));
            if !certificate.is_null() {
                return Some(BaseObject::Certificate(Held::new(api, certificate)));
            }
            (!crl.is_null()).then(|| BaseObject::Crl(HeldCrl::new(api, crl)))
        }
    });
    memory::collected(objects, count)
}
