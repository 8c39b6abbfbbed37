//! Certificates that belong to one store alone.
//!
//! Stores share parsed certificates, and a program may change a certificate that it has from a store: its dates, its
//! key, its trust settings, or what is inside it, by hundreds of functions, or by writing into an `ASN1_STRING`. In
//! stock that changes one store. So no shared certificate is ever handed out: before a program gets the first one of a
//! store, all that the store has of shared certificates are exchanged for copies of its own, made of what was read (and
//! not of the shared ones), and from then on it gets none. A store whose certificates nobody asks for goes on sharing.
//!
//! 4.0 keeps its objects in a table that only it can reach, so nothing can be exchanged there: no store of it shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::{AnchorIndex, RootStore};

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::hook::shielded;
use crate::labels::Event;
use crate::openssl::api::{EXFLAG_INVALID, EXFLAG_NO_FINGERPRINT, OPENSSL_STACK, Required, X509, X509_OBJECT};
use crate::openssl::errors::Marked;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::model::Phase;
use crate::openssl::objects::Objects;
use crate::openssl::snapshot::{self, Snapshot};
use crate::openssl::store::StoreState;
use crate::openssl::users;
use crate::process;
use crate::tables::HashMap;

/// What a store has of certificates that others have, too, and of its own.
pub struct Own {
    /// From now on the store gets no shared certificate.
    apart: AtomicBool,
    /// Where its shared certificates come from. They are known as shared as long as this is kept.
    lent: AppendList<Arc<Snapshot>>,
    /// Its own.
    copies: AppendList<Arc<Snapshot>>,
    /// Certificates are also made while the store's lock is not held: this keeps the copies of a root store one.
    adding_copies: ForkLock,
}

impl Default for Own {
    fn default() -> Own {
        Own {
            apart: AtomicBool::new(false),
            lent: AppendList::new(),
            copies: AppendList::new(),
            adding_copies: ForkLock::new(),
        }
    }
}

/// A certificate for a store, with a reference that is not the caller's. The model's lock is held.
pub fn certificate(objects: &Objects, snapshot: &Arc<Snapshot>, index: AnchorIndex) -> Option<*mut X509> {
    let Objects { served, own, .. } = objects;
    if !may_share(objects) {
        return copies(objects, &snapshot.roots)?.certificate(served, index);
    }
    if !own.lent.iter().any(|known| Arc::ptr_eq(known, snapshot)) {
        own.lent.push(Arc::clone(snapshot));
    }
    snapshot.certificate(served, index)
}

/// Whether [`certificate`] has it at hand.
pub fn is_made(objects: &Objects, snapshot: &Arc<Snapshot>, index: AnchorIndex) -> bool {
    let is_made = |copies: Arc<Snapshot>| copies.is_made(index);
    if may_share(objects) { snapshot.is_made(index) } else { copies(objects, &snapshot.roots).is_some_and(is_made) }
}

/// Makes what [`certificate`] gives, as things are now. The model's lock need not be held.
pub fn make(objects: &Objects, snapshot: &Arc<Snapshot>, index: AnchorIndex) {
    if may_share(objects) {
        snapshot.certificate(objects.served, index);
    } else {
        copies(objects, &snapshot.roots).and_then(|copies| copies.certificate(objects.served, index));
    }
}

fn may_share(objects: &Objects) -> bool {
    let own = &objects.own;
    let is_apart = own.apart.load(Ordering::Acquire);
    !is_apart && objects.served.sorts_objects() && (own.lent.len() > 0 || !users::may_change_certificates())
}

/// The program is about to see certificates of a store. To be called without the model's lock, and without the store's,
/// unless the store is kept apart already.
pub fn keep_apart(state: &StoreState) {
    let objects = &state.model.foreign;
    if objects.own.apart.load(Ordering::Acquire) {
        return;
    }
    let _locked = state.model.lock();
    if objects.own.apart.load(Ordering::Acquire) || state.model.phase() == Phase::Ended {
        return;
    }
    if objects.own.lent.len() > 0 {
        process::count(Event::StoreKeptApart, 1);
        let _marked = Marked::new(objects.served);
        exchange(objects);
    }
    // Whoever sees this goes on without the lock, so it comes last.
    objects.own.apart.store(true, Ordering::Release);
}

/// Whether the store still has shared certificates although something may change them that no hook hands out.
pub fn is_to_be_kept_apart(state: &StoreState) -> bool {
    let own = &state.model.foreign.own;
    users::may_change_certificates() && own.lent.len() > 0 && !own.apart.load(Ordering::Acquire)
}

/// The store's own certificate in place of a shared one, which a verification that began earlier has found, or
/// remembers. The model's lock is held.
pub fn mine(objects: &Objects, certificate: *mut X509) -> *mut X509 {
    if !objects.own.apart.load(Ordering::Acquire) {
        return certificate;
    }
    in_exchange(objects, certificate)
}

fn in_exchange(objects: &Objects, certificate: *mut X509) -> *mut X509 {
    let Some((roots, index)) = snapshot::shared(certificate) else { return certificate };
    copy(objects, &roots, index, certificate).unwrap_or(certificate)
}

/// A store's own certificate in place of one that a verification has used: what libcrypto remembers in it of its
/// extensions and of its key (1.1.1) is from before the program got it. None if libcrypto reads less by now: with other
/// providers, or as memory is short.
fn copy(objects: &Objects, roots: &Arc<RootStore>, index: AnchorIndex, shared: *mut X509) -> Option<*mut X509> {
    let own = copies(objects, roots)?.certificate(objects.served, index)?;
    is_alike(objects.served, own, shared).then_some(own)
}

