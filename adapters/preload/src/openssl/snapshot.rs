//! The parsed certificates of one root store for one libcrypto, parsed one by one when needed.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass::{AnchorIndex, RootStore};

use crate::append_list::AppendList;
use crate::labels::Event;
use crate::memory;
use crate::openssl::api::{EXFLAG_INVALID, EXFLAG_NO_FINGERPRINT, EXFLAG_SI, EXFLAG_SS, X509};
use crate::openssl::errors::Marked;
use crate::openssl::held::Held;
use crate::openssl::libcrypto::{Libcrypto, Served};
use crate::openssl::remembered::Remembered;
use crate::process;
use crate::ptr_table::PtrTable;

/// A root store, with the `X509` objects parsed from it so far.
///
/// The objects are shared by reference count with every store that needs them, or belong to one store (see `own`). They
/// are parsed in the global library context, as in a load without a context of its own.
pub struct Snapshot {
    library: &'static Libcrypto,
    is_shared: bool,
    /// The certificates as they were read.
    pub roots: Arc<RootStore>,
    /// Results of searches in it.
    pub searches: Remembered<AnchorIndex>,
    certificates: Box<[AtomicPtr<X509>]>,
    /// Certificates that libcrypto could not read completely when they were parsed, and will not look at again: memory
    /// was short, or 3.0 and later had no provider for the key. They are parsed again until this succeeds.
    doubtful: AppendList<u32>,
    /// Objects that were replaced by a completely read one. Stores filled earlier still have them.
    replaced: AppendList<usize>,
    /// Certificates that are never freed.
    kept: AppendList<usize>,
    /// Set when `has_readable_keys` was true once. A negative answer is not remembered: memory may have been short.
    readable_keys: AtomicBool,
}

/// The snapshot of a shared certificate, and its place there.
#[derive(Clone, Copy)]
struct Origin(*const Snapshot, AnchorIndex);

// SAFETY: the pointer is only used while the table holds it (see `shared`); threads share snapshots anyway.
unsafe impl Send for Origin {}

/// All certificates that several stores may have.
static SHARED: PtrTable<Origin> = PtrTable::new();

/// The root store of a certificate that several stores may have, and its place there.
pub fn shared(certificate: *const X509) -> Option<(Arc<RootStore>, AnchorIndex)> {
    SHARED.with(certificate as usize, |Origin(snapshot, index)| {
        // SAFETY: before a snapshot is dropped, it takes its certificates out of the table, which waits for this to
        // end.
        (Arc::clone(unsafe { &(*snapshot).roots }), index)
    })
}

/// As [`shared`], with a reference to the certificate: another thread may just be releasing the reference that the
/// caller found it by.
pub fn hold(served: &Served, certificate: *mut X509) -> Option<(Arc<RootStore>, AnchorIndex, Held)> {
    SHARED.with(certificate as usize, |Origin(snapshot, index)| {
        // SAFETY: as above; the snapshot holds a reference to the certificate.
        unsafe { (Arc::clone(&(*snapshot).roots), index, Held::new(&served.api, certificate)) }
    })
}

/// Never free this shared certificate from now on: a context that does not own it may refer to it.
pub fn keep(certificate: *const X509) {
    SHARED.with(certificate as usize, |Origin(snapshot, _)| {
        // SAFETY: as above.
        let kept = unsafe { &(*snapshot).kept };
        if !kept.iter().any(|&known| known == certificate as usize) {
            kept.push(certificate as usize);
        }
    });
}

/// Certificates that were kept when their snapshot was dropped.
static KEPT: AppendList<usize> = AppendList::new();

/// 1.2.840.113549.1.1.1 in DER.
const RSA_ENCRYPTION: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

impl Snapshot {
    /// Certificates for all stores of a process. None is parsed yet.
    pub fn new(library: &'static Libcrypto, roots: Arc<RootStore>) -> Option<Snapshot> {
        Snapshot::of(library, roots, true)
    }

    /// Certificates of one store.
    pub fn of_one_store(library: &'static Libcrypto, roots: Arc<RootStore>) -> Option<Snapshot> {
        Snapshot::of(library, roots, false)
    }

    fn of(library: &'static Libcrypto, roots: Arc<RootStore>, is_shared: bool) -> Option<Snapshot> {
        let count = roots.len();
        let certificates = memory::collected((0..count).map(|_| AtomicPtr::new(ptr::null_mut())), count)?;
        Some(Snapshot {
            library,
            is_shared,
            roots,
            searches: Remembered::default(),
            certificates: certificates.into_boxed_slice(),
            doubtful: AppendList::new(),
            replaced: AppendList::new(),
            kept: AppendList::new(),
            readable_keys: AtomicBool::new(false),
        })
    }

    /// Whether the certificate is already parsed.
    pub fn is_made(&self, index: AnchorIndex) -> bool {
        self.certificates.get(index.get()).is_some_and(|slot| !slot.load(Ordering::Acquire).is_null())
    }

