//! libcrypto as the reference: the system's, or another version that `WINDLASS_TEST_LIBCRYPTO` names.

use std::ffi::{CString, c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use std::io::Write;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{LazyLock, OnceLock};

use libloading::Library;

pub(super) enum Name {}
pub(super) enum X509 {}
pub(super) enum Bio {}
pub(super) enum Stack {}
pub(super) enum Store {}
pub(super) enum Lookup {}

/// The public part of `X509_INFO`.
#[repr(C)]
pub(super) struct Info {
    x509: *mut X509,
    crl: *mut c_void,
    key: *mut c_void,
}

/// The system's libcrypto, or the one that `WINDLASS_TEST_LIBCRYPTO` names.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let path = std::env::var("WINDLASS_TEST_LIBCRYPTO").unwrap_or("libcrypto.so.3".into());
    // SAFETY: libcrypto may be loaded at any time.
    unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{path} can't be loaded: {error}"))
});

/// # Safety
/// `T` is the type of the function of this name, in each version of libcrypto that is tested.
unsafe fn function<T: Copy>(name: &str) -> Option<T> {
    // SAFETY: by the caller.
    unsafe { LIBRARY.get::<T>(name.as_bytes()) }.ok().map(|function| *function)
}

/// Declares functions of libcrypto, each looked up when it is first called.
macro_rules! libcrypto {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        /// # Safety
        /// As libcrypto's function of this name.
        #[allow(non_snake_case)]
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static FUNCTION: OnceLock<unsafe extern "C" fn($($type),*) -> $result> = OnceLock::new();
            // SAFETY: all versions of libcrypto that are tested define the function with this signature.
            let find = || unsafe { function(stringify!($name)) }.expect(stringify!($name));
            // SAFETY: by the caller.
            unsafe { FUNCTION.get_or_init(find)($($argument),*) }
        }
    )* };
}

libcrypto! {
    fn d2i_X509_NAME(out: *mut *mut Name, der: *mut *const c_uchar, len: c_long) -> *mut Name;
    fn X509_NAME_free(name: *mut Name) -> ();
    fn X509_NAME_cmp(a: *const Name, b: *const Name) -> c_int;
    fn X509_NAME_hash_old(name: *const Name) -> c_ulong;
    fn BIO_new_file(path: *const c_char, mode: *const c_char) -> *mut Bio;
    fn BIO_free(bio: *mut Bio) -> c_int;
    fn PEM_X509_INFO_read_bio(
        bio: *mut Bio, stack: *mut Stack, password: *const c_void, data: *const c_char
    ) -> *mut Stack;
    fn OPENSSL_sk_num(stack: *const Stack) -> c_int;
    fn OPENSSL_sk_value(stack: *const Stack, place: c_int) -> *mut c_void;
    fn OPENSSL_sk_pop_free(stack: *mut Stack, free: unsafe extern "C" fn(*mut Info)) -> ();
    fn X509_INFO_free(info: *mut Info) -> ();
    fn d2i_X509(out: *mut *mut X509, der: *mut *const c_uchar, len: c_long) -> *mut X509;
    fn i2d_X509(certificate: *mut X509, out: *mut *mut c_uchar) -> c_int;
    fn X509_free(certificate: *mut X509) -> ();
    fn X509_subject_name_hash(certificate: *mut X509) -> c_ulong;
    fn X509_subject_name_hash_old(certificate: *mut X509) -> c_ulong;
    fn X509_get_ext_d2i(certificate: *const X509, nid: c_int, critical: *mut c_int, place: *mut c_int) -> *mut c_void;
    fn X509_get0_notAfter(certificate: *const X509) -> *const c_void;
    fn X509_get0_notBefore(certificate: *const X509) -> *const c_void;
    fn X509_get0_serialNumber(certificate: *const X509) -> *const c_void;
    fn X509_get_X509_PUBKEY(certificate: *const X509) -> *mut c_void;
    fn X509_get_subject_name(certificate: *const X509) -> *mut Name;
    fn X509_get_issuer_name(certificate: *const X509) -> *mut Name;
    fn i2d_X509_NAME(name: *const Name, out: *mut *mut c_uchar) -> c_int;
    fn i2d_X509_PUBKEY(key: *const c_void, out: *mut *mut c_uchar) -> c_int;
    fn i2d_ASN1_INTEGER(number: *const c_void, out: *mut *mut c_uchar) -> c_int;
    fn ASN1_STRING_get0_data(string: *const c_void) -> *const c_uchar;
    fn ASN1_STRING_length(string: *const c_void) -> c_int;
    fn ASN1_TIME_to_generalizedtime(time: *const c_void, out: *mut *mut c_void) -> *mut c_void;
    fn ASN1_STRING_free(string: *mut c_void) -> ();
    fn X509_STORE_new() -> *mut Store;
    fn X509_STORE_free(store: *mut Store) -> ();
    fn X509_STORE_add_lookup(store: *mut Store, method: *const c_void) -> *mut Lookup;
    fn X509_LOOKUP_file() -> *const c_void;
    fn X509_load_cert_crl_file(lookup: *mut Lookup, file: *const c_char, kind: c_int) -> c_int;
    fn ERR_clear_error() -> ();
    fn ERR_get_error() -> c_ulong;
    fn ERR_error_string_n(error: c_ulong, text: *mut c_char, len: usize) -> ();
    fn X509_check_purpose(certificate: *mut X509, purpose: c_int, ca: c_int) -> c_int;
    fn X509_get_extension_flags(certificate: *mut X509) -> u32;
    fn X509_cmp(a: *const X509, b: *const X509) -> c_int;
    fn X509_get0_pubkey(certificate: *const X509) -> *mut c_void;
    fn X509_policy_check(
        tree: *mut *mut c_void, explicit: *mut c_int, chain: *mut Stack, policies: *mut Stack, flags: c_uint
    ) -> c_int;
    fn X509_policy_tree_free(tree: *mut c_void) -> ();
    fn OPENSSL_sk_new_null() -> *mut Stack;
    fn OPENSSL_sk_push(stack: *mut Stack, element: *const c_void) -> c_int;
    fn OPENSSL_sk_free(stack: *mut Stack) -> ();
}

