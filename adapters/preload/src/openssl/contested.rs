//! Sources whose certificates would meet others of their subjects in a store.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass::CanonicalName;

use crate::openssl::api::{FreeElement, Required, X509};
use crate::openssl::library::Served;
use crate::openssl::materialise::canonical;
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::StoreState;

/// Whether one certificate is there twice, among others of its subject. As in [`is_contested`], the original does it better.
pub fn holds_twins(snapshot: &Snapshot) -> bool {
    let roots = &snapshot.roots;
    roots.shared_subjects().iter().any(|&index| roots.anchor(index).is_duplicate())
}

/// Whether a subject of this source would end up with several certificates of different origin. What stock makes of that
/// depends on the version: some forget to recognise a certificate that is already there, and hold it twice. The original
/// does it better.
pub fn is_contested(state: &StoreState, served: &Served, snapshot: &Arc<Snapshot>) -> bool {
    let roots = &snapshot.roots;
    let registered = |name: &CanonicalName| {
        state.registrations.iter().any(|known| known.snapshot.roots.by_subject(name).next().is_some())
    };
    let mut earlier = state.registrations.iter().map(|known| &known.snapshot);
    if earlier.any(|other| have_contested_subject(other, snapshot)) {
        return true;
    }
    let mut seen = HashSet::new();
    subjects_in_memory(state, served).into_iter().any(|name| match name {
        Some(name) => {
            let overlaps = roots.by_subject(&name).next().is_some();
            overlaps && (!registered(&name) || !seen.insert(name))
        }
        None => true,
    })
}

/// Whether two sources, together, have different certificates of one subject that both have.
fn have_contested_subject(a: &Arc<Snapshot>, b: &Arc<Snapshot>) -> bool {
    if Arc::ptr_eq(&a.roots, &b.roots) {
        return !a.roots.shared_subjects().is_empty();
    }
    let (small, large) = if a.roots.len() <= b.roots.len() { (a, b) } else { (b, a) };
    small.roots.anchors().any(|anchor| {
        let Ok(name) = CanonicalName::from_raw(anchor.raw_subject()) else { return true };
        let mut others = large.roots.by_subject(&name).peekable();
        let own_are_several = small.roots.by_subject(&name).any(|own| small.roots.anchor(own).der() != anchor.der());
        others.peek().is_some()
            && (own_are_several || others.any(|index| large.roots.anchor(index).der() != anchor.der()))
    })
}

fn subjects_in_memory(state: &StoreState, served: &Served) -> Vec<Option<CanonicalName>> {
    let api = &served.api;
    let name_of = |certificate: *mut X509| {
        // SAFETY: a certificate of this libcrypto, kept alive by the stack or the store's lock.
        canonical(api, unsafe { (api.X509_get_subject_name)(certificate) })
    };
    let mut names = Vec::new();
    let get1_all_certs = state.library.originals.X509_STORE_get1_all_certs;
    if let (Some(get1_all_certs), false) = (get1_all_certs, served.sorts_objects()) {
        if !state.touched.load(Ordering::Acquire) {
            return names;
        }
        // SAFETY: the store is alive; the stack and one reference to each certificate are ours and freed below.
        unsafe {
            let all = get1_all_certs(state.store);
            for at in 0..(api.OPENSSL_sk_num)(all).max(0) {
                names.push(name_of((api.OPENSSL_sk_value)(all, at).cast()));
            }
            (api.OPENSSL_sk_pop_free)(all, free_certificate(api));
        }
        return names;
    }
    // Before 4.0 get0_objects is the live stack, to be read under the store's lock. (get1_all_certs of 3.5 sorts it.)
    // SAFETY: the lock is held while the stack is read; nothing that is called in between takes it.
    unsafe {
        if (api.X509_STORE_lock)(state.store) != 1 {
            return vec![None];
        }
        let objects = (api.X509_STORE_get0_objects)(state.store);
        for at in 0..(api.OPENSSL_sk_num)(objects).max(0) {
            let certificate = (api.X509_OBJECT_get0_X509)((api.OPENSSL_sk_value)(objects, at).cast());
            if !certificate.is_null() {
                names.push(name_of(certificate));
            }
        }
        (api.X509_STORE_unlock)(state.store);
    }
    names
}

/// `X509_free` as the destructor of a stack's elements.
pub fn free_certificate(api: &Required) -> FreeElement {
    // SAFETY: both take one object pointer and return nothing; this is how OpenSSL's own sk_X509_pop_free calls it.
    unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut X509), FreeElement>(api.X509_free) }
}
