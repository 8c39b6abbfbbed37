//! The copies of libcrypto and libssl in this process, each with its own state.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use windlass_interpose::definitions::Name;
use windlass_interpose::elf::FILTER;
use windlass_interpose::family::{Caller, Copy, Family, Libraries, Origin};
use windlass_interpose::{linker, way_in};

use crate::openssl::api::{CryptoApi, SslApi};

/// The copies of libcrypto.
pub static LIBCRYPTO: Family = Family::resident(&[Name::new(c"X509_STORE_CTX_new"), Name::new(c"ERR_clear_error")]);
/// The copies of libssl.
pub static LIBSSL: Family = Family::resident(&[Name::new(c"SSL_CTX_new"), Name::new(c"SSL_get_error")]);

static CRYPTO: Libraries<Libcrypto> = Libraries::new(&LIBCRYPTO);
static SSL: Libraries<Libssl> = Libraries::new(&LIBSSL);

/// One loaded libcrypto. We hold no reference to it: a library that the program unloads is unloaded, as without us.
pub struct Libcrypto {
    copy: &'static Copy,
    /// The caller in its calls of itself.
    itself: Caller,
    /// Its functions that we call.
    pub api: CryptoApi,
    /// Its name, version and path.
    pub description: String,
    /// Its version number: from 4.0 on the stack of objects is created when it is asked for.
    pub version: u64,
}

/// One loaded libssl.
pub struct Libssl {
    /// Its functions that we call.
    pub api: SslApi,
    crypto: Option<Caller>,
}

impl Libcrypto {
    /// The libcrypto that a call is meant for.
    pub fn of_caller(caller: Caller) -> Option<&'static Libcrypto> {
        CRYPTO.of(caller, |copy| Libcrypto::open(copy, Caller::new(caller.copy(), Origin::Itself)))
    }

    /// Whether its own additions to stores can be counted: they pass our hook (Debian; not with `-Bsymbolic`), and
    /// nothing behind it (the preload library) makes others.
    pub fn shows_additions(&self) -> bool {
        const ADD_CERT: Name = Name::new(c"X509_STORE_add_cert");
        LIBCRYPTO.sees_own_call(self.copy, ADD_CERT)
            && LIBCRYPTO.original(self.itself, ADD_CERT) == self.copy.find(ADD_CERT)
    }

    fn open(copy: &'static Copy, itself: Caller) -> Option<Libcrypto> {
        // SAFETY: the names are OpenSSL's, and the declarations in `api` are those of its headers.
        let api = unsafe { CryptoApi::load(definitions(copy)) }?;
        let version = api.OpenSSL_version_num.map_or(0, |function| {
            // SAFETY: no arguments, no state.
            unsafe { function() }
        });
        let text = api.OpenSSL_version.map_or(c"".as_ptr(), |function| {
            // SAFETY: 0 is OPENSSL_VERSION; the result is a constant string.
            unsafe { function(0) }
        });
        let description = described("OpenSSL", text, copy);
        Some(Libcrypto { copy, itself, api, description, version })
    }
}

impl Libssl {
    /// The libssl that a call is meant for.
    pub fn of_caller(caller: Caller) -> Option<&'static Libssl> {
        SSL.of(caller, |copy| {
            // SAFETY: as in `Libcrypto::open`.
            Some(Libssl { api: unsafe { SslApi::load(definitions(copy)) }?, crypto: used_by(copy) })
        })
    }

    /// The libcrypto that it uses.
    pub fn crypto(&self) -> Option<&'static Libcrypto> {
        let is_there = |caller: &Caller| LIBCRYPTO.copy(caller.copy()).object().is_some();
        self.crypto.filter(is_there).and_then(Libcrypto::of_caller)
    }
}

/// The libcrypto that the slots of a libssl lead to.
fn used_by(libssl: &Copy) -> Option<Caller> {
    let object = libssl.object()?;
    let outside = |(number, _): (usize, &Copy)| Caller::new(number, Origin::Companion);
    let is_same = |(_, copy): &(usize, &Copy)| copy.object().is_some_and(|own| own.dynamic == object.dynamic);
    let mut found = LIBCRYPTO.copies().find(is_same).map(outside);
    object.slots(&[1; FILTER], |slot| {
        // SAFETY: a slot of an object that is in use by a caller.
        let value = unsafe { *slot.at };
        found = found.or_else(|| {
            if !linker::own_range().contains(&value) {
                return LIBCRYPTO.copies().find(|(_, copy)| copy.contains(value)).map(outside);
            }
            let (family, caller) = way_in::hook_of(value)?;
            ptr::eq::<Family>(family, &LIBCRYPTO).then_some(caller)
        });
        found.is_none()
    });
    found
}

/// Returns a function that finds the copy's own definition of a name.
pub fn definitions(copy: &Copy) -> impl Fn(&CStr) -> *mut c_void {
    |name: &CStr| copy.find(Name::new(name)).map_or(ptr::null_mut(), |address| address as *mut c_void)
}

/// "OpenSSL 3.0.17 (/lib/libcrypto.so.3)", from a text such as "OpenSSL 3.0.17 1 Jul 2025" or "3.7.9".
pub fn described(name: &str, version: *const c_char, copy: &Copy) -> String {
    let text = |from: *const c_char| {
        // SAFETY: a constant string of the library, or its path, which lives as long as it is loaded.
        if from.is_null() { c"" } else { unsafe { CStr::from_ptr(from) } }.to_string_lossy()
    };
    let (version, path) = (text(version), text(copy.path()));
    let mut words = version.split(' ').filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let own_name = first.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let (name, number) = if own_name { (first, second) } else { (name, first) };
    let gap = if number.is_empty() { "" } else { " " };
    format!("{name}{gap}{number} ({path})")
}