fn is_alike(served: &Served, own: *mut X509, shared: *mut X509) -> bool {
    const UNREAD: u32 = EXFLAG_INVALID | EXFLAG_NO_FINGERPRINT;
    let read = |certificate| {
        // SAFETY: both are kept, by the shared snapshot and by the store's own, or by the caller.
        let (flags, key) =
            unsafe { ((served.api.X509_get_extension_flags)(certificate), (served.api.X509_get0_pubkey)(certificate)) };
        (flags & UNREAD, key.is_null())
    };
    read(own) == read(shared)
}

/// Whether several stores may have a certificate.
pub fn is_shared(certificate: *mut X509) -> bool {
    snapshot::shared(certificate).is_some()
}

/// What a program is to get in place of a certificate of a store; `None` if that is not shared. If there is nothing
/// else to give, stores share no more.
pub fn in_place_of(
    library: &'static Libcrypto,
    state: Option<&StoreState>,
    served: &Served,
    certificate: *mut X509,
) -> Option<InPlace> {
    let (roots, index, held) = snapshot::hold(served, certificate)?;
    let found = shielded(|| {
        let _marked = Marked::new(served);
        // A store at the same address may be another by now.
        let lent = |own: &Own| own.lent.iter().any(|known| Arc::ptr_eq(&known.roots, &roots));
        let Some(state) = state.filter(|state| lent(&state.model.foreign.own)) else {
            // Nobody knows whose it is. What nobody else has changes nothing.
            let copies = Snapshot::of_one_store(library, Arc::clone(&roots))?;
            let certificate = copies.certificate(served, index)?;
            // SAFETY: the snapshot has one reference, this is another.
            unsafe { (served.api.X509_up_ref)(certificate) };
            return Some(InPlace { certificate, has_reference: true });
        };
        // Who has locked a store has seen it kept apart.
        if !state.is_locked_here() {
            keep_apart(state);
        }
        let certificate = copy(&state.model.foreign, &roots, index, held.certificate)?;
        Some(InPlace { certificate, has_reference: false })
    });
    if found.is_none() {
        users::note_changer();
    }
    found
}

/// See [`in_place_of`].
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

/// The store's own certificates of a root store.
fn copies(objects: &Objects, roots: &Arc<RootStore>) -> Option<Arc<Snapshot>> {
    let own = &objects.own;
    let known = || own.copies.iter().find(|known| Arc::ptr_eq(&known.roots, roots)).map(Arc::clone);
    known().or_else(|| {
        let _guard = own.adding_copies.lock();
        known().or_else(|| {
            let copies = Arc::new(Snapshot::of_one_store(objects.library, Arc::clone(roots))?);
            own.copies.push(Arc::clone(&copies));
            Some(copies)
        })
    })
}

/// Puts the store's own certificates in the place of the shared ones. Objects are exchanged, and not their content: a
/// search of another thread takes a reference to what an object holds after it has unlocked the store
/// (X509_STORE_CTX_get_by_subject, x509_lu.c of 1.1.1 to 3.5).
fn exchange(objects: &Objects) {
    // Parsed while the store is not locked. Nothing shared comes in meanwhile: that needs the state's lock.
    let shared: Vec<*mut X509> = objects
        .with_stack(|api, stack| {
            elements(api, stack)
                // SAFETY: a live object, read under the store's lock.
                .map(|(_, object)| unsafe { (api.X509_OBJECT_get0_X509)(object) })
                .filter(|&certificate| snapshot::shared(certificate).is_some())
                .collect()
        })
        .unwrap_or_default();
    let exchanged: HashMap<*mut X509, *mut X509> =
        shared.into_iter().map(|shared| (shared, in_exchange(objects, shared))).collect();
    objects.with_stack(|api, stack| {
        // SAFETY: the live stack, under the store's lock.
        let was_sorted = unsafe { (api.OPENSSL_sk_is_sorted)(stack) } == 1;
        let mut changed = false;
        for (at, object) in elements(api, stack).collect::<Vec<_>>() {
            // SAFETY: as above.
            let certificate = unsafe { (api.X509_OBJECT_get0_X509)(object) };
            let Some(own) = exchanged.get(&certificate).filter(|&&own| own != certificate) else { continue };
            // SAFETY: as above; the new object takes a reference of its own, and the old one is kept until the store
            // ends.
            unsafe {
                let other = (api.X509_OBJECT_new)();
                if other.is_null() || (api.X509_OBJECT_set1_X509)(other, *own) != 1 {
                    (api.X509_OBJECT_free)(other);
                    continue;
                }
                (api.OPENSSL_sk_set)(stack, at, other.cast());
            }
            objects.retired.push(object as usize);
            changed = true;
        }
        if changed && was_sorted {
            // SAFETY: as above. The names are the same, so this only makes the stack count as sorted again.
            unsafe { (api.OPENSSL_sk_sort)(stack) };
        }
    });
}

fn elements(api: &Required, stack: *mut OPENSSL_STACK) -> impl Iterator<Item = (i32, *mut X509_OBJECT)> {
    // SAFETY: the live stack; the caller holds the store's lock.
    let count = unsafe { (api.OPENSSL_sk_num)(stack) };
    // SAFETY: as above.
    (0..count.max(0)).map(move |at| (at, unsafe { (api.OPENSSL_sk_value)(stack, at) }.cast()))
}
