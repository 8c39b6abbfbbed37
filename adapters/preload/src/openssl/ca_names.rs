//! The CA names that a server sends: libssl parses a whole certificate for each name.
//!
//! libssl's own functions still run, and keep their order and their handling of duplicates, which differ between
//! versions. Only when they read the next certificate of their file, they get one that consists of nothing but the
//! subject. The names are read from the very file that libssl has opened.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr;

use windlass::{AnchorIndex, RootStore};
use windlass_interpose::unwinding;

use crate::hook::{Caller, guarded};
use crate::labels::{Event, Served as Entry};
use crate::memory;
use crate::openssl::api::{BIO, BIO_C_GET_FILE_PTR, BIO_CTRL_RESET, OPENSSL_STACK, OSSL_LIB_CTX, Required, X509};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{self, LIBSSL, Libcrypto, Served, original, transparent};
use crate::process;

thread_local! {
    /// The name list that libssl is making on this thread.
    static LIST: Cell<*mut NameList> = const { Cell::new(ptr::null_mut()) };
}

/// One run of one of libssl's functions.
struct NameList {
    file: *mut BIO,
    names: Option<Names>,
}

/// The certificates of a file, and those whose names were not handed out yet.
struct Names {
    roots: RootStore,
    left: std::vec::IntoIter<AnchorIndex>,
}

impl Names {
    fn next(&mut self) -> Option<&[u8]> {
        let index = self.left.next()?;
        Some(self.roots.anchor(index).raw_subject().as_bytes())
    }
}

/// `SSL_load_client_CA_file`.
pub extern "C-unwind" fn load_client_ca_file(file: *const c_char, caller: Caller) -> *mut OPENSSL_STACK {
    type Function = unsafe extern "C-unwind" fn(*const c_char) -> *mut OPENSSL_STACK;
    // SAFETY: the type is OpenSSL's declaration.
    let Some(function) = (unsafe { in_libssl::<Function>(caller, c"SSL_load_client_CA_file") }) else {
        return ptr::null_mut();
    };
    // SAFETY: the program's own argument.
    listing(|| unsafe { function(file) })
}

/// `SSL_load_client_CA_file_ex` (3.0). The library context does not matter for a name.
pub extern "C-unwind" fn load_client_ca_file_ex(
    file: *const c_char,
    context: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    caller: Caller,
) -> *mut OPENSSL_STACK {
    type Function = unsafe extern "C-unwind" fn(*const c_char, *mut OSSL_LIB_CTX, *const c_char) -> *mut OPENSSL_STACK;
    // SAFETY: the type is OpenSSL's declaration.
    let Some(function) = (unsafe { in_libssl::<Function>(caller, c"SSL_load_client_CA_file_ex") }) else {
        return ptr::null_mut();
    };
    // SAFETY: the program's own arguments.
    listing(|| unsafe { function(file, context, properties) })
}

/// `SSL_add_file_cert_subjects_to_stack`.
pub extern "C-unwind" fn add_file_cert_subjects_to_stack(
    stack: *mut OPENSSL_STACK,
    file: *const c_char,
    caller: Caller,
) -> c_int {
    add(stack, file, caller, c"SSL_add_file_cert_subjects_to_stack")
}

/// `SSL_add_dir_cert_subjects_to_stack`.
pub extern "C-unwind" fn add_dir_cert_subjects_to_stack(
    stack: *mut OPENSSL_STACK,
    directory: *const c_char,
    caller: Caller,
) -> c_int {
    add(stack, directory, caller, c"SSL_add_dir_cert_subjects_to_stack")
}

/// `PEM_read_bio_X509`: the next certificate of a name list, else the original.
pub extern "C-unwind" fn pem_read_bio_x509(
    file: *mut BIO,
    target: *mut *mut X509,
    callback: *mut c_void,
    data: *mut c_void,
    caller: Caller,
) -> *mut X509 {
    let list = LIST.get();
    if list.is_null() {
        return transparent!(caller, PEM_read_bio_X509(file, target, callback, data), or ptr::null_mut());
    }
    // SAFETY: the list is a local of the `listing` call that this thread is inside of.
    let list = unsafe { &mut *list };
    match guarded(|| list.next(Libcrypto::of_caller(caller)?, file, target)) {
        Some(certificate) => certificate,
        None => {
            let read = original!(caller, PEM_read_bio_X509(file, target, callback, data), or ptr::null_mut());
            if read.is_null() {
                list.file = ptr::null_mut();
            }
            read
        }
    }
}

