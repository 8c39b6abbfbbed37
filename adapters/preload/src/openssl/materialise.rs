//! Putting certificates into a store, so that it holds what an eager load would have put there.

use std::collections::HashSet;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass::{AnchorIndex, CanonicalName, RawName};

use crate::arranged::arranged;
use crate::labels::{Bypass, Event};
use crate::openssl::api::{Required, X509, X509_NAME};
use crate::openssl::library::Served;
use crate::openssl::snapshot::Snapshot;
use crate::openssl::store::{Registration, StoreState};
use crate::openssl::{contested, directory_search, order};
use crate::openssl::{users, verification};
use crate::process;

/// Registers a PEM file with a store in place of loading it. The result is the number of certificates that a load
/// would have reported.
///
/// Success has the side effect on the error queue that it has in stock: 1.1.1's PEM_X509_INFO_read_bio clears the whole
/// queue at the end of a file, 3.0 and later leave older entries alone.
pub fn serve_file(state: &StoreState, served: &Served, path: &CStr) -> Result<c_int, Bypass> {
    if !state.linked {
        return Err(Bypass::NotLinked);
    }
    if !state.library.originals.is_global_context() {
        return Err(Bypass::LibraryContext);
    }
    let snapshot = load(state, path)?;
    if !snapshot.has_readable_keys(served) {
        return Err(Bypass::UnsupportedContent);
    }
    let count = c_int::try_from(snapshot.roots.len()).map_err(|_| Bypass::NotAFile)?;
    let marked = Marked::new(served);
    let registered = register(state, served, snapshot);
    drop(marked);
    registered?;
    if served.is_before_3_0() {
        // SAFETY: no preconditions.
        unsafe { (served.api.ERR_clear_error)() };
    }
    Ok(count)
}

/// The certificates of a PEM file, from the cache.
pub fn load(state: &StoreState, path: &CStr) -> Result<Arc<Snapshot>, Bypass> {
    use std::os::unix::ffi::OsStrExt;
    if path.is_empty() {
        return Err(Bypass::Path);
    }
    let process = process::current();
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    let roots = process.cache.load_cafile(path).map_err(|error| Bypass::for_error(&error))?;
    if users::survey().changes_certificates {
        // One store's certificates are then its own, as in stock.
        let known = state.registrations.iter().find(|known| Arc::ptr_eq(&known.snapshot.roots, &roots));
        return match known {
            Some(known) => Ok(Arc::clone(&known.snapshot)),
            None => Snapshot::new(state.library, roots).map(Arc::new).ok_or(Bypass::NoMemory),
        };
    }
    process.snapshot(state.library, roots).ok_or(Bypass::NoMemory)
}

/// The program is about to load something into this store that we can't look into: what was only registered so far goes
/// in first, so that the order is that of an eager load.
pub fn leave_to_original(state: &StoreState) {
    everything(state);
    state.touched.store(true, Ordering::Release);
    state.loaded_by_original.store(true, Ordering::Release);
}

/// Adds all that is registered, in the order in which an eager load would have.
pub fn everything(state: &StoreState) {
    let Some(served) = state.served() else { return };
    let _guard = state.lock();
    let _marked = Marked::new(served);
    order::settle(state, served);
}

/// Adds every registered anchor of a subject. To be called with the state's lock held. The result is the first of them.
pub fn subject(state: &StoreState, served: &Served, name: &CanonicalName) -> Option<*mut X509> {
    together(state, served, |snapshot| snapshot.roots.by_subject(name))
}

/// As [`subject`], of a name as it was encoded. `None`, too, if it has to be searched for.
pub fn recalled<'s>(state: &'s StoreState, served: &Served, name: &[u8]) -> Option<*mut X509> {
    let is_known = state.registrations.iter().all(|known| known.snapshot.searches.recall(name).is_some());
    let anchors = |snapshot: &'s Arc<Snapshot>| snapshot.searches.recall(name).unwrap_or_default().iter().copied();
    is_known.then(|| together(state, served, anchors))?
}

