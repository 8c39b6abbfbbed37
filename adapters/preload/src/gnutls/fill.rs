//! Putting certificates into a foreign list: all of a lazy one, or a few into a private one.

use std::ffi::{c_int, c_uint};
use std::ptr;

use windlass::AnchorIndex;

use crate::arranged::arranged;
use crate::gnutls::api::{Certificate, Datum, FORMAT_DER, List, MEMORY_ERROR, NO_DUPLICATES};
use crate::gnutls::bucket::AnchorBucket;
use crate::gnutls::libgnutls::Served;
use crate::gnutls::list::{self, ListState, Source};
use crate::hook::shielded;
use crate::labels::Gnutls;
use crate::memory;
use crate::process;

/// Fills a lazy list with everything that the program has loaded into it. From now on every call goes to the original.
///
/// The loads are repeated in their order. `gnutls_x509_trust_list_add_trust_mem` parses all certificates of a source
/// and adds them in one call of `add_cas`, or adds none if one fails. If another thread of the parent was in the middle
/// of this when a child was forked, the child does it again; duplicates replace their equals.
///
/// The same holds if memory was short and only part was done: the next call that needs the list does it again.
pub fn complete(state: &ListState) {
    if !state.is_lazy() && !state.is_partly() {
        return;
    }
    let completed = shielded(|| {
        let _guard = state.lock();
        if !state.is_lazy() && !state.is_partly() {
            return Some(());
        }
        let mut whole = true;
        for source in state.recipe.iter() {
            let all = source.roots.anchors().map(|anchor| anchor.index());
            match Parsed::new(state, source, all, source.roots.len()) {
                Ok(certificates) => whole &= certificates.add_to(state.list, source.flags),
                // GnuTLS adds nothing from such a file.
                Err(Unparsed::Refused) => {}
                Err(Unparsed::NoMemory) => whole = false,
            }
        }
        if !whole {
            state.set_partly();
            return Some(());
        }
        if state.recipe.len() > 0 {
            process::count(Gnutls::Completions, 1);
        }
        state.set_complete();
        Some(())
    });
    if completed.is_none() {
        state.set_partly();
    }
}

/// Completes all lists that have a pending source of this kind.
pub fn complete_where(kind: impl Fn(&Source) -> bool) {
    let is_wanted = |state: &ListState| {
        // A load that checked earlier, and was not told to refrain, notes its source before it releases the lock.
        let _guard = state.lock();
        state.has_pending() && state.recipe.iter().any(&kind)
    };
    let Some(all) = list::all() else {
        // One after the other; none comes up twice, because a completed list is no longer lazy.
        while let Some(state) = list::one_that(is_wanted) {
            complete(&state);
        }
        return;
    };
    for state in all {
        if is_wanted(&state) {
            complete(&state);
        }
    }
}

/// A list of our own, freed when dropped.
///
/// It replaces a lazy list in a search for certain names. GnuTLS looks into the bucket of the name's hash and compares
/// names there: as bytes, and then as text, so that names with other bytes can match (dn.c,
/// `_gnutls_x509_compare_raw_dn`). The private list holds all anchors of the buckets that can be searched, in the order
/// of the program's loads, and nothing else.
pub struct Private {
    served: &'static Served,
    /// The foreign list.
    pub list: *mut List,
}

impl Private {
    /// All anchors in the buckets of these names, added with the flags of the program's loads. `None` if one can't be
    /// had.
    pub fn new(state: &ListState, names: &[Vec<u8>]) -> Option<Private> {
        let mut list = ptr::null_mut();
        // SAFETY: a place for the result; the size was already accepted for the original list.
        if unsafe { (state.served.api.gnutls_x509_trust_list_init)(&mut list, state.size) } < 0 || list.is_null() {
            return None;
        }
        list::end(list);
        let private = Private { served: state.served, list };
        let mut buckets = memory::collected(names.iter().map(|name| state.bucket_of(name)), names.len())?;
        buckets.sort_unstable();
        buckets.dedup();
        for source in state.recipe.iter() {
            let mut found = Vec::new();
            for &bucket in &buckets {
                for index in arranged(state.in_bucket(source, bucket)?) {
                    found.try_reserve(1).ok()?;
                    found.push(index);
                }
            }
            if found.is_empty() {
                continue;
            }
            let count = found.len();
            if !Parsed::new(state, source, found.into_iter(), count).ok()?.add_to(list, source.flags) {
                // A list that ran out of memory while growing counts certificates that it does not have (add_cas in
                // verify-high.c, _gnutls_reallocarray_fast), and freeing it would end the process.
                std::mem::forget(private);
                return None;
            }
        }
        process::count(Gnutls::Verifications, 1);
        Some(private)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and no one else knows it. It owns its certificates.
        unsafe { (self.served.api.gnutls_x509_trust_list_deinit)(self.list, 1) };
    }
}

