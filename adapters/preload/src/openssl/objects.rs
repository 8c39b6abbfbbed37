//! The memory of one `X509_STORE`.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::CanonicalName;

use crate::append_list::AppendList;
use crate::memory;
use crate::openssl::api::{
    FreeElement, OPENSSL_STACK, Required, X509, X509_LU_X509, X509_NAME, X509_OBJECT, X509_STORE,
};
use crate::openssl::held::elements;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::model;
use crate::openssl::names::canonical;
use crate::openssl::own::Own;

/// A source registered with a store of libcrypto.
pub type Registration = model::Registration<Objects>;
/// The sources registered with one store.
pub type Registrations = AppendList<Arc<Registration>>;

/// The contents of a store of a served libcrypto. The store lives as long as this.
pub struct Objects {
    /// The libcrypto that the store belongs to.
    pub library: &'static Libcrypto,
    /// Its functions.
    pub served: &'static Served,
    /// The store itself.
    pub store: *mut X509_STORE,
    /// Its own certificates, and whether it shares others.
    pub own: Own,
    /// Objects that were taken out of the store's stack; another thread may still look at them.
    pub retired: AppendList<usize>,
    /// Set when the store is being freed.
    gone: AtomicBool,
}

impl Objects {
    /// For a store that was just created.
    pub fn new(library: &'static Libcrypto, served: &'static Served, store: *mut X509_STORE) -> Objects {
        let (own, retired, gone) = (Own::new(library, served), AppendList::new(), AtomicBool::new(false));
        Objects { library, served, store, own, retired, gone }
    }

    /// The store is being freed. This waits for a thread that holds the model's lock by now; a later one finds no
    /// stack.
    pub fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Calls `f` with the live stack, under the store's lock. None for versions that keep none.
    pub fn with_stack<R>(&self, f: impl FnOnce(&Required, *mut OPENSSL_STACK) -> R) -> Option<R> {
        let api = &self.served.api;
        // SAFETY: the store is alive; its stack is only touched under its lock, which no function called in between
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

    /// Calls `f` with each certificate of a table until `f` returns something. A table can only be listed as a whole.
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

    /// The first certificate of a name that memory holds at this moment, as a stock search would find it. Only the
    /// store keeps it alive.
    ///
    /// On a stack, by_dir.c up to 3.6 does the same after it has added something: it searches the stack, which in some
    /// versions also sorts it, and in the others sorts it afterwards.
    pub fn retrieve(&self, name: *const X509_NAME) -> Option<*mut X509> {
        if !self.served.sorts_objects() {
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

    /// The canonical subjects in memory, with `None` for one that our reader does not know. The whole result is None if
    /// there is no memory for it, or if the store can't be locked.
    pub fn subjects(&self) -> Option<Vec<Option<CanonicalName>>> {
        let api = &self.served.api;
        // SAFETY: a certificate of this libcrypto, kept alive by the list or by the store's lock.
        let name = |certificate: *mut X509| canonical(api, unsafe { (api.X509_get_subject_name)(certificate) });
        if !self.served.sorts_objects() {
            return self.with_table(|api, all| {
                // SAFETY: the list is not changed.
                unsafe {
                    let count = (api.OPENSSL_sk_num)(all).max(0);
                    let certificates = (0..count).map(|at| (api.OPENSSL_sk_value)(all, at).cast());
                    memory::collected(certificates.map(name), count as usize)
                }
            })?;
        }
        // get1_all_certs of 3.5 sorts the stack, so the stack itself is read.
        self.with_stack(|api, stack| {
            // SAFETY: the stack is locked.
            let objects = unsafe { elements(api, stack) }?;
            let count = objects.len();
            // SAFETY: as above.
            let certificates = objects.into_iter().map(|object| unsafe { (api.X509_OBJECT_get0_X509)(object) });
            memory::collected(certificates.filter(|certificate| !certificate.is_null()).map(name), count)
        })?
    }
}

/// Answers a search with a certificate, as the built-in methods do: `ret` gets the object, but no reference to it.
/// libcrypto adds the reference itself after the lookup (X509_STORE_CTX_get_by_subject, x509_lu.c).
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