impl NameList {
    /// The next certificate, null at the end of the file; `None`: the original has to read this file.
    fn next(&mut self, library: &Libcrypto, file: *mut BIO, target: *mut *mut X509) -> Option<*mut X509> {
        let served = library.served()?;
        let api = &served.api;
        if target.is_null() {
            return None;
        }
        if self.file != file {
            self.file = file;
            self.names = read_names(served, file);
            if self.names.is_some() {
                process::count(Entry::CaNames, 1);
            }
        }
        let names = self.names.as_mut()?;
        let Some(der) = names.next() else {
            // libssl clears the error that a real end of file leaves; none is left here.
            self.file = ptr::null_mut();
            self.names = None;
            return Some(ptr::null_mut());
        };
        let mut start = der.as_ptr();
        // SAFETY: `start` points to `der.len()` readable bytes. `target` is libssl's variable: null or a certificate of
        // its own, which PEM_read_bio_X509 would also overwrite.
        unsafe {
            let name = (api.d2i_X509_NAME)(ptr::null_mut(), &mut start, c_long::try_from(der.len()).ok()?);
            if (*target).is_null() {
                *target = (api.X509_new)();
            }
            let set = !name.is_null() && !(*target).is_null() && (api.X509_set_subject_name)(*target, name) == 1;
            (api.X509_NAME_free)(name);
            process::count(Event::NamesServed, 1);
            // As the original does when it has no memory for the certificate: libssl takes this for the end of the
            // file.
            Some(if set { *target } else { ptr::null_mut() })
        }
    }
}

/// Reads the rest of the file. If it contains more than plain certificates, or can't be read to its end, it is rewound
/// for the original.
fn read_names(served: &Served, file: *mut BIO) -> Option<Names> {
    let api = &served.api;
    let stream = regular(api, file)?;
    let _marked = Marked::new(served);
    let names = contents(api, file).and_then(|content| {
        let roots = RootStore::from_pem(&content).ok()?;
        let left = memory::collected(roots.anchors().map(|anchor| anchor.index()), roots.len())?.into_iter();
        Some(Names { roots, left })
    });
    if names.is_none() {
        // SAFETY: the file is libssl's open BIO, and this is its stream. It returns to its start, and its error
        // indicator is cleared.
        unsafe {
            (api.BIO_ctrl)(file, BIO_CTRL_RESET, 0, ptr::null_mut());
            libc::clearerr(stream);
        }
    }
    names
}

/// The rest of the file. None if a read fails, memory is short or the file is too large: a partial read is not the
/// file.
fn contents(api: &Required, file: *mut BIO) -> Option<Vec<u8>> {
    const LIMIT: usize = 1 << 26;
    const STEP: usize = 16384;
    let mut content: Vec<u8> = Vec::new();
    loop {
        content.try_reserve(STEP).ok()?;
        let room = content.spare_capacity_mut();
        // SAFETY: the file is libssl's open BIO; there is room for `STEP` bytes.
        let read = unsafe { (api.BIO_read)(file, room.as_mut_ptr().cast(), STEP as c_int) };
        // A file BIO returns 0 at the end, and a negative number when a read has failed (file_read in bss_file.c).
        match usize::try_from(read).ok()? {
            0 => return Some(content),
            length if length <= STEP && content.len() + length <= LIMIT => {
                // SAFETY: BIO_read has written `length` bytes behind the others.
                unsafe { content.set_len(content.len() + length) };
            }
            _ => return None,
        }
    }
}

/// The stream of a regular file. A pipe can't be rewound, so it is not touched.
fn regular(api: &Required, file: *mut BIO) -> Option<*mut libc::FILE> {
    let mut stream: *mut libc::FILE = ptr::null_mut();
    // SAFETY: for a file BIO this stores its stream; the status structure is plain data that fstat fills.
    unsafe {
        if (api.BIO_ctrl)(file, BIO_C_GET_FILE_PTR, 0, (&raw mut stream).cast()) != 1 || stream.is_null() {
            return None;
        }
        let mut status: libc::stat = std::mem::zeroed();
        let is_known = libc::fstat(libc::fileno(stream), &mut status) == 0;
        (is_known && status.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(stream)
    }
}

fn add(stack: *mut OPENSSL_STACK, path: *const c_char, caller: Caller, name: &CStr) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut OPENSSL_STACK, *const c_char) -> c_int;
    // SAFETY: both functions have this declaration in OpenSSL.
    let Some(function) = (unsafe { in_libssl::<Function>(caller, name) }) else { return 0 };
    // SAFETY: the program's own arguments.
    listing(|| unsafe { function(stack, path) })
}

/// A function of the caller's libssl.
///
/// # Safety
/// `F` is the function's type as OpenSSL declares it.
pub unsafe fn in_libssl<F: Copy>(caller: Caller, name: &CStr) -> Option<F> {
    libcrypto::defined(LIBSSL.copy(caller.copy()), name)
}

fn listing<R>(run: impl FnOnce() -> R) -> R {
    unwinding::prepare();
    if !process::enabled() || crate::hook::is_inside() {
        return run();
    }
    let mut list = NameList { file: ptr::null_mut(), names: None };
    let _restored = Restored(LIST.replace(&mut list));
    run()
}

/// Restores the outer list, also when the thread is cancelled inside.
struct Restored(*mut NameList);

impl Drop for Restored {
    fn drop(&mut self) {
        LIST.set(self.0);
    }
}