/// Makes a search known to [`recalled`].
pub fn remember(state: &StoreState, encoded: &[u8], name: &CanonicalName) {
    for registration in state.registrations.iter() {
        let snapshot = &registration.snapshot;
        snapshot.searches.remember(encoded, snapshot.roots.by_subject(name));
    }
}

/// Adds all anchors of one subject.
fn together<'s, I: Iterator<Item = AnchorIndex>>(
    state: &'s StoreState,
    served: &Served,
    anchors: impl Fn(&'s Arc<Snapshot>) -> I,
) -> Option<*mut X509> {
    let (mut first, mut missing, mut marks, mut seen) = (None, Vec::new(), Vec::new(), Distinct::default());
    for registration in state.registrations.iter() {
        let snapshot = &registration.snapshot;
        for index in arranged(anchors(snapshot)) {
            let added = registration.has_added(index);
            // Another thread has just added it; or the program has taken it out of the store again.
            if added && state.exposed.load(Ordering::Acquire) {
                continue;
            }
            // One that can't be made (memory is short) keeps all of its subject away: some of them alone would hide it.
            let certificate = snapshot.certificate(served, index)?;
            first = first.or(Some(certificate));
            if !added {
                // Duplicates collapse in the store.
                missing.try_reserve(1).ok()?;
                marks.try_reserve(1).ok()?;
                if seen.insert(snapshot.roots.anchor(index).der())? {
                    missing.push(certificate);
                }
                marks.push((registration, Registration::prepare(index)?));
            }
        }
    }
    if !add_together(state, served, &missing) {
        return None;
    }
    marks.into_iter().for_each(|(registration, mark)| registration.mark(mark));
    first
}

/// Certificates of one subject, each once. There is one nearly always, and hashing it would be a quarter of what a lookup costs.
#[derive(Default)]
struct Distinct<'a> {
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a> Distinct<'a> {
    /// More are not compared one by one.
    const FEW: usize = 16;

    /// Whether it is new. None if there is no memory for it.
    fn insert(&mut self, der: &'a [u8]) -> Option<bool> {
        if !self.many.is_empty() {
            self.many.try_reserve(1).ok()?;
            return Some(self.many.insert(der));
        }
        if self.few.contains(&der) {
            return Some(false);
        }
        self.few.try_reserve(1).ok()?;
        self.few.push(der);
        if self.few.len() > Self::FEW {
            self.many.try_reserve(self.few.len()).ok()?;
            self.many.extend(self.few.drain(..));
        }
        Some(true)
    }
}

/// Adds certificates of one subject, of which the store's memory holds none. No other thread sees some of them without the
/// others, as far as that is possible: before 4.0 they go into the stack under the store's lock, as x509_lu.c puts them there one
/// by one. 4.0 has a table that only it can reach; `verification` keeps other threads away. There, and where the program has the
/// live stack, a failing addition leaves those before it behind.
fn add_together(state: &StoreState, served: &Served, certificates: &[*mut X509]) -> bool {
    let api = &served.api;
    state.touched.store(true, Ordering::Release);
    if certificates.len() < 2 || !served.sorts_objects() || state.exposed.load(Ordering::Acquire) {
        // SAFETY: the store is alive for the length of the call that we are in; it takes a reference of its own.
        return certificates
            .iter()
            .all(|&certificate| unsafe { (api.X509_STORE_add_cert)(state.store, certificate) == 1 });
    }
    // SAFETY: as above; the stack is the live one, and is changed under its lock only.
    unsafe {
        if (api.X509_STORE_lock)(state.store) != 1 {
            return false;
        }
        let stack = (api.X509_STORE_get0_objects)(state.store);
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
        (api.X509_STORE_unlock)(state.store);
        added
    }
}