type NameHash = unsafe extern "C" fn(*const Name) -> c_ulong;
type NameHashEx = unsafe extern "C" fn(*const Name, *mut c_void, *const c_char, *mut c_int) -> c_ulong;

const NID_SUBJECT_KEY_IDENTIFIER: c_int = 82;

/// A decoded name.
pub struct DecodedName(*mut Name);

impl DecodedName {
    /// `d2i_X509_NAME`, all bytes used.
    pub fn new(der: &[u8]) -> Option<DecodedName> {
        let mut end = der.as_ptr();
        // SAFETY: `end` points to as many bytes as are told; the result is owned by the new value, or null.
        let name = unsafe { d2i_X509_NAME(null_mut(), &mut end, der.len() as c_long) };
        // SAFETY: the queue is this thread's own.
        unsafe { ERR_clear_error() };
        if name.is_null() {
            return None;
        }
        let name = DecodedName(name);
        (end as usize - der.as_ptr() as usize == der.len()).then_some(name)
    }

    pub fn hash(&self) -> u32 {
        // SAFETY: the signature is that of 3.0 and later.
        let Some(hash_ex) = (unsafe { function::<NameHashEx>("X509_NAME_hash_ex") }) else {
            // SAFETY: the signature is that of 1.1.1, and the name is alive.
            return unsafe { function::<NameHash>("X509_NAME_hash").expect("1.1.1 has it")(self.0) } as u32;
        };
        let mut ok = 0;
        // SAFETY: the name is alive; null stands for the default context and properties.
        let hash = unsafe { hash_ex(self.0, null_mut(), null(), &mut ok) };
        assert_eq!(ok, 1);
        hash as u32
    }

    pub fn hash_old(&self) -> u32 {
        // SAFETY: the name is alive.
        (unsafe { X509_NAME_hash_old(self.0) }) as u32
    }

    pub fn equals(&self, other: &DecodedName) -> bool {
        // SAFETY: both names are alive.
        unsafe { X509_NAME_cmp(self.0, other.0) == 0 }
    }
}

impl Drop for DecodedName {
    fn drop(&mut self) {
        // SAFETY: the name was made by `new`, and nobody else has it.
        unsafe { X509_NAME_free(self.0) }
    }
}

/// The certificates that `PEM_X509_INFO_read_bio` finds in a file of this text; None if it fails, or finds anything
/// else.
pub fn load(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(pem).unwrap();
    load_file(file.path())
}

