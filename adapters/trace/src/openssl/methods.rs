//! Whether a lookup is one of OpenSSL's own. The commands of a program's methods may have the same numbers, and any
//! kind of arguments.

use std::ptr;

use windlass_interpose::family::Caller;
use windlass_interpose::hook;
use windlass_interpose::ptr_table::PtrTable;

use crate::openssl::api::{X509_LOOKUP, X509_LOOKUP_METHOD, X509_STORE};
use crate::openssl::copies::{LIBCRYPTO, Libcrypto};
use crate::settings;

/// Lookups that were given to a program, and whether their method is OpenSSL's. A freed one stays here; a later one at
/// its address is given to the program by the same functions.
static LOOKUPS: PtrTable<bool> = PtrTable::new();

/// `X509_STORE_add_lookup`
pub fn add_lookup(store: *mut X509_STORE, method: *mut X509_LOOKUP_METHOD, caller: Caller) -> *mut X509_LOOKUP {
    let lookup = original!(LIBCRYPTO, caller, X509_STORE_add_lookup(store, method), or ptr::null_mut());
    note(lookup, method, caller);
    lookup
}

/// `X509_LOOKUP_new`
pub fn new_lookup(method: *mut X509_LOOKUP_METHOD, caller: Caller) -> *mut X509_LOOKUP {
    let lookup = original!(LIBCRYPTO, caller, X509_LOOKUP_new(method), or ptr::null_mut());
    note(lookup, method, caller);
    lookup
}

/// Whether the caller passes a lookup of OpenSSL's own methods, as far as is known.
pub fn is_own(lookup: *mut X509_LOOKUP, caller: Caller) -> bool {
    // Only the functions above create lookups of other methods.
    settings::enabled() && LOOKUPS.get(lookup as usize).unwrap_or_else(|| caller.is_own())
}

fn note(lookup: *mut X509_LOOKUP, method: *mut X509_LOOKUP_METHOD, caller: Caller) {
    if lookup.is_null() || !settings::enabled() || hook::is_inside() {
        return;
    }
    hook::shielded(|| {
        let known = LOOKUPS.get(lookup as usize);
        // Lookups that OpenSSL creates for itself need not be known.
        if known.is_none() && caller.is_own() {
            return None;
        }
        let api = &Libcrypto::of_caller(caller)?.api;
        let own = [api.X509_LOOKUP_file, api.X509_LOOKUP_hash_dir, api.X509_LOOKUP_store];
        // SAFETY: these functions return constants.
        let is_own = own.into_iter().flatten().any(|own| unsafe { own() } == method);
        if known != Some(is_own) {
            LOOKUPS.insert(lookup as usize, is_own);
        }
        Some(())
    });
}
