//! libgnutls as the reference: the system's, or another version that `WINDLASS_TEST_LIBGNUTLS` names.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

enum Certificate {}
enum List {}

#[repr(C)]
struct Datum {
    data: *mut u8,
    size: c_uint,
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;
const DER: c_int = 0;
const PEM: c_int = 1;

type Log = extern "C" fn(*mut c_void, *const c_char);

thread_local! {
    /// Lines that this thread has made libgnutls write to the audit log.
    static LINES: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn count_line(_session: *mut c_void, _line: *const c_char) {
    LINES.set(LINES.get() + 1);
}

fn library() -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let path = std::env::var("WINDLASS_TEST_LIBGNUTLS").unwrap_or("libgnutls.so.30".into());
        let name = CString::new(path.clone()).unwrap();
        // SAFETY: the path ends in NUL; libgnutls may be loaded at any time.
        let library = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        assert!(!library.is_null(), "{path} can't be loaded");
        library as usize
    }) as *mut c_void
}

fn symbol(name: &str) -> usize {
    let text = CString::new(name).unwrap();
    // SAFETY: the library is never closed, and the name ends in NUL.
    let address = unsafe { dlsym(library(), text.as_ptr()) };
    assert!(!address.is_null(), "{name}");
    address as usize
}

/// Declares functions of libgnutls, each looked up when it is first called.
macro_rules! libgnutls {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        /// # Safety
        /// As libgnutls' function of this name.
        unsafe fn $name($($argument: $type),*) -> $result {
            static ADDRESS: OnceLock<usize> = OnceLock::new();
            let address = *ADDRESS.get_or_init(|| symbol(stringify!($name)));
            // SAFETY: all versions of libgnutls that are tested define the function with this signature.
            let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(address) };
            // SAFETY: by the caller.
            unsafe { function($($argument),*) }
        }
    )* };
}

libgnutls! {
    fn gnutls_x509_crt_list_import2(
        all: *mut *mut *mut Certificate, size: *mut c_uint, data: *const Datum, format: c_int, flags: c_uint
    ) -> c_int;
    fn gnutls_x509_crt_export2(certificate: *mut Certificate, format: c_int, out: *mut Datum) -> c_int;
    fn gnutls_x509_crt_get_raw_dn(certificate: *mut Certificate, out: *mut Datum) -> c_int;
    fn gnutls_x509_crt_get_raw_issuer_dn(certificate: *mut Certificate, out: *mut Datum) -> c_int;
    fn gnutls_x509_crt_deinit(certificate: *mut Certificate) -> ();
    fn gnutls_x509_trust_list_init(list: *mut *mut List, size: c_uint) -> c_int;
    fn gnutls_x509_trust_list_add_trust_mem(
        list: *mut List, cas: *const Datum, crls: *const Datum, format: c_int, flags: c_uint,
        verification_flags: c_uint
    ) -> c_int;
    fn gnutls_x509_trust_list_deinit(list: *mut List, all: c_uint) -> ();
    fn gnutls_global_set_audit_log_function(function: Log) -> ();
}

/// # Safety
/// The memory must come from libgnutls, and nobody may use it any more.
unsafe fn free(memory: *mut c_void) {
    // SAFETY: `gnutls_free` is a variable that holds a function, and nobody here sets it.
    let function = unsafe { *(symbol("gnutls_free") as *const unsafe extern "C" fn(*mut c_void)) };
    // SAFETY: by the caller.
    unsafe { function(memory) }
}

/// One certificate, as libgnutls loaded it.
#[derive(Debug, PartialEq, Eq)]
pub struct Loaded {
    pub der: Vec<u8>,
    /// libgnutls looks up issuers by these two.
    pub raw_subject: Vec<u8>,
    pub raw_issuer: Vec<u8>,
}

/// `gnutls_x509_crt_list_import2`: all certificates of a PEM file, or the error.
pub fn load(pem: &[u8]) -> Result<Vec<Loaded>, i32> {
    let data = Datum { data: pem.as_ptr().cast_mut(), size: pem.len() as c_uint };
    let (mut all, mut count) = (null_mut(), 0);
    // SAFETY: the data are as many as is told and are only read; what is returned is taken apart and freed here.
    unsafe {
        let result = gnutls_x509_crt_list_import2(&mut all, &mut count, &data, PEM, 0);
        if result < 0 {
            return Err(result);
        }
        let loaded = (0..count as usize).map(|place| {
            let certificate = *all.add(place);
            let loaded = Loaded {
                der: take(|out| gnutls_x509_crt_export2(certificate, DER, out)),
                raw_subject: take(|out| gnutls_x509_crt_get_raw_dn(certificate, out)),
                raw_issuer: take(|out| gnutls_x509_crt_get_raw_issuer_dn(certificate, out)),
            };
            gnutls_x509_crt_deinit(certificate);
            loaded
        });
        let loaded = loaded.collect();
        free(all.cast());
        Ok(loaded)
    }
}

fn take(export: impl FnOnce(*mut Datum) -> c_int) -> Vec<u8> {
    let mut out = Datum { data: null_mut(), size: 0 };
    assert!(export(&mut out) >= 0);
    // SAFETY: libgnutls has put as many bytes there as it tells, and leaves them to us.
    unsafe {
        let bytes = std::slice::from_raw_parts(out.data, out.size as usize).to_vec();
        free(out.data.cast());
        bytes
    }
}

/// `gnutls_x509_trust_list_add_trust_mem` with an empty list: its result, and the number of lines it writes to the
/// audit log.
pub fn trust(pem: &[u8]) -> (i32, usize) {
    static LISTENS: OnceLock<()> = OnceLock::new();
    // SAFETY: the function is there as long as the process.
    LISTENS.get_or_init(|| unsafe { gnutls_global_set_audit_log_function(count_line) });
    let data = Datum { data: pem.as_ptr().cast_mut(), size: pem.len() as c_uint };
    let mut list = null_mut();
    LINES.set(0);
    // SAFETY: the data are as many as is told and are only read; the list is ours alone, and owns what is in it.
    let result = unsafe {
        assert_eq!(gnutls_x509_trust_list_init(&mut list, 0), 0);
        let result = gnutls_x509_trust_list_add_trust_mem(list, &data, null(), PEM, 0, 0);
        gnutls_x509_trust_list_deinit(list, 1);
        result
    };
    (result, LINES.get())
}