pub fn load_file(path: &Path) -> Option<Vec<Vec<u8>>> {
    let path = CString::new(path.to_str()?).unwrap();
    // SAFETY: the strings end in NUL; the stack and its elements are only used before they are freed; each element is
    // an X509_INFO, of which the first fields are public.
    unsafe {
        let bio = BIO_new_file(path.as_ptr(), c"r".as_ptr());
        assert!(!bio.is_null());
        let stack = PEM_X509_INFO_read_bio(bio, null_mut(), null(), c"".as_ptr());
        BIO_free(bio);
        ERR_clear_error();
        if stack.is_null() {
            return None;
        }
        let mut all = Some(Vec::new());
        for place in 0..OPENSSL_sk_num(stack) {
            let info = &*OPENSSL_sk_value(stack, place).cast::<Info>();
            if info.x509.is_null() || !info.crl.is_null() || !info.key.is_null() {
                all = None;
            } else if let Some(all) = &mut all {
                all.push(encoded(|out| i2d_X509(info.x509, out)));
            }
        }
        OPENSSL_sk_pop_free(stack, X509_INFO_free);
        all
    }
}

/// What `X509_load_cert_crl_file` returns for a file of this text.
pub fn load_count(pem: &[u8]) -> usize {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(pem).unwrap();
    let path = CString::new(file.path().to_str().unwrap()).unwrap();
    // SAFETY: the store owns the lookup and outlives it; the path ends in NUL.
    unsafe {
        let store = X509_STORE_new();
        let lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
        let count = X509_load_cert_crl_file(lookup, path.as_ptr(), 1);
        X509_STORE_free(store);
        ERR_clear_error();
        count as usize
    }
}

/// What libcrypto says about one certificate.
pub struct Facts {
    pub subject: Vec<u8>,
    pub issuer: Vec<u8>,
    pub serial: Vec<u8>,
    pub spki: Vec<u8>,
    pub key_id: Option<Vec<u8>>,
    pub not_before: String,
    pub not_after: String,
    pub subject_hash: u32,
    pub subject_hash_old: u32,
}

pub fn facts(der: &[u8]) -> Option<Facts> {
    let mut end = der.as_ptr();
    // SAFETY: the certificate is alive until it is freed at the end, and what belongs to it is only used before.
    unsafe {
        let certificate = d2i_X509(null_mut(), &mut end, der.len() as c_long);
        ERR_clear_error();
        if certificate.is_null() {
            return None;
        }
        let serial = X509_get0_serialNumber(certificate);
        // X509_get0_subject_key_id has nothing to say if any other extension is malformed.
        let key_id = X509_get_ext_d2i(certificate, NID_SUBJECT_KEY_IDENTIFIER, null_mut(), null_mut());
        let facts = Facts {
            subject: encoded(|out| i2d_X509_NAME(X509_get_subject_name(certificate), out)),
            issuer: encoded(|out| i2d_X509_NAME(X509_get_issuer_name(certificate), out)),
            serial: encoded(|out| i2d_ASN1_INTEGER(serial, out)),
            spki: encoded(|out| i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), out)),
            key_id: (!key_id.is_null()).then(|| string(key_id).to_vec()),
            not_before: time(X509_get0_notBefore(certificate)),
            not_after: time(X509_get0_notAfter(certificate)),
            subject_hash: X509_subject_name_hash(certificate) as u32,
            subject_hash_old: X509_subject_name_hash_old(certificate) as u32,
        };
        ASN1_STRING_free(key_id);
        X509_free(certificate);
        ERR_clear_error();
        Some(facts)
    }
}

/// As `YYYYMMDDHHMMSSZ`.
///
/// # Safety
/// `time` must be a living ASN1_TIME.
unsafe fn time(time: *const c_void) -> String {
    // SAFETY: by the caller; the new string is freed after its content was copied.
    unsafe {
        let generalized = ASN1_TIME_to_generalizedtime(time, null_mut());
        assert!(!generalized.is_null());
        let text = String::from_utf8(string(generalized).to_vec()).unwrap();
        ASN1_STRING_free(generalized);
        text
    }
}

/// # Safety
/// `string` must be a living ASN1_STRING, and live as long as the result.
unsafe fn string<'a>(string: *const c_void) -> &'a [u8] {
    // SAFETY: by the caller; data and length belong together.
    unsafe {
        match ASN1_STRING_length(string) {
            0 => &[],
            len => std::slice::from_raw_parts(ASN1_STRING_get0_data(string), len as usize),
        }
    }
}

fn encoded(i2d: impl Fn(*mut *mut c_uchar) -> c_int) -> Vec<u8> {
    let len = i2d(null_mut());
    assert!(len > 0);
    let mut out = vec![0; len as usize];
    let mut end = out.as_mut_ptr();
    assert_eq!(i2d(&mut end), len);
    out
}
