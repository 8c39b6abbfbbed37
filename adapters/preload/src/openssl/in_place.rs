//! What a program is to get in place of a certificate that several stores have.

use std::sync::Arc;

use crate::hook::shielded;
use crate::openssl::api::X509;
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::snapshot::{self, Snapshot};
use crate::openssl::store::StoreState;
use crate::openssl::{apart, users};

/// What a program is to get in place of a certificate of a store; `None` if that is not shared. If there is nothing
/// else to give, stores share no more.
pub fn of(
    library: &'static Libcrypto,
    state: Option<&StoreState>,
    served: &Served,
    certificate: *mut X509,
) -> Option<InPlace> {
    let (roots, index, held) = snapshot::hold(served, certificate)?;
    let found = shielded(|| {
        let _marked = Marked::new(served);
        // A store at the same address may be another by now.
        let Some(state) = state.filter(|state| state.model.foreign.own.has_shared_of(&roots)) else {
            // Nobody knows whose it is. What nobody else has changes nothing.
            let copies = Snapshot::of_one_store(library, Arc::clone(&roots))?;
            let certificate = copies.certificate(served, index)?;
            // SAFETY: the snapshot has one reference, this is another.
            unsafe { (served.api.X509_up_ref)(certificate) };
            return Some(InPlace { certificate, has_reference: true });
        };
        // Who has locked a store has seen it kept apart.
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
    /// The other certificate.
    pub certificate: *mut X509,
    /// It comes with a reference. Else the store keeps it.
    has_reference: bool,
}

impl InPlace {
    /// The certificate, and a reference to it.
    pub fn with_reference(self, served: &Served) -> *mut X509 {
        if !self.has_reference {
            // SAFETY: the store keeps the certificate.
            unsafe { (served.api.X509_up_ref)(self.certificate) };
        }
        self.certificate
    }
}
