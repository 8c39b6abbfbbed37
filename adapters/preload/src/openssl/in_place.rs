//! The certificate that a program gets in place of one that several stores share.

use std::sync::Arc;

use crate::hook::shielded;
use crate::openssl::api::X509;
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::snapshot::{self, Snapshot};
use crate::openssl::store::StoreState;
use crate::openssl::{apart, users};

/// The certificate that a program is to get in place of a store's certificate; `None` if it is not shared. If there is
/// no replacement, stores stop sharing.
pub fn of(
    library: &'static Libcrypto,
    state: Option<&StoreState>,
    served: &Served,
    certificate: *mut X509,
) -> Option<InPlace> {
    let (roots, index, held) = snapshot::hold(served, certificate)?;
    let found = shielded(|| {
        let _marked = Marked::new(served);
        // By now the address may belong to another store.
        let Some(state) = state.filter(|state| state.model.foreign.own.has_shared_of(&roots)) else {
            // The certificate's store is unknown. A copy that nobody else has cannot affect another store.
            let copies = Snapshot::of_one_store(library, Arc::clone(&roots))?;
            let certificate = copies.certificate(served, index)?;
            // SAFETY: the snapshot holds one reference, this is another.
            unsafe { (served.api.X509_up_ref)(certificate) };
            return Some(InPlace { certificate, has_reference: true });
        };
        // If this thread has locked the store, the store was already kept apart.
        if !state.is_locked_here() {
            apart::keep_apart(&state.model);
        }
        let certificate = state.model.foreign.own.copy(&roots, index, held.certificate)?;
        Some(InPlace { certificate, has_reference: false })
    });
    if found.is_none() {
        users::note_changer();
    }
    found
}

/// See [`of`].
pub struct InPlace {
    /// The replacement.
    pub certificate: *mut X509,
    /// Whether it comes with a reference. Otherwise the store keeps it alive.
    has_reference: bool,
}

impl InPlace {
    /// Returns the certificate together with a reference to it.
    pub fn with_reference(self, served: &Served) -> *mut X509 {
        if !self.has_reference {
            // SAFETY: the store keeps the certificate alive.
            unsafe { (served.api.X509_up_ref)(self.certificate) };
        }
        self.certificate
    }
}