/// Whether all registered anchors of a certificate's subject are in memory: not so if it could not be had.
///
/// # Safety
/// `certificate` is a valid certificate of this libcrypto.
pub unsafe fn is_in_memory(state: &StoreState, api: &Required, certificate: *mut X509) -> bool {
    let is_complete = |known: &Arc<Registration>| known.complete.load(Ordering::Acquire);
    if state.registrations.iter().all(is_complete) {
        return true;
    }
    // SAFETY: as the caller states.
    let Some(name) = canonical(api, unsafe { (api.X509_get_subject_name)(certificate) }) else { return false };
    state
        .registrations
        .iter()
        .all(|known| is_complete(known) || known.snapshot.roots.by_subject(&name).all(|index| known.has_added(index)))
}

/// Whether several anchors of this subject are registered.
pub fn is_shared(state: &StoreState, name: &CanonicalName) -> bool {
    let anchors = |known: &Arc<Registration>| known.snapshot.roots.by_subject(name).count();
    state.registrations.iter().map(anchors).sum::<usize>() > 1
}

/// Adds one anchor; duplicates collapse in the store.
pub fn add(state: &StoreState, served: &Served, snapshot: &Arc<Snapshot>, index: AnchorIndex) -> Option<*mut X509> {
    let certificate = snapshot.certificate(served, index)?;
    state.touched.store(true, Ordering::Release);
    // SAFETY: the store is alive for the length of the call that we are in; it takes a reference of its own.
    let added = unsafe { (served.api.X509_STORE_add_cert)(state.store, certificate) };
    (added == 1).then_some(certificate)
}

/// The canonical form of one of libcrypto's names; `None` when our reader does not know its form.
pub fn canonical(api: &Required, name: *const X509_NAME) -> Option<CanonicalName> {
    // SAFETY: a valid name of this libcrypto, which nobody changes meanwhile.
    canonical_of(unsafe { encoded(api, name) }?)
}

/// The first certificate of a name that our reader can't canonicalise, as libcrypto compares names. Everything registered is in
/// memory, where libcrypto does not look again in this search.
pub fn compared(state: &StoreState, served: &Served, name: *const X509_NAME) -> Option<*mut X509> {
    let _guard = state.lock();
    if served.sorts_objects() {
        return directory_search::take_out(state, &served.api, name);
    }
    if state.exposed.load(Ordering::Acquire) {
        return None;
    }
    let known = |registration: &Arc<Registration>| {
        let snapshot = &registration.snapshot;
        snapshot.roots.anchors().filter_map(|anchor| snapshot.certificate(served, anchor.index())).find(
            |&certificate| {
                // SAFETY: the snapshot holds the certificate; libcrypto passes a valid name.
                unsafe { (served.api.X509_NAME_cmp)((served.api.X509_get_subject_name)(certificate), name) == 0 }
            },
        )
    };
    state.registrations.iter().find_map(known)
}

/// The canonical form of an encoded name.
pub fn canonical_of(name: &[u8]) -> Option<CanonicalName> {
    CanonicalName::from_raw(RawName::from_der(name).ok()?).ok()
}

/// The encoding of one of libcrypto's names.
///
/// # Safety
/// The name is valid, and neither changed nor freed as long as the result is used.
pub unsafe fn encoded<'a>(api: &Required, name: *const X509_NAME) -> Option<&'a [u8]> {
    let (mut der, mut length) = (std::ptr::null(), 0);
    // SAFETY: as the caller states; the encoding belongs to the name.
    if unsafe { (api.X509_NAME_get0_der)(name, &mut der, &mut length) } != 1 || der.is_null() {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { std::slice::from_raw_parts(der, length) })
}

/// Restores the error queue to what it was, should libcrypto leave something there while it works for us.
///
/// 1.1.1 has no counted marks: a mark of ours on an entry that libcrypto has marked itself would end that mark, too. There
/// nothing is marked; parsing a certificate that it accepts leaves no error behind.
pub struct Marked<'a>(Option<&'a Required>);

