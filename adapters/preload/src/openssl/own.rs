//! Certificates that belong to one store alone.
//!
//! Stores share parsed certificates, but a program may change a certificate that it gets from a store: its dates, its
//! key, its trust settings or its contents, by hundreds of functions or by writing into an `ASN1_STRING`. In stock
//! OpenSSL this changes one store. A shared certificate is therefore never handed out. Before a program gets the first
//! certificate of a store, all shared certificates in the store are exchanged for copies of its own, and the store gets
//! no shared ones from then on. The copies are made from the bytes that were read, not from the shared certificates. A
//! store whose certificates the program never asks for goes on sharing.
//!
//! 4.0 keeps its objects in a table that only it can reach, so nothing can be exchanged there: its stores never share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::{AnchorIndex, RootStore};

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::openssl::api::{EXFLAG_INVALID, EXFLAG_NO_FINGERPRINT, X509};
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::snapshot::{self, Snapshot};
use crate::openssl::users;

/// The shared certificates of a store, and its own.
pub struct Own {
    library: &'static Libcrypto,
    served: &'static Served,
    /// Set when the store gets no shared certificate any more.
    apart: AtomicBool,
    /// The snapshots that its shared certificates come from. Certificates are recognised as shared as long as these are
    /// kept.
    lent: AppendList<Arc<Snapshot>>,
    /// The store's own certificates.
    copies: AppendList<Arc<Snapshot>>,
    /// Certificates are also made while the store's lock is not held: this lock ensures one set of copies per root
    /// store.
    adding_copies: ForkLock,
}

impl Own {
    /// For a store that was just created.
    pub fn new(library: &'static Libcrypto, served: &'static Served) -> Own {
        Own {
            library,
            served,
            apart: AtomicBool::new(false),
            lent: AppendList::new(),
            copies: AppendList::new(),
            adding_copies: ForkLock::new(),
        }
    }

    /// A certificate for the store. The caller gets no reference of its own. The model's lock is held.
    pub fn certificate(&self, snapshot: &Arc<Snapshot>, index: AnchorIndex) -> Option<*mut X509> {
        if !self.may_share() {
            return self.copies(&snapshot.roots)?.certificate(self.served, index);
        }
        if !self.lent.iter().any(|known| Arc::ptr_eq(known, snapshot)) {
            self.lent.push(Arc::clone(snapshot));
        }
        snapshot.certificate(self.served, index)
    }

    /// Whether [`Own::certificate`] has the certificate ready.
    pub fn is_made(&self, snapshot: &Arc<Snapshot>, index: AnchorIndex) -> bool {
        let is_made = |copies: Arc<Snapshot>| copies.is_made(index);
        if self.may_share() { snapshot.is_made(index) } else { self.copies(&snapshot.roots).is_some_and(is_made) }
    }

    /// Makes the certificate that [`Own::certificate`] would return at this point. The model's lock need not be held.
    pub fn make(&self, snapshot: &Arc<Snapshot>, index: AnchorIndex) {
        if self.may_share() {
            snapshot.certificate(self.served, index);
        } else {
            self.copies(&snapshot.roots).and_then(|copies| copies.certificate(self.served, index));
        }
    }

    fn may_share(&self) -> bool {
        !self.is_apart() && self.served.sorts_objects() && (self.has_shared() || !users::may_change_certificates())
    }

    /// Whether the store gets no shared certificate any more.
    pub fn is_apart(&self) -> bool {
        self.apart.load(Ordering::Acquire)
    }

    /// From now on the store gets no shared certificate. It has none at this point.
    pub fn be_apart(&self) {
        self.apart.store(true, Ordering::Release);
    }

    /// Whether it has, or had, shared certificates.
    pub fn has_shared(&self) -> bool {
        self.lent.len() > 0
    }

    /// Whether it has, or had, shared certificates of a root store.
    pub fn has_shared_of(&self, roots: &Arc<RootStore>) -> bool {
        self.lent.iter().any(|known| Arc::ptr_eq(&known.roots, roots))
    }

    /// Whether the store still has shared certificates although they could be changed without passing a hook.
    pub fn is_to_be_apart(&self) -> bool {
        users::may_change_certificates() && self.has_shared() && !self.is_apart()
    }

    /// The store's own certificate in place of a shared one that an earlier verification has found or remembers. The
    /// model's lock is held.
    pub fn mine(&self, certificate: *mut X509) -> *mut X509 {
        if self.is_apart() { self.in_exchange(certificate) } else { certificate }
    }

    /// As [`Own::mine`], as if the store got no shared certificates any more.
    pub fn in_exchange(&self, certificate: *mut X509) -> *mut X509 {
        let Some((roots, index)) = snapshot::shared(certificate) else { return certificate };
        self.copy(&roots, index, certificate).unwrap_or(certificate)
    }

    /// The store's own certificate in place of one that a verification has used. The extensions and the key (1.1.1)
    /// that libcrypto remembers in it are from before the program got it. None if libcrypto can read less by now:
    /// because of other providers, or because memory is short.
    pub fn copy(&self, roots: &Arc<RootStore>, index: AnchorIndex, shared: *mut X509) -> Option<*mut X509> {
        let own = self.copies(roots)?.certificate(self.served, index)?;
        is_alike(self.served, own, shared).then_some(own)
    }

    /// The store's own certificates of a root store.
    fn copies(&self, roots: &Arc<RootStore>) -> Option<Arc<Snapshot>> {
        let known = || self.copies.iter().find(|known| Arc::ptr_eq(&known.roots, roots)).map(Arc::clone);
        known().or_else(|| {
            let _guard = self.adding_copies.lock();
            known().or_else(|| {
                let copies = Arc::new(Snapshot::of_one_store(self.library, Arc::clone(roots))?);
                self.copies.push(Arc::clone(&copies));
                Some(copies)
            })
        })
    }
}

fn is_alike(served: &Served, own: *mut X509, shared: *mut X509) -> bool {
    const UNREAD: u32 = EXFLAG_INVALID | EXFLAG_NO_FINGERPRINT;
    let read = |certificate| {
        // SAFETY: both are kept alive: by the shared snapshot and by the store's own, or by the caller.
        let (flags, key) =
            unsafe { ((served.api.X509_get_extension_flags)(certificate), (served.api.X509_get0_pubkey)(certificate)) };
        (flags & UNREAD, key.is_null())
    };
    read(own) == read(shared)
}