    /// The certificate, parsed now if this is its first use. The reference belongs to the snapshot.
    pub fn certificate(&self, served: &Served, index: AnchorIndex) -> Option<*mut X509> {
        let slot = self.certificates.get(index.get())?;
        let known = slot.load(Ordering::Acquire);
        let is_doubtful = self.doubtful.len() > 0 && self.doubtful.iter().any(|&place| place as usize == index.get());
        if !known.is_null() && (!is_doubtful || self.is_whole(served, known)) {
            process::count(Event::AnchorsShared, 1);
            return Some(known);
        }
        let fresh = self.parse(served, index)?;
        let is_whole = !self.is_shared || self.is_whole(served, fresh);
        let free = || {
            // SAFETY: parsed above and not handed to anyone.
            unsafe { (served.api.X509_free)(fresh) };
        };
        if !known.is_null() && !is_whole {
            free();
            process::count(Event::AnchorsShared, 1);
            return Some(known);
        }
        // Allocate the room for the note first.
        let (replaced, doubtful) = (AppendList::prepare(known as usize), AppendList::prepare(index.get() as u32));
        let (Some(replaced), Some(doubtful)) = (replaced, doubtful) else {
            free();
            return None;
        };
        // Known as shared before any store can get it. A snapshot never moves: it lives in an Arc.
        if self.is_shared {
            SHARED.insert(fresh as usize, Origin(self, index));
        }
        match slot.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                process::count(Event::AnchorsParsed, 1);
                if !known.is_null() {
                    self.replaced.append(replaced);
                } else if !is_whole {
                    self.doubtful.append(doubtful);
                }
                Some(fresh)
            }
            Err(winner) => {
                self.release(served, fresh);
                Some(winner)
            }
        }
    }

    /// Whether libcrypto can read every public key. 1.1.1 leaves errors in the queue each time it parses a certificate
    /// whose key it can't read, and our reader does not notice a point that is not on its curve. Such a source is not
    /// served on 1.1.1. 3.0 and later restore the queue (x509_pubkey_ex_d2i_ex, x_pubkey.c).
    pub fn has_readable_keys(&self, served: &Served) -> bool {
        if !served.is_before_3_0() {
            return true;
        }
        if !self.readable_keys.load(Ordering::Acquire) {
            let is_rsa = |spki: &[u8]| spki.windows(RSA_ENCRYPTION.len()).take(16).any(|part| part == RSA_ENCRYPTION);
            let readable = self.roots.anchors().filter(|anchor| !is_rsa(anchor.spki())).all(|anchor| {
                let certificate = self.certificate(served, anchor.index());
                // SAFETY: the snapshot keeps the certificate alive.
                certificate.is_some_and(|certificate| unsafe { !(served.api.X509_get0_pubkey)(certificate).is_null() })
            });
            self.readable_keys.store(readable, Ordering::Release);
        }
        self.readable_keys.load(Ordering::Acquire)
    }

    /// Whether libcrypto has read everything it needs of a certificate. When memory is short, libcrypto notes in the
    /// object itself that the extensions or the key can't be read, and never looks again.
    fn is_whole(&self, served: &Served, certificate: *mut X509) -> bool {
        let _context = self.library.originals.global_context();
        let _marked = Marked::new(served);
        // SAFETY: a certificate that this snapshot holds, or has just parsed.
        let (flags, key) =
            unsafe { ((served.api.X509_get_extension_flags)(certificate), (served.api.X509_get0_pubkey)(certificate)) };
        flags & (EXFLAG_INVALID | EXFLAG_NO_FINGERPRINT) == 0
            && flags & (EXFLAG_SI | EXFLAG_SS) != EXFLAG_SI
            && !key.is_null()
    }

    /// Whether no store and no cache uses this snapshot or its root store any more.
    pub fn is_abandoned(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && Arc::strong_count(&self.roots) == 1
    }

    /// Parses a certificate, with a second try: one failed allocation must not remove a root from a store. A second
    /// failure counts, but not for good: the certificate is `doubtful`.
    ///
    /// The certificates of one store are parsed as in stock OpenSSL: their extensions are read at their first use,
    /// after any changes that the program has made by then.
    fn parse(&self, served: &Served, index: AnchorIndex) -> Option<*mut X509> {
        let certificate = self.parse_once(served, index)?;
        if !self.is_shared || self.is_whole(served, certificate) {
            return Some(certificate);
        }
        // SAFETY: parsed above and not handed to anyone.
        unsafe { (served.api.X509_free)(certificate) };
        self.parse_once(served, index)
    }

    /// Releases the reference that the snapshot took when it parsed a certificate.
    fn release(&self, served: &Served, certificate: *mut X509) {
        if self.is_shared {
            SHARED.remove(certificate as usize);
        }
        if self.kept.iter().any(|&known| known == certificate as usize) {
            KEPT.push(certificate as usize);
            return;
        }
        // SAFETY: the reference is the snapshot's, and is not used any more.
        unsafe { (served.api.X509_free)(certificate) };
    }

    fn parse_once(&self, served: &Served, index: AnchorIndex) -> Option<*mut X509> {
        let _context = self.library.originals.global_context();
        let der = self.roots.anchor(index).der();
        let mut at = der.as_ptr();
        // SAFETY: `at` points to `der.len()` readable bytes; d2i_X509 copies what it keeps.
        let certificate = unsafe { (served.api.d2i_X509)(ptr::null_mut(), &mut at, i64::try_from(der.len()).ok()?) };
        if certificate.is_null() {
            process::count(Event::ParseFailures, 1);
            return None;
        }
        Some(certificate)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Some(served) = self.library.served() else { return };
        for slot in &self.certificates {
            let certificate = slot.load(Ordering::Acquire);
            if !certificate.is_null() {
                self.release(served, certificate);
            }
        }
        for &certificate in self.replaced.iter() {
            self.release(served, certificate as *mut X509);
        }
    }
}
