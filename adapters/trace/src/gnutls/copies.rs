//! The copies of libgnutls in this process, each with its own state.

use std::ptr;

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{Caller, Family, Libraries};

use crate::gnutls::api::Api;
use crate::openssl::copies::{definitions, described};

/// The copies of libgnutls.
pub static LIBGNUTLS: Family = Family::new(&[Name::new(c"gnutls_check_version")]);

static GNUTLS: Libraries<Libgnutls> = Libraries::new(&LIBGNUTLS);

/// One loaded libgnutls.
pub struct Libgnutls {
    /// Its functions that we call.
    pub api: Api,
    /// Its name, version and path.
    pub description: String,
}

impl Libgnutls {
    /// The libgnutls that a call is meant for.
    pub fn of_caller(caller: Caller) -> Option<&'static Libgnutls> {
        GNUTLS.of(caller, |copy| {
            // SAFETY: the names are GnuTLS', and the declarations in `api` are those of its headers.
            let api = unsafe { Api::load(definitions(copy)) }?;
            let version = api.gnutls_check_version.map_or(ptr::null(), |function| {
                // SAFETY: when no version is requested, the function returns its own, a constant string.
                unsafe { function(ptr::null()) }
            });
            Some(Libgnutls { api, description: described("GnuTLS", version, copy) })
        })
    }
}
