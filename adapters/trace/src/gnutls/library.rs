//! The copies of libgnutls in this process, kept apart.

use std::ptr;

use windlass_interpose::hook::Caller;
use windlass_interpose::object::Object;

use crate::gnutls::api::{Api, Originals};
use crate::interposers::ANCHORS;
use crate::openssl::library::described;
use crate::registry::{Foreign, Place, Registry, definitions};

static GNUTLS: Registry<Libgnutls> = Registry::new(ANCHORS[2]);

/// One loaded libgnutls.
pub struct Libgnutls {
    object: Place,
    /// What it can be asked.
    pub api: Api,
    originals: Originals,
    /// Name, version and path.
    pub description: String,
}

// SAFETY: function addresses, and a link map that is only read while its object is loaded.
unsafe impl Send for Libgnutls {}
// SAFETY: as above.
unsafe impl Sync for Libgnutls {}

impl Libgnutls {
    /// The libgnutls that a call from this place means.
    pub fn of_caller(caller: Caller) -> Option<&'static Libgnutls> {
        GNUTLS.of(caller.address())
    }
}

impl Foreign for Libgnutls {
    type Originals = Originals;

    fn registry() -> &'static Registry<Libgnutls> {
        &GNUTLS
    }

    fn open(object: Object) -> Option<Libgnutls> {
        let find = definitions(&object)?;
        // SAFETY: the names are GnuTLS', and the declarations in `api` are those of its headers.
        let (api, originals) = unsafe { (Api::load(&find)?, Originals::load(&find)?) };
        let version = api.gnutls_check_version.map_or(ptr::null(), |function| {
            // SAFETY: with no version asked for, the function returns its own, a constant string.
            unsafe { function(ptr::null()) }
        });
        let description = described("GnuTLS", version, &object);
        Some(Libgnutls { object: Place::new(object), api, originals, description })
    }

    fn object(&self) -> &Place {
        &self.object
    }

    fn originals(&self) -> &Originals {
        &self.originals
    }
}

/// Calls an original.
macro_rules! gnutls {
    ($caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        call_original!(
            $crate::registry::forward::<$crate::gnutls::library::Libgnutls, _>,
            None::<&'static $crate::gnutls::library::Libgnutls>, $caller, $name($($arg),*), or $failure)
    };
}
pub(crate) use gnutls;
