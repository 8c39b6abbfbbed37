//! Functions that read the CA names which a server sends to its clients. They parse whole certificates for this.

use std::ffi::{c_char, c_int};
use std::ptr;

use windlass_interpose::family::Caller;

use crate::openssl::api::{OPENSSL_STACK, OSSL_LIB_CTX};
use crate::openssl::copies::LIBSSL;
use crate::openssl::subject::{Target, directory, file, uri};
use crate::span::Span;

macro_rules! makers {
    ($($handler:ident = $name:ident($($arg:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(path: *const c_char, $($arg: $type,)* caller: Caller) -> *mut OPENSSL_STACK {
            let mut span = Span::begin(|| Target::new_names(caller));
            let stack = original!(LIBSSL, caller, $name(path, $($arg),*), or ptr::null_mut());
            if let Some(target) = span.subject_mut() {
                target.made(stack);
            }
            span.end(stringify!($name), i64::from(!stack.is_null()), |_| file(path).into_iter().collect());
            stack
        }
    )* };
}

makers! {
    load_client_ca_file = SSL_load_client_CA_file();
    load_client_ca_file_ex = SSL_load_client_CA_file_ex(context: *mut OSSL_LIB_CTX, properties: *const c_char);
}

macro_rules! adders {
    ($($handler:ident = $name:ident, $source:ident;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        pub fn $handler(stack: *mut OPENSSL_STACK, path: *const c_char, caller: Caller) -> c_int {
            let span = Span::begin(|| Target::names(stack, caller));
            let result: c_int = original!(LIBSSL, caller, $name(stack, path), or 0);
            span.end(stringify!($name), result.into(), |_| $source(path).into_iter().collect());
            result
        }
    )* };
}

adders! {
    add_file_cert_subjects = SSL_add_file_cert_subjects_to_stack, file;
    add_dir_cert_subjects = SSL_add_dir_cert_subjects_to_stack, directory;
    add_store_cert_subjects = SSL_add_store_cert_subjects_to_stack, uri;
}
