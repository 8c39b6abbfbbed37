//! Finding a libcrypto, and its own version and paths.

use std::ffi::{CStr, OsStr, c_char};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use thiserror::Error;

use crate::functions::Functions;

/// The names under which distributions install it, by OpenSSL's major version.
const NAMES: [&str; 3] = ["libcrypto.so.4", "libcrypto.so.3", "libcrypto.so.1.1"];

/// `OPENSSL_VERSION_NUMBER` of 1.1.1, the oldest that Windlass serves.
const OLDEST: u64 = 0x1010_1000;
/// LibreSSL reports its version as 2.0.
const LIBRESSL: std::ops::Range<u64> = 0x2000_0000..0x3000_0000;
/// The first version number that is not known yet.
const BEYOND: u64 = 0x5000_0000;

/// One libcrypto, loaded into this process for good.
pub struct Libcrypto {
    name: String,
    pub(crate) functions: Functions,
}

/// The reason why a libcrypto can't be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The dynamic linker could not load it. Its message names the file.
    #[error("{0}")]
    NotLoaded(String),
    /// It lacks a function.
    #[error("{name} has no function {function}")]
    Incomplete {
        /// The name that the library was opened by.
        name: String,
        /// The missing function.
        function: &'static str,
    },
    /// It is not OpenSSL 1.1.1 to 4.x.
    #[error("{name} is {version}, not OpenSSL 1.1.1 to 4")]
    OtherVersion {
        /// The name that the library was opened by.
        name: String,
        /// The version that it reports.
        version: String,
    },
}

impl Libcrypto {
    /// All libcryptos that the dynamic linker finds under the usual names, the newest first.
    pub fn all() -> Vec<Libcrypto> {
        NAMES.into_iter().filter_map(|name| Libcrypto::open(Path::new(name)).ok()).collect()
    }

    /// Loads a libcrypto, by its path, or by a name that the dynamic linker looks up.
    pub fn open(name: &Path) -> Result<Libcrypto, OpenError> {
        let text = name.to_string_lossy().into_owned();
        if text.contains('\0') {
            return Err(OpenError::NotLoaded(format!("{text:?} holds a NUL byte")));
        }
        // With a local scope, so that several libcryptos don't mix.
        // SAFETY: the object's initialisers run, as in each program that is linked against it.
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
        // It is never closed: libcrypto registers functions that run when the process ends.
        let library = ManuallyDrop::new(library.map_err(|error| OpenError::NotLoaded(error.to_string()))?);
        // SAFETY: nothing else has these names. A library that is not OpenSSL 1.1.1 or later (LibreSSL) is rejected
        // below, by two functions without arguments that all of them have.
        let functions = unsafe { Functions::load(&library) }
            .map_err(|function| OpenError::Incomplete { name: text.clone(), function })?;
        let library = Libcrypto { name: text, functions };
        let number = library.version_number();
        if !(OLDEST..BEYOND).contains(&number) || LIBRESSL.contains(&number) {
            let version = library.version().to_owned();
            return Err(OpenError::OtherVersion { name: library.name, version });
        }
        Ok(library)
    }

    /// The name it was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version that it reports, for example `OpenSSL 3.0.22 25 Aug 2026`.
    pub fn version(&self) -> &str {
        const OPENSSL_VERSION: i32 = 0;
        // SAFETY: any number is a valid argument.
        self.text(unsafe { (self.functions.OpenSSL_version)(OPENSSL_VERSION) }).to_str().unwrap_or_default()
    }

    #[allow(clippy::useless_conversion, reason = "c_ulong has 32 bits on some machines")]
    fn version_number(&self) -> u64 {
        // SAFETY: no arguments, no state.
        u64::from(unsafe { (self.functions.OpenSSL_version_num)() })
    }

    /// The CAfile of its default paths, as built in: SSL_CERT_FILE is ignored.
    pub fn default_file(&self) -> &Path {
        // SAFETY: no arguments, no state.
        Path::new(self.text(unsafe { (self.functions.X509_get_default_cert_file)() }))
    }

    /// The CApath of its default paths, as built in: SSL_CERT_DIR is ignored.
    pub fn default_directory(&self) -> &Path {
        // SAFETY: no arguments, no state.
        Path::new(self.text(unsafe { (self.functions.X509_get_default_cert_dir)() }))
    }

    /// A constant string of the library.
    fn text(&self, constant: *const c_char) -> &OsStr {
        if constant.is_null() {
            return OsStr::new("");
        }
        // SAFETY: the functions that are called here return strings of the library's own, never freed, that end in NUL;
        // the library is never closed.
        OsStr::from_bytes(unsafe { CStr::from_ptr(constant) }.to_bytes())
    }
}

impl std::fmt::Debug for Libcrypto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Libcrypto({}, {})", self.name, self.version())
    }
}
