//! Functions that load through an `X509_LOOKUP`.

use std::ffi::{c_char, c_int, c_long};

use windlass_interpose::family::Caller;

use crate::openssl::api::{
    OSSL_LIB_CTX, X509_FILETYPE_DEFAULT, X509_L_ADD_DIR, X509_L_ADD_STORE, X509_L_FILE_LOAD, X509_L_LOAD_STORE,
    X509_LOOKUP,
};
use crate::openssl::copies::LIBCRYPTO;
use crate::openssl::methods;
use crate::openssl::subject::{Target, default_store, defaults, directory, file, uri};
use crate::source::Source;
use crate::span::Span;

macro_rules! controls {
    ($($handler:ident = $name:ident($($arg:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(clippy::too_many_arguments)] // as many as the foreign function has
        pub fn $handler(
            lookup: *mut X509_LOOKUP, command: c_int, argument: *const c_char, number: c_long,
            answer: *mut *mut c_char, $($arg: $type,)* caller: Caller,
        ) -> c_int {
            if !is_load(command, lookup, caller) {
                return original!(
                    LIBCRYPTO, caller, $name(lookup, command, argument, number, answer, $($arg),*), or - 1
                );
            }
            let span = Span::begin(|| Target::lookup(lookup, caller));
            let result: c_int =
                original!(LIBCRYPTO, caller, $name(lookup, command, argument, number, answer, $($arg),*), or - 1);
            span.end(stringify!($name), result.into(), |target| sources(target, command, argument, number));
            result
        }
    )* };
}

controls! {
    ctrl = X509_LOOKUP_ctrl();
    ctrl_ex = X509_LOOKUP_ctrl_ex(context: *mut OSSL_LIB_CTX, properties: *const c_char);
}

macro_rules! loaders {
    ($($handler:ident = $name:ident($($arg:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(
            lookup: *mut X509_LOOKUP, path: *const c_char, kind: c_int, $($arg: $type,)* caller: Caller,
        ) -> c_int {
            let span = Span::begin(|| Target::lookup(lookup, caller));
            let result: c_int = original!(LIBCRYPTO, caller, $name(lookup, path, kind, $($arg),*), or 0);
            span.end(stringify!($name), result.into(), |target| match file(path) {
                Some(file) => vec![file],
                None => defaults(target, c_long::from(kind) == X509_FILETYPE_DEFAULT, false),
            });
            result
        }
    )* };
}

loaders! {
    load_cert_file = X509_load_cert_file();
    load_cert_file_ex = X509_load_cert_file_ex(context: *mut OSSL_LIB_CTX, properties: *const c_char);
    load_cert_crl_file = X509_load_cert_crl_file();
    load_cert_crl_file_ex = X509_load_cert_crl_file_ex(context: *mut OSSL_LIB_CTX, properties: *const c_char);
}

/// Whether a command loads. Other commands are a program's own, and so are all commands that it gives to its own
/// method.
fn is_load(command: c_int, lookup: *mut X509_LOOKUP, caller: Caller) -> bool {
    matches!(command, X509_L_FILE_LOAD | X509_L_ADD_DIR | X509_L_ADD_STORE | X509_L_LOAD_STORE)
        && methods::is_own(lookup, caller)
}

/// The sources that the arguments name, as by_file.c, by_dir.c and by_store.c read them.
fn sources(target: Option<&Target>, command: c_int, argument: *const c_char, number: c_long) -> Vec<Source> {
    let default = number == X509_FILETYPE_DEFAULT;
    match command {
        X509_L_FILE_LOAD if default => defaults(target, true, false),
        X509_L_FILE_LOAD => file(argument).into_iter().collect(),
        X509_L_ADD_DIR if default => defaults(target, false, true),
        X509_L_ADD_DIR => directory(argument).into_iter().collect(),
        _ if argument.is_null() => default_store(),
        _ => uri(argument).into_iter().collect(),
    }
}
