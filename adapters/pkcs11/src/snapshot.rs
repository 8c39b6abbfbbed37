//! The objects of a token at the time of a search: numbered, and never changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cryptoki_sys::CK_OBJECT_HANDLE;
use windlass_trust::TrustStore;

use crate::view::View;

/// Handles are 1 and up. Each snapshot has its own, so that a handle of an earlier snapshot is never valid in a later
/// one.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The objects that searches and attribute reads work on.
pub struct Snapshot {
    pub store: Arc<TrustStore>,
    first: usize,
}

/// An object by its number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    RootList,
    Certificate(usize),
    NssTrust(usize),
    Trust(usize),
    Extension(usize),
}

impl Snapshot {
    pub fn new(store: Arc<TrustStore>) -> Snapshot {
        let len = 1 + store.len() + 2 * store.statements_end() + store.stapled_len();
        Snapshot { store, first: NEXT.fetch_add(len, Ordering::Relaxed) }
    }

    /// The handle of an object. Within one kind, handles are in source order.
    pub fn handle(&self, object: Object) -> CK_OBJECT_HANDLE {
        let [certificates, nss_trusts, trusts, extensions] = self.starts();
        let place = match object {
            Object::RootList => 0,
            Object::Certificate(number) => certificates + number,
            Object::NssTrust(number) => nss_trusts + number,
            Object::Trust(number) => trusts + number,
            Object::Extension(number) => extensions + number,
        };
        (self.first + place) as CK_OBJECT_HANDLE
    }

    /// The object of a handle; None for a handle of an earlier snapshot. The object itself may not exist.
    pub fn object(&self, handle: CK_OBJECT_HANDLE) -> Option<Object> {
        let place = usize::try_from(handle).ok()?.checked_sub(self.first)?;
        let [certificates, nss_trusts, trusts, extensions] = self.starts();
        Some(match place {
            0 => Object::RootList,
            place if place < nss_trusts => Object::Certificate(place - certificates),
            place if place < trusts => Object::NssTrust(place - nss_trusts),
            place if place < extensions => Object::Trust(place - trusts),
            place => Object::Extension(place - extensions),
        })
    }

    /// The object itself; None if there is none with that number.
    pub fn view(&self, object: Object) -> Option<View<'_>> {
        match object {
            Object::RootList => Some(View::RootList),
            Object::Certificate(number) => self.store.certificate(number).map(View::Certificate),
            Object::NssTrust(number) => self.store.statement(number).map(View::NssTrust),
            Object::Trust(number) => self.store.statement(number).map(View::Trust),
            Object::Extension(number) => self.store.stapled(number).map(View::Extension),
        }
    }

    /// The first positions of certificates, NSS's trust objects, PKCS#11's trust objects, and extensions.
    fn starts(&self) -> [usize; 4] {
        let (certificates, statements) = (self.store.len(), self.store.statements_end());
        [1, 1 + certificates, 1 + certificates + statements, 1 + certificates + 2 * statements]
    }
}
