//! The copies of libcrypto and libssl in this process, kept apart.

use std::ffi::{CStr, c_char};

use windlass_interpose::hook::Caller;
use windlass_interpose::image::Image;
use windlass_interpose::object::Object;

use crate::interposers::{self, ANCHORS};
use crate::openssl::api::{CryptoApi, CryptoOriginals, SslApi, SslOriginals};
use crate::registry::{Foreign, Place, Registry, definitions};

static CRYPTO: Registry<Libcrypto> = Registry::new(ANCHORS[0]);
static SSL: Registry<Libssl> = Registry::new(ANCHORS[1]);

/// One loaded libcrypto.
pub struct Libcrypto {
    object: Place,
    /// What it can be asked.
    pub api: CryptoApi,
    originals: CryptoOriginals,
    /// Name, version and path.
    pub description: String,
    /// Its own additions to stores pass our hooks (Debian). With `-Bsymbolic` they don't.
    pub shows_additions: bool,
    /// From 4.0 on the stack of objects is made when it is asked for.
    pub version: u64,
}

/// One loaded libssl.
pub struct Libssl {
    object: Place,
    /// What it can be asked.
    pub api: SslApi,
    originals: SslOriginals,
    crypto: Option<&'static Libcrypto>,
}

// SAFETY: function addresses, and a link map that is only read while its object is loaded.
unsafe impl Send for Libcrypto {}
// SAFETY: as above.
unsafe impl Sync for Libcrypto {}
// SAFETY: as above.
unsafe impl Send for Libssl {}
// SAFETY: as above.
unsafe impl Sync for Libssl {}

impl Libcrypto {
    /// The libcrypto that a call from this place means.
    pub fn of_caller(caller: Caller) -> Option<&'static Libcrypto> {
        CRYPTO.of(caller.address())
    }

    /// Whether the caller is this library.
    pub fn contains(&self, caller: Caller) -> bool {
        self.object.contains(caller.address())
    }
}

impl Libssl {
    /// The libssl that a call from this place means.
    pub fn of_caller(caller: Caller) -> Option<&'static Libssl> {
        SSL.of(caller.address())
    }

    /// Whether the caller is a libssl that is known.
    pub fn contains(caller: Caller) -> bool {
        SSL.contains(caller.address())
    }

    /// The libcrypto that it works with.
    pub fn crypto(&self) -> Option<&'static Libcrypto> {
        self.crypto.filter(|library| library.object.is_there())
    }
}

impl Foreign for Libcrypto {
    type Originals = CryptoOriginals;

    fn registry() -> &'static Registry<Libcrypto> {
        &CRYPTO
    }

    fn open(object: Object) -> Option<Libcrypto> {
        let find = definitions(&object)?;
        // SAFETY: the names are OpenSSL's, and the declarations in `api` are those of its headers.
        let (api, originals) = unsafe { (CryptoApi::load(&find)?, CryptoOriginals::load(&find)?) };
        // SAFETY: an object whose caller is running.
        let image = unsafe { Image::of_object(&object) };
        let shows_additions = !interposers::hide_additions()
            && image.is_some_and(|image| image.calls_through_plt(c"X509_STORE_add_cert"));
        let version = api.OpenSSL_version_num.map_or(0, |function| {
            // SAFETY: no arguments, no state.
            unsafe { function() }
        });
        let text = api.OpenSSL_version.map_or(c"".as_ptr(), |function| {
            // SAFETY: 0 is OPENSSL_VERSION; the result is a constant string.
            unsafe { function(0) }
        });
        let description = described("OpenSSL", text, &object);
        Some(Libcrypto { object: Place::new(object), api, originals, description, shows_additions, version })
    }

    fn object(&self) -> &Place {
        &self.object
    }

    fn originals(&self) -> &CryptoOriginals {
        &self.originals
    }
}

impl Foreign for Libssl {
    type Originals = SslOriginals;

    fn registry() -> &'static Registry<Libssl> {
        &SSL
    }

    fn open(object: Object) -> Option<Libssl> {
        let find = definitions(&object)?;
        // SAFETY: the names are OpenSSL's, and the declarations in `api` are those of its headers.
        let (api, originals) = unsafe { (SslApi::load(&find)?, SslOriginals::load(&find)?) };
        // An address in libssl itself: it calls the libcrypto that a hooked function of its own would reach.
        let inside = find(c"SSL_CTX_new") as usize;
        Some(Libssl { object: Place::new(object), api, originals, crypto: CRYPTO.of(inside) })
    }

    fn object(&self) -> &Place {
        &self.object
    }

    fn originals(&self) -> &SslOriginals {
        &self.originals
    }
}

/// "OpenSSL 3.0.17 (/lib/libcrypto.so.3)", from a text as "OpenSSL 3.0.17 1 Jul 2025" or "3.7.9".
pub fn described(name: &str, version: *const c_char, object: &Object) -> String {
    // SAFETY: null, or a constant string of the library.
    let version = if version.is_null() { c"" } else { unsafe { CStr::from_ptr(version) } };
    let version = version.to_string_lossy();
    let mut words = version.split(' ').filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let own_name = first.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let (name, number) = if own_name { (first, second) } else { (name, first) };
    // SAFETY: the link map of a loaded object, and its name, which lives as long.
    let path = unsafe { CStr::from_ptr((*object.link_map).l_name) }.to_string_lossy();
    let gap = if number.is_empty() { "" } else { " " };
    format!("{name}{gap}{number} ({path})")
}

/// Calls the original of a function of libcrypto.
macro_rules! crypto {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!(
            $crate::registry::forward::<$crate::openssl::library::Libcrypto, _>, $library, $caller, $name($($arg),*), or $failure)
    };
}

/// Calls the original of a function of libssl.
macro_rules! ssl {
    ($library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!(
            $crate::registry::forward::<$crate::openssl::library::Libssl, _>, $library, $caller, $name($($arg),*), or $failure)
    };
}
pub(crate) use crypto;
pub(crate) use ssl;
