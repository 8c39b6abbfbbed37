//! The memory of one `X509_STORE`, as the model (`model`) sees it.

use std::collections::BinaryHeap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::{AnchorIndex, CanonicalName};

use crate::append_list::AppendList;
use crate::memory;
use crate::openssl::api::{
    FreeElement, OPENSSL_STACK, Required, X509, X509_LU_X509, X509_NAME, X509_OBJECT, X509_STORE,
};
use crate::openssl::contested;
use crate::openssl::errors::Marked;
use crate::openssl::held::{Held, encoding};
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::model::{self, Event, Foreign};
use crate::openssl::names::{canonical, canonical_subject};
use crate::openssl::order::{self, BaseObject};
use crate::openssl::own::{self, Own};
use crate::openssl::snapshot::Snapshot;

/// A source, registered with a store of libcrypto.
pub type Registration = model::Registration<Objects>;
/// What is registered with one.
pub type Registrations = AppendList<Arc<Registration>>;

/// What a store of a libcrypto that is served holds. The store lives as long as this.
pub struct Objects {
    /// Whose store it is.
    pub library: &'static Libcrypto,
    /// Its functions.
    pub served: &'static Served,
    /// The store.
    pub store: *mut X509_STORE,
    /// Whether it shares certificates, and those that it does not.
    pub own: Own,
    /// Objects that were taken out of the store's stack; another thread may still look at them.
    pub retired: AppendList<usize>,
    /// The store is being freed.
    gone: AtomicBool,
}

impl Objects {
    /// Of a store that was just made.
    pub fn new(library: &'static Libcrypto, served: &'static Served, store: *mut X509_STORE) -> Objects {
        let (own, retired, gone) = (Own::default(), AppendList::new(), AtomicBool::new(false));
        Objects { library, served, store, own, retired, gone }
    }

    /// The store is being freed. Who has its model's lock by now is waited for; who comes to it later finds no stack.
    pub fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Calls `f` with the live stack of a version that keeps one, under the store's lock.
    pub fn with_stack<R>(&self, f: impl FnOnce(&Required, *mut OPENSSL_STACK) -> R) -> Option<R> {
        let api = &self.served.api;
        // SAFETY: the store is alive; its stack is only touched under its lock, which nothing that is called in between
        // takes.
        unsafe {
            if self.gone.load(Ordering::Acquire) || (api.X509_STORE_lock)(self.store) != 1 {
                return None;
            }
            let result = f(api, (api.X509_STORE_get0_objects)(self.store));
            (api.X509_STORE_unlock)(self.store);
            Some(result)
        }
    }

    /// Calls `f` with each certificate of a table, which can only be listed as a whole, until it returns something.
    pub fn find_in_table<R>(&self, mut f: impl FnMut(*mut X509) -> Option<R>) -> Option<R> {
        self.with_table(|api, all| {
            // SAFETY: the list is not changed.
            unsafe { (0..(api.OPENSSL_sk_num)(all).max(0)).find_map(|at| f((api.OPENSSL_sk_value)(all, at).cast())) }
        })?
    }

    /// Calls `f` with a list of a table's certificates. None if there is no memory for it.
    fn with_table<R>(&self, f: impl FnOnce(&Required, *mut OPENSSL_STACK) -> R) -> Option<R> {
        let (api, get1_all_certs) = (&self.served.api, self.library.originals.X509_STORE_get1_all_certs?);
        // SAFETY: the store is alive; the stack and one reference to each certificate are ours and freed below.
        unsafe {
            let all = get1_all_certs(self.store);
            if all.is_null() {
                return None;
            }
            let result = f(api, all);
            (api.OPENSSL_sk_pop_free)(all, free_certificate(api));
            Some(result)
        }
    }

    /// The first certificate of a name that memory holds at this moment, as a search of stock would take it. Only the
    /// store keeps it.
    ///
    /// On a stack this is also what by_dir.c does when it has added something, up to 3.6: it searches the stack, which
    /// sorts it in some versions, and sorts it then where that did not.
    pub fn retrieve(&self, name: *const X509_NAME) -> Option<*mut X509> {
        if !self.keeps_a_stack() {
            let api = &self.served.api;
            return self.find_in_table(|certificate| {
                // SAFETY: the list holds the certificate; the caller passes a valid name.
                let order = unsafe { (api.X509_NAME_cmp)((api.X509_get_subject_name)(certificate), name) };
                (order == 0).then_some(certificate)
            });
        }
        let found = self.with_stack(|api, stack| {
            // SAFETY: the stack is locked, and the caller passes a valid name.
            unsafe {
                let object = (api.X509_OBJECT_retrieve_by_subject)(stack, X509_LU_X509, name);
                let certificate = if object.is_null() { ptr::null_mut() } else { (api.X509_OBJECT_get0_X509)(object) };
                if (api.OPENSSL_sk_is_sorted)(stack) == 0 {
                    (api.OPENSSL_sk_sort)(stack);
                }
                certificate
            }
        });
        found.filter(|certificate| !certificate.is_null())
    }