/// The raw subject and issuer of a certificate; `None` if GnuTLS does not return them.
///
/// # Safety
/// A certificate of this libgnutls, or null.
pub unsafe fn names_of(served: &Served, certificate: *mut Certificate) -> Option<[Vec<u8>; 2]> {
    if certificate.is_null() {
        return None;
    }
    // SAFETY: as the caller states; the functions fill a datum that the caller then owns.
    unsafe {
        let subject = bytes(served, |datum| (served.api.gnutls_x509_crt_get_raw_dn)(certificate, datum))?;
        let issuer = bytes(served, |datum| (served.api.gnutls_x509_crt_get_raw_issuer_dn)(certificate, datum))?;
        Some([subject, issuer])
    }
}

/// The bytes that a function of libgnutls puts into a datum.
///
/// # Safety
/// `fill` returns a negative number, or has stored memory there that its caller frees.
pub unsafe fn bytes(served: &Served, fill: impl FnOnce(&mut Datum) -> c_int) -> Option<Vec<u8>> {
    let mut datum = Datum { data: ptr::null_mut(), size: 0 };
    if fill(&mut datum) < 0 || datum.data.is_null() {
        return None;
    }
    // SAFETY: as the caller states.
    let bytes = memory::copied(unsafe { std::slice::from_raw_parts(datum.data, datum.size as usize) });
    // SAFETY: as the caller states.
    unsafe { served.free(datum.data.cast()) };
    bytes
}

/// Certificates that are in no list yet.
struct Parsed {
    served: &'static Served,
    certificates: Vec<*mut Certificate>,
}

/// The reason why certificates were not parsed.
enum Unparsed {
    /// GnuTLS does not accept one.
    Refused,
    /// Memory is short.
    NoMemory,
}

impl Parsed {
    /// Parses `count` anchors of a source: all or none.
    fn new(
        state: &ListState,
        source: &Source,
        anchors: impl Iterator<Item = AnchorIndex>,
        count: usize,
    ) -> Result<Parsed, Unparsed> {
        let (served, places) = (state.served, state.places(source).ok_or(Unparsed::NoMemory)?);
        let mut parsed = Parsed { served, certificates: Vec::new() };
        parsed.certificates.try_reserve_exact(count).map_err(|_| Unparsed::NoMemory)?;
        let mut first = 0;
        for index in anchors {
            let mut certificate = ptr::null_mut();
            // SAFETY: a place for the result.
            if unsafe { (served.api.gnutls_x509_crt_init)(&mut certificate) } < 0 {
                return Err(Unparsed::NoMemory);
            }
            parsed.certificates.push(certificate);
            let der = source.roots.anchor(index).der();
            let datum = Datum {
                data: der.as_ptr().cast_mut(),
                size: c_uint::try_from(der.len()).map_err(|_| Unparsed::Refused)?,
            };
            // SAFETY: a fresh certificate; the bytes are only read, and not kept.
            let result = unsafe { (served.api.gnutls_x509_crt_import)(certificate, &datum, FORMAT_DER) };
            if result == MEMORY_ERROR {
                return Err(Unparsed::NoMemory);
            }
            if result < 0 {
                process::count(Gnutls::ParseFailures, 1);
                return Err(Unparsed::Refused);
            }
            first += u64::from(places.get(index.get()).is_some_and(AnchorBucket::is_parsed_first));
        }
        process::count(Gnutls::AnchorsParsed, first);
        process::count(Gnutls::AnchorsParsedAgain, parsed.certificates.len() as u64 - first);
        Ok(parsed)
    }

    /// Hands all certificates over to a list. Returns whether the list has taken all.
    fn add_to(mut self, list: *mut List, flags: c_uint) -> bool {
        let certificates = std::mem::take(&mut self.certificates);
        let count = certificates.len() as c_uint;
        let add = self.served.api.gnutls_x509_trust_list_add_cas;
        // SAFETY: valid certificates; the list owns those that it has taken, and frees those that they replace. If
        // memory runs out, the others leak.
        let taken = unsafe { add(list, certificates.as_ptr(), count, flags | NO_DUPLICATES) };
        taken == count as c_int
    }
}

impl Drop for Parsed {
    fn drop(&mut self) {
        for &certificate in &self.certificates {
            // SAFETY: made in `new`, and in no list.
            unsafe { (self.served.api.gnutls_x509_crt_deinit)(certificate) };
        }
    }
}
