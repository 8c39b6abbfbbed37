//! The target of a load, and its contents.

use std::ffi::{c_char, c_void};

use windlass_interpose::family::Caller;

use crate::json::copied;
use crate::openssl::api::{OPENSSL_STACK, SSL_CTX, X509_LOOKUP, X509_STORE};
use crate::openssl::copies::{Libcrypto, Libssl};
use crate::settings::environment;
use crate::source::{Source, Subject};

const VERSION_4_0: u64 = 0x4000_0000;

/// A store, or a list of names.
pub struct Target {
    library: &'static Libcrypto,
    what: What,
}

enum What {
    Store(*mut X509_STORE),
    /// A list that the call adds to.
    Names(*const OPENSSL_STACK),
    /// A list that the call creates; counted afterwards.
    NewNames,
}

impl Target {
    /// The store passed to a function of libcrypto.
    pub fn store(store: *mut X509_STORE, caller: Caller) -> Option<Target> {
        (!store.is_null()).then_some(())?;
        Some(Target { library: Libcrypto::of_caller(caller)?, what: What::Store(store) })
    }

    /// The store of a lookup.
    pub fn lookup(lookup: *mut X509_LOOKUP, caller: Caller) -> Option<Target> {
        (!lookup.is_null()).then_some(())?;
        let library = Libcrypto::of_caller(caller)?;
        // SAFETY: the program passes a lookup of this libcrypto.
        let store = unsafe { library.api.X509_LOOKUP_get_store?(lookup) };
        (!store.is_null()).then_some(Target { library, what: What::Store(store) })
    }

    /// The store of a context.
    pub fn context(context: *mut SSL_CTX, caller: Caller) -> Option<Target> {
        (!context.is_null()).then_some(())?;
        let libssl = Libssl::of_caller(caller)?;
        // SAFETY: the program passes a context of this libssl.
        let store = unsafe { libssl.api.SSL_CTX_get_cert_store?(context) };
        (!store.is_null()).then_some(Target { library: libssl.crypto()?, what: What::Store(store) })
    }

    /// A list of names that the call adds to.
    pub fn names(stack: *mut OPENSSL_STACK, caller: Caller) -> Option<Target> {
        Some(Target { library: Libssl::of_caller(caller)?.crypto()?, what: What::Names(stack) })
    }

    /// A list of names that the call is going to create.
    pub fn new_names(caller: Caller) -> Option<Target> {
        Some(Target { library: Libssl::of_caller(caller)?.crypto()?, what: What::NewNames })
    }

    /// Notes the list that was created.
    pub fn made(&mut self, stack: *const OPENSSL_STACK) {
        self.what = What::Names(stack);
    }

    /// The number of objects in a store.
    pub fn objects(library: &Libcrypto, store: *mut X509_STORE) -> Option<i64> {
        let (number, api) = (library.api.OPENSSL_sk_num?, &library.api);
        if library.version < VERSION_4_0 {
            // SAFETY: a valid store; this reads a pointer that never changes, and a number.
            let number = unsafe { number(api.X509_STORE_get0_objects?(store)) };
            return (number >= 0).then_some(number.into());
        }
        // 4.0's get0_objects rebuilds the stack without a lock; this function returns a copy. SAFETY: a valid store;
        // the copy is ours.
        let copy = unsafe { api.X509_STORE_get1_objects?(store) };
        (!copy.is_null()).then_some(())?;
        // SAFETY: as above; the elements are objects.
        unsafe {
            let count = number(copy);
            let free = std::mem::transmute::<
                unsafe extern "C-unwind" fn(*mut crate::openssl::api::X509_OBJECT),
                unsafe extern "C" fn(*mut c_void),
            >(api.X509_OBJECT_free?);
            api.OPENSSL_sk_pop_free?(copy, free);
            (count >= 0).then_some(count.into())
        }
    }
}

impl Subject for Target {
    fn library(&self) -> &str {
        &self.library.description
    }

    fn store(&self) -> Option<usize> {
        match self.what {
            What::Store(store) => Some(store as usize),
            _ => None,
        }
    }

    fn held(&self) -> Option<i64> {
        match self.what {
            What::Store(store) => Target::objects(self.library, store),
            What::NewNames => Some(0),
            What::Names(stack) => {
                // SAFETY: the program's stack; -1 for null.
                let count = unsafe { self.library.api.OPENSSL_sk_num?(stack) };
                Some(i64::from(count).max(0))
            }
        }
    }

    fn certificates(&self, before: Option<i64>, _result: i64) -> Option<i64> {
        self.held().zip(before).map(|(now, before)| now - before)
    }

    fn parsed(&self, seen: i64, _result: i64) -> Option<i64> {
        let is_store = matches!(self.what, What::Store(_));
        (is_store && self.library.shows_additions()).then_some(seen)
    }
}

/// A file.
pub fn file(path: *const c_char) -> Option<Source> {
    named("file", path)
}

/// A hashed directory.
pub fn directory(path: *const c_char) -> Option<Source> {
    named("directory", path)
}

/// An OSSL_STORE.
pub fn uri(uri: *const c_char) -> Option<Source> {
    named("uri", uri)
}

fn named(kind: &'static str, path: *const c_char) -> Option<Source> {
    // SAFETY: the program passes NUL-terminated strings or null.
    unsafe { copied(path) }.map(|path| Source { kind, path: Some(path) })
}

/// The sources that are read if the program names none (x509_d2.c, by_file.c, by_dir.c: the variable, else the path of
/// the build).
pub fn defaults(library: Option<&Target>, file: bool, directory: bool) -> Vec<Source> {
    let api = library.map(|target| &target.library.api);
    type Name = unsafe extern "C-unwind" fn() -> *const c_char;
    let path = |variable: Option<Name>, built_in: Option<Name>| {
        // SAFETY: these functions return constant strings.
        let variable = unsafe { copied(variable?()) }?;
        let variable = std::ffi::CString::new(variable).ok()?;
        // SAFETY: as above.
        environment(&variable).or_else(|| unsafe { copied(built_in?()) })
    };
    let mut sources = Vec::new();
    if file {
        let path = api.and_then(|api| path(api.X509_get_default_cert_file_env, api.X509_get_default_cert_file));
        sources.push(Source { kind: "default-file", path });
    }
    if directory {
        let path = api.and_then(|api| path(api.X509_get_default_cert_dir_env, api.X509_get_default_cert_dir));
        sources.push(Source { kind: "default-directory", path });
    }
    sources
}

/// The default OSSL_STORE of OpenSSL 3.0 and later.
pub fn default_store() -> Vec<Source> {
    vec![Source { kind: "default-store", path: None }]
}