    /// The canonical subjects of what memory holds; of one that our reader does not know, `None`. None as well if there
    /// is no memory for them, or if the store can't be locked.
    pub fn subjects(&self) -> Option<Vec<Option<CanonicalName>>> {
        let api = &self.served.api;
        // SAFETY: a certificate of this libcrypto, kept alive by the list or by the store's lock.
        let name = |certificate: *mut X509| canonical(api, unsafe { (api.X509_get_subject_name)(certificate) });
        if !self.keeps_a_stack() {
            return self.with_table(|api, all| {
                // SAFETY: the list is not changed.
                unsafe {
                    let count = (api.OPENSSL_sk_num)(all).max(0);
                    let certificates = (0..count).map(|at| (api.OPENSSL_sk_value)(all, at).cast());
                    memory::collected(certificates.map(name), count as usize)
                }
            })?;
        }
        // get1_all_certs of 3.5 sorts the stack, so it is read itself.
        self.with_stack(|api, stack| {
            // SAFETY: the stack is locked.
            let objects = unsafe { order::elements(api, stack) }?;
            let count = objects.len();
            // SAFETY: as above.
            let certificates = objects.into_iter().map(|object| unsafe { (api.X509_OBJECT_get0_X509)(object) });
            memory::collected(certificates.filter(|certificate| !certificate.is_null()).map(name), count)
        })?
    }
}

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
        // A file that was written anew is read anew.
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
        // Not by the quicksort of the standard library: its stack grows with the source.
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
        own::is_made(self, source, index)
    }

    fn make(&self, source: &Arc<Snapshot>, index: AnchorIndex) {
        own::make(self, source, index);
    }

    fn certificate(&self, source: &Arc<Snapshot>, index: AnchorIndex) -> Option<*mut X509> {
        own::certificate(self, source, index)
    }

    fn held(certificate: &Held) -> *mut X509 {
        certificate.certificate
    }

    fn held_encoding(&self, certificate: &Held) -> Option<Vec<u8>> {
        // SAFETY: the reference keeps it alive.
        unsafe { encoding(&self.served.api, certificate.certificate) }
    }

    fn subject(&self, certificate: &Held) -> Option<CanonicalName> {
        let api = &self.served.api;
        // SAFETY: as above.
        canonical(api, unsafe { (api.X509_get_subject_name)(certificate.certificate) })
    }

    fn add(&self, certificate: *mut X509) -> bool {
        // SAFETY: the store is alive for the length of the call that we are in; it takes a reference of its own.
        unsafe { (self.served.api.X509_STORE_add_cert)(self.store, certificate) == 1 }
    }

    /// Before 4.0 they go into the stack under the store's lock, as x509_lu.c puts them there one by one. 4.0 has a
    /// table that only it can reach; `Model::begin_verification` keeps other threads away. There, and where the program
    /// has the live stack, a failing addition leaves those before it behind.
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
                // All or none: a subject of which something is in memory is not searched for again.
                while !added && (api.OPENSSL_sk_num)(stack) > before {
                    (api.X509_OBJECT_free)((api.OPENSSL_sk_pop)(stack).cast());
                }
                added
            }
        });
        added.unwrap_or(false)
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

    /// In stock what was loaded lies unsorted in the stack, and the next search sorts it. Here the stack may not have
    /// changed; setting an element to itself makes it count as unsorted (but for a stack of one in 3.5).
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
        let base = self.with_stack(|api, stack| unsafe { order::base(api, stack) })??;
        // Without memory for it, what came before the load keeps its place behind it (`order::arrange`).
        (!base.is_empty()).then_some(base)
    }

    fn arrange<'e>(&self, events: impl Iterator<Item = &'e Event<Objects>>, searched: bool) {
        order::arrange(self, events, searched);
    }
}

/// Answers a search with a certificate, as the built-in methods do: `ret` gets the object, but no reference to it.
/// libcrypto adds the reference itself when the lookup is over (X509_STORE_CTX_get_by_subject, x509_lu.c).
///
/// # Safety
/// `ret` is the object that the lookup was called with; the store holds a reference to `certificate`.
pub unsafe fn answer(api: &Required, ret: *mut X509_OBJECT, certificate: *mut X509) -> i32 {
    // SAFETY: as the caller states. The reference taken by set1 is dropped again.
    unsafe {
        if (api.X509_OBJECT_set1_X509)(ret, certificate) != 1 {
            return 0;
        }
        (api.X509_free)(certificate);
    }
    1
}

/// `X509_free` as the destructor of a stack's elements.
fn free_certificate(api: &Required) -> FreeElement {
    // SAFETY: both take one object pointer and return nothing; this is how OpenSSL's own sk_X509_pop_free calls it.
    unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut X509), FreeElement>(api.X509_free) }
}
