//! The memory of one `X509_STORE`, as the model (`model`) sees it.

use std::collections::BinaryHeap;
use std::sync::Arc;

use windlass::{AnchorIndex, CanonicalName};

use crate::memory;
use crate::openssl::api::{OPENSSL_STACK, Required, X509};
use crate::openssl::errors::Marked;
use crate::openssl::held::{self, BaseObject, Held, encoding};
use crate::openssl::model::{Event, Foreign};
use crate::openssl::names::{canonical, canonical_subject};
use crate::openssl::objects::{Objects, Registrations};
use crate::openssl::snapshot::Snapshot;
use crate::openssl::{contested, order};

impl Foreign for Objects {
    type Source = Arc<Snapshot>;
    type Index = AnchorIndex;
    type Subject = CanonicalName;
    type Certificate = *mut X509;
    type Held = Held;
    type Base = Vec<BaseObject>;
    type Quiet<'q> = Marked<'q>;

    fn quietly(&self) -> Marked<'_> {
        Marked::new(self.served)
    }

    fn keeps_a_stack(&self) -> bool {
        self.served.sorts_objects()
    }

    fn adds_as_one(&self) -> bool {
        self.keeps_a_stack() && self.shows_additions()
    }

    fn shows_additions(&self) -> bool {
        self.library.shows_additions
    }

    fn is_same(&self, a: &Arc<Snapshot>, b: &Arc<Snapshot>) -> bool {
        let (a, b) = (&a.roots, &b.roots);
        // A rewritten file is a different source.
        Arc::ptr_eq(a, b)
            || a.len() == b.len() && a.anchors().zip(b.anchors()).all(|(one, other)| one.der() == other.der())
    }

    fn all<'s>(&self, source: &'s Arc<Snapshot>) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        source.roots.anchors().map(|anchor| anchor.index())
    }

    fn of_subject<'s>(
        &self,
        source: &'s Arc<Snapshot>,
        subject: &CanonicalName,
    ) -> impl Iterator<Item = AnchorIndex> + use<'s> {
        crate::arranged::arranged(source.roots.by_subject(subject))
    }

    fn shared_subjects<'s>(&self, source: &'s Arc<Snapshot>) -> Option<impl Iterator<Item = CanonicalName> + use<'s>> {
        let shared = source.roots.shared_subjects();
        let with_subject = |&index: &AnchorIndex| (source.roots.anchor(index).canonical_subject(), index);
        let all = memory::collected(shared.iter().map(with_subject), shared.len())?;
        // The standard library's quicksort is not used: its stack usage grows with the source.
        let mut one_of_each = BinaryHeap::from(all).into_sorted_vec();
        one_of_each.dedup_by_key(|(subject, _)| *subject);
        Some(one_of_each.into_iter().filter_map(|(_, index)| canonical_subject(source, index)))
    }

    fn number(index: AnchorIndex) -> u32 {
        index.get() as u32
    }

    fn encoding<'s>(&self, source: &'s Arc<Snapshot>, index: AnchorIndex) -> &'s [u8] {
        source.roots.anchor(index).der()
    }

    fn is_made(&self, source: &Arc<Snapshot>, index: AnchorIndex) -> bool {
        self.own.is_made(source, index)
    }

    fn make(&self, source: &Arc<Snapshot>, index: AnchorIndex) {
        self.own.make(source, index);
    }

    fn certificate(&self, source: &Arc<Snapshot>, index: AnchorIndex) -> Option<*mut X509> {
        self.own.certificate(source, index)
    }

    fn held(certificate: &Held) -> *mut X509 {
        certificate.certificate
    }

    fn held_encoding(&self, certificate: &Held) -> Option<Vec<u8>> {
        // SAFETY: the reference keeps the certificate alive.
        unsafe { encoding(&self.served.api, certificate.certificate) }
    }

    fn subject(&self, certificate: &Held) -> Option<CanonicalName> {
        let api = &self.served.api;
        // SAFETY: as above.
        canonical(api, unsafe { (api.X509_get_subject_name)(certificate.certificate) })
    }

    fn add(&self, certificate: *mut X509) -> bool {
        // SAFETY: the store is alive for the length of the call that we are in; it takes its own reference.
        unsafe { (self.served.api.X509_STORE_add_cert)(self.store, certificate) == 1 }
    }

    /// Before 4.0 the certificates go into the stack under the store's lock, as x509_lu.c adds them one by one. 4.0 has
    /// a table that only it can reach; `Model::begin_verification` keeps other threads away. If an addition fails
    /// there, or while the program has the live stack, the certificates added before it stay.
    fn add_together(&self, certificates: &[*mut X509], is_exposed: bool) -> bool {
        if certificates.len() < 2 || !self.keeps_a_stack() || is_exposed {
            return certificates.iter().all(|&certificate| self.add(certificate));
        }
        let added = self.with_stack(|api, stack| {
            // SAFETY: the stack is locked, and is changed under its lock only.
            unsafe {
                let before = (api.OPENSSL_sk_num)(stack);
                let added = certificates.iter().all(|&certificate| {
                    let object = (api.X509_OBJECT_new)();
                    let whole = !object.is_null()
                        && (api.X509_OBJECT_set1_X509)(object, certificate) == 1
                        && (api.OPENSSL_sk_push)(stack, object.cast()) > 0;
                    if !whole {
                        (api.X509_OBJECT_free)(object);
                    }
                    whole
                });
                // All or none: libcrypto does not search again for a subject that has something in memory.
                while !added && (api.OPENSSL_sk_num)(stack) > before {
                    (api.X509_OBJECT_free)((api.OPENSSL_sk_pop)(stack).cast());
                }
                added
            }
        });
        added.unwrap_or(false)
    }

    fn recognises_all(&self) -> bool {
        self.served.recognises_all()
    }

    fn is_contested(
        &self,
        registered: &Registrations,
        source: &Arc<Snapshot>,
        is_first: bool,
        in_memory: bool,
    ) -> bool {
        let memory = || if in_memory || self.keeps_a_stack() { self.subjects() } else { Some(Vec::new()) };
        contested::holds_twins(source) || !is_first && contested::is_contested(registered, source, memory)
    }

    fn hides_something(&self, registered: &Registrations) -> bool {
        let Some(subjects) = self.subjects() else { return true };
        subjects.into_iter().any(|subject| {
            let Some(subject) = subject else { return true };
            registered.iter().any(|known| known.source.roots.by_subject(&subject).any(|index| !known.has_added(index)))
        })
    }

    fn count(&self) -> Option<usize> {
        if !self.keeps_a_stack() {
            return None;
        }
        // SAFETY: the stack is locked.
        let count = self.with_stack(|api, stack| unsafe { (api.OPENSSL_sk_num)(stack) })?;
        usize::try_from(count).ok()
    }

    fn is_sorted(&self) -> bool {
        let sorted = |api: &Required, stack: *mut OPENSSL_STACK| {
            // SAFETY: the stack is locked.
            unsafe { (api.OPENSSL_sk_num)(stack) > 0 && (api.OPENSSL_sk_is_sorted)(stack) == 1 }
        };
        self.keeps_a_stack() && self.with_stack(sorted).unwrap_or(false)
    }

    /// In stock OpenSSL the loaded certificates are unsorted in the stack, and the next search sorts it. Here the stack
    /// may be unchanged; setting an element to itself makes it count as unsorted (except for a stack of one in 3.5).
    fn forget_sortedness(&self) {
        self.with_stack(|api, stack| {
            // SAFETY: the stack is locked.
            unsafe {
                if (api.OPENSSL_sk_num)(stack) > 0 {
                    (api.OPENSSL_sk_set)(stack, 0, (api.OPENSSL_sk_value)(stack, 0));
                }
            }
        });
    }

    fn base(&self) -> Option<Vec<BaseObject>> {
        // SAFETY: the stack is locked.
        let base = self.with_stack(|api, stack| unsafe { held::base(api, stack) })??;
        // Without memory for it, objects from before the load keep their place behind it (`order::arrange`).
        (!base.is_empty()).then_some(base)
    }

    fn arrange<'e>(&self, events: impl Iterator<Item = &'e Event<Objects>>, searched: bool) {
        order::arrange(self, events, searched);
    }
}
