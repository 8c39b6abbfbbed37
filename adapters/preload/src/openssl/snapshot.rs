//! The parsed certificates of one root store for one libcrypto, made one by one when they are needed.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass::{AnchorIndex, RootStore};

use crate::append_list::AppendList;
use crate::labels::Event;
use crate::memory;
use crate::openssl::api::{EXFLAG_INVALID, EXFLAG_NO_FINGERPRINT, EXFLAG_SI, EXFLAG_SS, X509};
use crate::openssl::library::{Libcrypto, Served};
use crate::openssl::materialise::Marked;
use crate::openssl::remembered::Remembered;
use crate::process;

/// A root store together with the `X509` objects that were made of it so far.
///
/// The objects are shared by reference count with every store that needs them. They are parsed in the global library
/// context, as a load without a context of its own does.
pub struct Snapshot {
    library: &'static Libcrypto,
    /// The certificates as they were read.
    pub roots: Arc<RootStore>,
    /// What searches in it have found.
    pub searches: Remembered<AnchorIndex>,
    certificates: Box<[AtomicPtr<X509>]>,
    /// Certificates of which libcrypto could not read all when they were parsed, and looks no more: memory was short, or 3.0 and later
    /// had no provider that reads the key. They are parsed again until that succeeds.
    doubtful: AppendList<u32>,
    /// Objects that were replaced by one that was read. Stores of before still have them.
    replaced: AppendList<usize>,
    /// Whether `has_readable_keys` was found to be so. That it is not is not remembered: memory may have been short.
    readable_keys: AtomicBool,
}

/// 1.2.840.113549.1.1.1 in DER.
const RSA_ENCRYPTION: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

impl Snapshot {
    /// Nothing is parsed yet.
    pub fn new(library: &'static Libcrypto, roots: Arc<RootStore>) -> Option<Snapshot> {
        let count = roots.len();
        let certificates = memory::collected((0..count).map(|_| AtomicPtr::new(ptr::null_mut())), count)?;
        Some(Snapshot {
            library,
            roots,
            searches: Remembered::default(),
            certificates: certificates.into_boxed_slice(),
            doubtful: AppendList::new(),
            replaced: AppendList::new(),
            readable_keys: AtomicBool::new(false),
        })
    }

    /// The certificate, parsed now if nobody needed it before. The reference belongs to the snapshot.
    pub fn certificate(&self, served: &Served, index: AnchorIndex) -> Option<*mut X509> {
        let slot = self.certificates.get(index.get())?;
        let known = slot.load(Ordering::Acquire);
        let is_doubtful = self.doubtful.len() > 0 && self.doubtful.iter().any(|&place| place as usize == index.get());
        if !known.is_null() && (!is_doubtful || self.is_whole(served, known)) {
            process::count(Event::AnchorsShared, 1);
            return Some(known);
        }
        let fresh = self.parse(served, index)?;
        let is_whole = self.is_whole(served, fresh);
        let free = || {
            // SAFETY: parsed above and not given to anybody.
            unsafe { (served.api.X509_free)(fresh) };
        };
        if !known.is_null() && !is_whole {
            free();
            process::count(Event::AnchorsShared, 1);
            return Some(known);
        }
        // Room for the note before there is something to note.
        let (replaced, doubtful) = (AppendList::prepare(known as usize), AppendList::prepare(index.get() as u32));
        let (Some(replaced), Some(doubtful)) = (replaced, doubtful) else {
            free();
            return None;
        };
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
                free();
                Some(winner)
            }
        }
    }

    /// Whether libcrypto can read every public key. 1.1.1 leaves errors in the queue each time that it parses a certificate
    /// whose key it can't read; a point that is not on its curve is not seen by our reader. Such a source is not served
    /// there. 3.0 and later restore the queue (x509_pubkey_ex_d2i_ex, x_pubkey.c).
    pub fn has_readable_keys(&self, served: &Served) -> bool {
        if !served.is_before_3_0() {
            return true;
        }
        if !self.readable_keys.load(Ordering::Acquire) {
            let is_rsa = |spki: &[u8]| spki.windows(RSA_ENCRYPTION.len()).take(16).any(|part| part == RSA_ENCRYPTION);
            let readable = self.roots.anchors().filter(|anchor| !is_rsa(anchor.spki())).all(|anchor| {
                let certificate = self.certificate(served, anchor.index());
                // SAFETY: the snapshot holds the certificate.
                certificate.is_some_and(|certificate| unsafe { !(served.api.X509_get0_pubkey)(certificate).is_null() })
            });
            self.readable_keys.store(readable, Ordering::Release);
        }
        self.readable_keys.load(Ordering::Acquire)
    }

    /// Whether libcrypto has read all that it needs of a certificate. When memory is short it notes in the object itself that the
    /// extensions, or the key, can't be read, and never looks again.
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

    /// Whether neither a store nor the cache uses this snapshot or its root store any more.
    pub fn is_abandoned(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && Arc::strong_count(&self.roots) == 1
    }

    /// One failed allocation must not take a root from a store: what is so twice is so. Not for good: it is `doubtful`.
    fn parse(&self, served: &Served, index: AnchorIndex) -> Option<*mut X509> {
        let certificate = self.parse_once(served, index)?;
        if self.is_whole(served, certificate) {
            return Some(certificate);
        }
        // SAFETY: parsed above and not given to anybody.
        unsafe { (served.api.X509_free)(certificate) };
        self.parse_once(served, index)
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
        let Some(served) = &self.library.served else { return };
        for slot in &self.certificates {
            let certificate = slot.load(Ordering::Acquire);
            if !certificate.is_null() {
                // SAFETY: this releases the reference that the snapshot took when it parsed the certificate.
                unsafe { (served.api.X509_free)(certificate) };
            }
        }
        for &certificate in self.replaced.iter() {
            // SAFETY: as above.
            unsafe { (served.api.X509_free)(certificate as *mut X509) };
        }
    }
}