impl<'a> Marked<'a> {
    /// Marks the present end of the queue.
    pub fn new(served: &'a Served) -> Self {
        let api = (!served.is_before_3_0()).then_some(&served.api);
        if let Some(api) = api {
            // SAFETY: no preconditions. With an empty queue no mark is set, and popping to it empties the queue again.
            unsafe { (api.ERR_set_mark)() };
        }
        Marked(api)
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        if let Some(api) = self.0 {
            // SAFETY: as above.
            unsafe { (api.ERR_pop_to_mark)() };
        }
    }
}

fn register(state: &StoreState, served: &Served, snapshot: Arc<Snapshot>) -> Result<(), Bypass> {
    let _guard = state.lock();
    let is_first = order::is_untouched(state, served);
    // A directory may have given libcrypto certificates since the last search: they come before the new ones.
    if !is_first {
        order::settle_after_search(state, served);
    }
    let is_contested =
        contested::holds_twins(&snapshot) || !is_first && contested::is_contested(state, served, &snapshot);
    if is_contested {
        return Err(Bypass::SharedSubject);
    }
    process::count(Event::AnchorsRegistered, snapshot.roots.len() as u64);
    // A search may be on its way to directories, and what libcrypto adds from there is not seen.
    let is_late = !state.library.shows_additions && state.searches_went_on.load(Ordering::Acquire);
    let eager = is_late || state.eager.load(Ordering::Acquire);
    if is_first && !eager && !state.verifies.load(Ordering::Acquire) {
        let registration = Arc::new(Registration::new(snapshot));
        order::begin(state, Arc::clone(&registration));
        state.registrations.push(registration);
        return Ok(());
    }
    let known = state.registrations.iter().find(|known| Arc::ptr_eq(&known.snapshot, &snapshot));
    if let Some(known) = known {
        // The same certificates again: nothing is new, but it shows in the order of an enumeration.
        order::note(state, order::Event::Load(Arc::clone(known)));
        order::remember_sortedness(state, served);
        return Ok(());
    }
    let registration = Arc::new(Registration::new(snapshot));
    order::note(state, order::Event::Load(Arc::clone(&registration)));
    state.registrations.push(Arc::clone(&registration));
    if eager {
        order::settle(state, served);
        return Ok(());
    }
    if state.verifies.load(Ordering::Acquire) {
        verification::add_shared_subjects(state, served, &registration);
    }
    order::remember_sortedness(state, served);
    Ok(())
}

/// The canonical subject of one anchor.
pub fn canonical_subject(snapshot: &Snapshot, index: AnchorIndex) -> Option<CanonicalName> {
    let anchor = snapshot.roots.anchor(index);
    CanonicalName::from_raw(anchor.raw_subject()).ok()
}

/// Adds what is not in memory yet. To be called with the state's lock held.
pub fn complete(state: &StoreState, served: &Served) {
    for registration in state.registrations.iter() {
        if registration.complete.load(Ordering::Acquire) {
            continue;
        }
        // As one each. 4.0 can't do that, and keeps the order of these additions.
        if served.sorts_objects() {
            verification::add_shared_subjects(state, served, registration);
        }
        let Some(added) = registration.added() else { continue };
        let mut whole = true;
        for anchor in registration.snapshot.roots.anchors() {
            let index = anchor.index();
            if !added.contains(&(index.get() as u32)) {
                whole &= add(state, served, &registration.snapshot, index).is_some();
            }
        }
        registration.complete.store(whole, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    #[test]
    fn each_is_new_once_however_many_there_are() {
        let names: Vec<[u8; 2]> = (0..100_u8).map(|number| [number, number / 7]).collect();
        let mut distinct = Distinct::default();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(distinct.insert(name), Some(true), "{at} is new");
            assert_eq!([name, &names[at / 2]].map(|name| distinct.insert(name)), [Some(false); 2], "{at} again");
        }
    }
}
