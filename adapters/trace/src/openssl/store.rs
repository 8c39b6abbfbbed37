//! Functions that load into an `X509_STORE`.

use std::ffi::{c_char, c_int};

use windlass_interpose::family::Caller;

use crate::openssl::api::{OSSL_LIB_CTX, X509_STORE};
use crate::openssl::copies::LIBCRYPTO;
use crate::openssl::subject::{Target, defaults, directory, file, uri};
use crate::span::Span;

macro_rules! loaders {
    ($($handler:ident = $name:ident($($arg:ident: $type:ty),*), |$target:pat_param| $sources:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(store: *mut X509_STORE, $($arg: $type,)* caller: Caller) -> c_int {
            let span = Span::begin(|| Target::store(store, caller));
            let result: c_int = original!(LIBCRYPTO, caller, $name(store, $($arg),*), or 0);
            span.end(stringify!($name), result.into(), |$target| $sources);
            result
        }
    )* };
}

loaders! {
    set_default_paths = X509_STORE_set_default_paths(), |target| defaults(target, true, true);
    set_default_paths_ex = X509_STORE_set_default_paths_ex(context: *mut OSSL_LIB_CTX, properties: *const c_char),
        |target| defaults(target, true, true);
    load_file = X509_STORE_load_file(path: *const c_char), |_| file(path).into_iter().collect();
    load_file_ex = X509_STORE_load_file_ex(path: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char),
        |_| file(path).into_iter().collect();
    load_path = X509_STORE_load_path(path: *const c_char), |_| directory(path).into_iter().collect();
    load_store = X509_STORE_load_store(name: *const c_char), |_| uri(name).into_iter().collect();
    load_store_ex = X509_STORE_load_store_ex(
        name: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char
    ),
        |_| uri(name).into_iter().collect();
    load_locations = X509_STORE_load_locations(cafile: *const c_char, capath: *const c_char),
        |_| file(cafile).into_iter().chain(directory(capath)).collect();
    load_locations_ex = X509_STORE_load_locations_ex(
        cafile: *const c_char, capath: *const c_char, context: *mut OSSL_LIB_CTX, properties: *const c_char),
        |_| file(cafile).into_iter().chain(directory(capath)).collect();
}
