//! The functions of libcrypto that are used, by the names and types of OpenSSL's headers.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};

use libloading::os::unix::Library;

/// A certificate of libcrypto.
pub enum X509 {}

/// A store of libcrypto.
#[allow(non_camel_case_types, reason = "the name is libcrypto's")]
pub enum X509_STORE {}

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Addresses of libcrypto's functions.
        #[allow(non_snake_case, reason = "the names are libcrypto's")]
        pub struct Functions {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Finds all of them; the error is the name of the missing one.
            ///
            /// # Safety
            /// Under these names the object must define OpenSSL's functions, of 1.1.1 or later.
            pub unsafe fn load(library: &Library) -> Result<Functions, &'static str> {
                Ok(Functions { $($name: {
                    type Function = unsafe extern "C" fn($($argument),*) $(-> $result)?;
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the caller guarantees that the function is of this type.
                    *unsafe { library.get::<Function>(name.as_bytes()) }.map_err(|_| stringify!($name))?
                },)* })
            }
        }
    };
}

functions! {
    /// A number such as 0x30000160.
    fn OpenSSL_version_num() -> c_ulong;
    /// A text that is never freed.
    fn OpenSSL_version(c_int) -> *const c_char;
    /// A text that is never freed.
    fn X509_get_default_cert_file() -> *const c_char;
    /// A text that is never freed.
    fn X509_get_default_cert_dir() -> *const c_char;
    fn d2i_X509(*mut *mut X509, *mut *const c_uchar, c_long) -> *mut X509;
    fn i2d_X509(*const X509, *mut *mut c_uchar) -> c_int;
    fn X509_free(*mut X509);
    /// The key still belongs to the certificate; null if it could not be decoded.
    fn X509_get0_pubkey(*const X509) -> *mut c_void;
    fn X509_subject_name_hash(*const X509) -> c_ulong;
    fn X509_STORE_new() -> *mut X509_STORE;
    fn X509_STORE_free(*mut X509_STORE);
    fn X509_STORE_load_locations(*mut X509_STORE, *const c_char, *const c_char) -> c_int;
    /// The store takes its own reference.
    fn X509_STORE_add_cert(*mut X509_STORE, *mut X509) -> c_int;
    /// The oldest error of this thread; it stays in the queue.
    fn ERR_peek_error() -> c_ulong;
    /// A text that is never freed, or null.
    fn ERR_reason_error_string(c_ulong) -> *const c_char;
    fn ERR_clear_error();
}
