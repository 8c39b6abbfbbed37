//! Functions that load into the store of an `SSL_CTX`.

use std::ffi::{c_char, c_int};

use windlass_interpose::family::Caller;

use crate::openssl::api::SSL_CTX;
use crate::openssl::copies::LIBSSL;
use crate::openssl::subject::{Target, default_store, defaults, directory, file, uri};
use crate::span::Span;

macro_rules! loaders {
    ($($handler:ident = $name:ident($($arg:ident),*), |$target:pat_param| $sources:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(context: *mut SSL_CTX, $($arg: *const c_char,)* caller: Caller) -> c_int {
            let span = Span::begin(|| Target::context(context, caller));
            let result: c_int = original!(LIBSSL, caller, $name(context, $($arg),*), or 0);
            span.end(stringify!($name), result.into(), |$target| $sources);
            result
        }
    )* };
}

loaders! {
    set_default_verify_paths = SSL_CTX_set_default_verify_paths(), |target| defaults(target, true, true);
    set_default_verify_file = SSL_CTX_set_default_verify_file(), |target| defaults(target, true, false);
    set_default_verify_dir = SSL_CTX_set_default_verify_dir(), |target| defaults(target, false, true);
    set_default_verify_store = SSL_CTX_set_default_verify_store(), |_| default_store();
    load_verify_locations = SSL_CTX_load_verify_locations(cafile, capath),
        |_| file(cafile).into_iter().chain(directory(capath)).collect();
    load_verify_file = SSL_CTX_load_verify_file(cafile), |_| file(cafile).into_iter().collect();
    load_verify_dir = SSL_CTX_load_verify_dir(capath), |_| directory(capath).into_iter().collect();
    load_verify_store = SSL_CTX_load_verify_store(store), |_| uri(store).into_iter().collect();
}
