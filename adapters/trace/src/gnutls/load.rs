//! Functions that load into credentials and trust lists.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use windlass_interpose::family::Caller;

use crate::gnutls::api::{Certificate, Credentials, Datum, INTERNAL_ERROR, List};
use crate::gnutls::copies::{LIBGNUTLS, Libgnutls};
use crate::json::copied;
use crate::source::{Source, Subject};
use crate::span::{self, Span};

/// A trust list, possibly one that belongs to credentials.
struct Target {
    library: &'static Libgnutls,
    list: *mut List,
}

impl Target {
    fn list(list: *mut List, caller: Caller) -> Option<Target> {
        (!list.is_null()).then_some(Target { library: Libgnutls::of_caller(caller)?, list })
    }

    fn credentials(credentials: *mut Credentials, caller: Caller) -> Option<Target> {
        let library = Libgnutls::of_caller(caller)?;
        Some(Target { library, list: list_of(library, credentials)? })
    }
}

/// The trust list of credentials.
pub fn list_of(library: &Libgnutls, credentials: *mut Credentials) -> Option<*mut List> {
    (!credentials.is_null()).then_some(())?;
    let mut list = ptr::null_mut();
    // SAFETY: the program's credentials, and room for the pointer.
    unsafe { library.api.gnutls_certificate_get_trust_list?(credentials, &mut list) };
    (!list.is_null()).then_some(list)
}

impl Subject for Target {
    fn library(&self) -> &str {
        &self.library.description
    }

    fn store(&self) -> Option<usize> {
        Some(self.list as usize)
    }

    fn held(&self) -> Option<i64> {
        None
    }

    fn certificates(&self, _before: Option<i64>, result: i64) -> Option<i64> {
        (result >= 0).then_some(result)
    }

    fn may_be_on_token(&self, sources: &[Source]) -> bool {
        // The system's trust without a file: in a build that asks p11-kit, or one that does not show its reads.
        sources.iter().any(|source| source.kind == "uri" || (source.kind == "system" && source.path.is_none()))
    }

    fn parsed(&self, _seen: i64, result: i64) -> Option<i64> {
        (result >= 0).then_some(result)
    }
}

macro_rules! loaders {
    ($($handler:ident = $name:ident($object:ident: $kind:ident $(, $arg:ident: $type:ty)*), $sources:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler($object: loaders!(@type $kind), $($arg: $type,)* caller: Caller) -> c_int {
            let span = Span::begin(|| Target::$kind($object, caller));
            let result: c_int = original!(LIBGNUTLS, caller, $name($object, $($arg),*), or INTERNAL_ERROR);
            span.end(stringify!($name), result.into(), |_| $sources);
            result
        }
    )* };
    // Inside another load, these functions take data that the outer load has read: their events would say nothing more,
    // and a directory makes two of them for each file.
    (from memory: $($handler:ident = $name:ident($object:ident: $kind:ident $(, $arg:ident: $type:ty)*);)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler($object: loaders!(@type $kind), $($arg: $type,)* caller: Caller) -> c_int {
            if span::is_loading() {
                return original!(LIBGNUTLS, caller, $name($object, $($arg),*), or INTERNAL_ERROR);
            }
            let span = Span::begin(|| Target::$kind($object, caller));
            let result: c_int = original!(LIBGNUTLS, caller, $name($object, $($arg),*), or INTERNAL_ERROR);
            span.end(stringify!($name), result.into(), |_| memory());
            result
        }
    )* };
    (@type list) => { *mut List };
    (@type credentials) => { *mut Credentials };
}

loaders! {
    set_system_trust = gnutls_certificate_set_x509_system_trust(on: credentials), system();
    set_trust_file = gnutls_certificate_set_x509_trust_file(on: credentials, path: *const c_char, format: c_uint),
        named("file", path);
    set_trust_dir = gnutls_certificate_set_x509_trust_dir(on: credentials, path: *const c_char, format: c_uint),
        named("directory", path);

    add_system_trust = gnutls_x509_trust_list_add_system_trust(on: list, flags: c_uint, verify_flags: c_uint), system();
    add_trust_file = gnutls_x509_trust_list_add_trust_file(
        on: list, path: *const c_char, crls: *const c_char, format: c_uint, flags: c_uint, verify_flags: c_uint),
        named("file", path);
    add_trust_dir = gnutls_x509_trust_list_add_trust_dir(
        on: list, path: *const c_char, crls: *const c_char, format: c_uint, flags: c_uint, verify_flags: c_uint),
        named("directory", path);
}

loaders! {
    from memory:
    set_trust_mem = gnutls_certificate_set_x509_trust_mem(on: credentials, data: *const Datum, format: c_uint);
    set_trust = gnutls_certificate_set_x509_trust(on: credentials, list: *const *mut Certificate, size: c_int);
    add_trust_mem = gnutls_x509_trust_list_add_trust_mem(
        on: list, cas: *const Datum, crls: *const Datum, format: c_uint, flags: c_uint, verify_flags: c_uint);
    add_cas = gnutls_x509_trust_list_add_cas(
        on: list, certificates: *const *mut Certificate, size: c_uint, flags: c_uint
    );
}

fn system() -> Vec<Source> {
    vec![Source { kind: "system", path: None }]
}

fn memory() -> Vec<Source> {
    vec![Source { kind: "memory", path: None }]
}

/// A path; GnuTLS also accepts PKCS#11 URLs as files (verify-high2.c).
fn named(kind: &'static str, path: *const c_char) -> Vec<Source> {
    // SAFETY: the program passes a NUL-terminated string or null.
    let path = unsafe { copied(path) };
    let is_url = |path: &Vec<u8>| path.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"pkcs11:"));
    let kind = if path.as_ref().is_some_and(is_url) { "uri" } else { kind };
    path.map(|path| Source { kind, path: Some(path) }).into_iter().collect()
}
