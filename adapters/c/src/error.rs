//! Errors: a code, and what a person needs to know, in the caller's memory.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Display, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass::{LoadError, Unsupported};

/// `WINDLASS_OK` and the errors, in the order of windlass.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    Ok,
    Argument,
    Missing,
    System,
    NotAFile,
    TooLarge,
    Changing,
    Unsupported,
    Name,
    NoDefault,
    Library,
    Memory,
    Internal,
}

const TEXTS: [&CStr; 13] = [
    c"no error",
    c"an argument that is not allowed",
    c"the file does not exist",
    c"the operating system returned an error",
    c"not a regular file",
    c"the file is too large",
    c"the file kept changing while it was read",
    c"the file has something in it that is not read here",
    c"a name that can't be compared",
    c"no bundle of roots was found on this machine",
    c"the preload library can't be loaded",
    c"not enough memory",
    c"a fault in this library",
];

/// The text of an error code. Never null; the text is a constant.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_error_text(code: c_int) -> *const c_char {
    let text = usize::try_from(code).ok().and_then(|code| TEXTS.get(code));
    text.copied().unwrap_or(c"an unknown error").as_ptr()
}

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    /// `errno`, or 0.
    system: c_int,
    path: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Nothing,
    Load(LoadError),
    Text(String),
}

impl Failure {
    /// A failure that needs no more words than its code.
    pub fn new(code: Code) -> Failure {
        Failure { code, system: 0, path: PathBuf::new(), what: What::Nothing }
    }

    /// The preload library at this path can't be used.
    pub fn of_library(path: &Path, why: impl Display) -> Failure {
        let what = What::Text(format!("{}: {why}", path.display()));
        Failure { code: Code::Library, system: 0, path: path.to_owned(), what }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let code = match &error {
            error if error.is_out_of_memory() => Code::Memory,
            LoadError::Missing { .. } => Code::Missing,
            LoadError::Io { .. } => Code::System,
            LoadError::NotAFile { .. } => Code::NotAFile,
            LoadError::TooLarge { .. } => Code::TooLarge,
            LoadError::ChangedWhileReading { .. } => Code::Changing,
            LoadError::Unsupported { what: Unsupported::TooLarge, .. } => Code::TooLarge,
            LoadError::Unsupported { .. } => Code::Unsupported,
            _ => Code::Internal,
        };
        let system = match &error {
            LoadError::Missing { .. } => libc::ENOENT,
            LoadError::Io { errno, .. } => *errno,
            _ => 0,
        };
        Failure { code, system, path: error.path().to_owned(), what: What::Load(error) }
    }
}

const PATH: usize = 256;
const TEXT: usize = 512;

/// `windlass_error`.
#[repr(C)]
pub struct ErrorInfo {
    code: c_int,
    system_error: c_int,
    path: [u8; PATH],
    text: [u8; TEXT],
}

/// Tells the caller. Needs no memory.
///
/// # Safety
/// `to` is null or valid for writes.
pub unsafe fn tell(failure: &Failure, to: *mut ErrorInfo) {
    if to.is_null() {
        return;
    }
    let mut info =
        ErrorInfo { code: failure.code as c_int, system_error: failure.system, path: [0; PATH], text: [0; TEXT] };
    Cut(&mut info.path).push(failure.path.as_os_str().as_bytes());
    let mut text = Cut(&mut info.text);
    // `Cut` takes everything.
    let _: fmt::Result = match &failure.what {
        What::Load(error) => write!(text, "{error}"),
        What::Text(what) => text.write_str(what),
        What::Nothing => {
            text.push(TEXTS.get(failure.code as usize).map_or(&[], |text| text.to_bytes()));
            Ok(())
        }
    };
    // SAFETY: not null, and as above.
    unsafe { to.write(info) };
}

/// Room for text. What does not fit is cut off; the last byte stays 0.
struct Cut<'a>(&'a mut [u8]);

impl Cut<'_> {
    fn push(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.0.len().saturating_sub(1));
        let (to, rest) = std::mem::take(&mut self.0).split_at_mut(len);
        to.copy_from_slice(bytes.get(..len).unwrap_or_default());
        self.0 = rest;
    }
}

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
