//! Making the successor of a store.

use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass::RootStore;

use crate::hook::inside;
use crate::openssl::api::{X509, X509_CRL, X509_STORE};
use crate::openssl::errors::Marked;
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::{capath, default_store, lookup, snapshots};

use super::Following;
use super::context::Functions;
use super::source::{Content, Place};

/// A reference to a store.
pub struct Held {
    functions: &'static Functions,
    store: *mut X509_STORE,
}

impl Held {
    /// One more reference to a store.
    ///
    /// # Safety
    /// The store is alive, and of the libcrypto that the functions belong to.
    pub unsafe fn new(functions: &'static Functions, store: *mut X509_STORE) -> Option<Held> {
        // SAFETY: as the caller states.
        (unsafe { (functions.api.X509_STORE_up_ref)(store) } == 1).then_some(Held { functions, store })
    }

    /// The same once more.
    pub fn again(&self) -> Option<Held> {
        // SAFETY: our own reference keeps it alive.
        unsafe { Held::new(self.functions, self.store) }
    }

    /// The store.
    pub fn store(&self) -> *mut X509_STORE {
        self.store
    }
}

// SAFETY: a reference to a store, which libcrypto counts atomically and locks itself.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: our own reference.
        unsafe { (self.functions.api.X509_STORE_free)(self.store) };
    }
}

/// Makes a store of these contents, by what the loads of the program's store have done. Nothing is read for it. `None`:
/// memory is short.
pub fn make(
    state: &StoreState,
    functions: &'static Functions,
    following: &Following,
    contents: &[Content],
) -> Option<Held> {
    let served = state.served();
    let api = &served.api;
    let _marked = Marked::new(served);
    let _inside = inside();
    // SAFETY: no arguments.
    let store = unsafe { (api.X509_STORE_new)() };
    if store.is_null() {
        return None;
    }
    let held = Held { functions, store };
    lookup::attach(state.library, store);
    let new = tracked(store)?;
    new.follow.as_ref()?.origin.store(state.store, Ordering::Release);
    // A connection can keep a chain longer than its store lives, and nobody would know whose the certificates are.
    new.model.foreign.own.be_apart();
    // For what libcrypto itself verifies in the middle of a verification (CRLs, stapled OCSP responses), unseen by any
    // hook. SAFETY: both stores are alive.
    let is_set =
        unsafe { (functions.api.X509_STORE_set1_param)(store, (functions.api.X509_STORE_get0_param)(state.store)) };
    if is_set != 1 {
        return None;
    }
    let mut loaded = Vec::new();
    loaded.try_reserve_exact(contents.len()).ok()?;
    for (source, content) in following.sources.iter().zip(contents) {
        let is_wanted = source.needs().is_none_or(|file| loaded.get(file).copied().unwrap_or(false));
        loaded.push(match (&source.place, content) {
            (Place::File(_), Content::Roots(roots)) => {
                register(new, roots)?;
                true
            }
            (Place::File(_), Content::Bytes(file)) => load(new, functions, &file.bytes)?,
            (Place::File(_), _) => false,
            (Place::Directory(path), _) if is_wanted => {
                // SAFETY: a path of ours; the store is ours.
                unsafe { (api.X509_STORE_load_locations)(store, ptr::null(), path.as_ptr()) };
                capath::track(new, path, true);
                true
            }
            (Place::Directory(_), _) => false,
            (Place::DefaultStore(path), _) => {
                if capath::default_directories(served) != Some(path.as_c_str()) {
                    following.leave();
                    return None;
                }
                default_store::register(new)
            }
        });
    }
    Some(held)
}

fn register(new: &StoreState, roots: &Arc<RootStore>) -> Option<()> {
    let served = new.served();
    let snapshot = snapshots::of(new.library, Arc::clone(roots))?;
    let is_served = new.library.originals.is_global_context() && snapshot.has_readable_keys(served);
    // What can't be served is libcrypto's to parse.
    if is_served && new.register(snapshot).is_ok() { Some(()) } else { add_all(new, roots) }
}

/// Adds the certificates as libcrypto parses them.
fn add_all(new: &StoreState, roots: &RootStore) -> Option<()> {
    let api = &new.served().api;
    new.leave_to_original();
    for anchor in roots.anchors() {
        let (mut at, len) = (anchor.der().as_ptr(), anchor.der().len());
        // SAFETY: the bytes of a certificate; what is made of them is added, and our reference is dropped.
        let is_added = unsafe {
            let certificate = (api.d2i_X509)(ptr::null_mut(), &mut at, len as c_long);
            let is_added = !certificate.is_null() && (api.X509_STORE_add_cert)(new.store, certificate) == 1;
            (api.X509_free)(certificate);
            is_added
        };
        if !is_added {
            return None;
        }
    }
    Some(())
}

/// Loads the bytes of a file as `X509_load_cert_crl_file` does (by_file.c), and returns whether that would have
/// succeeded. None if there is no memory. Its errors would be taken for those of the connection that is being verified.
fn load(new: &StoreState, functions: &Functions, bytes: &[u8]) -> Option<bool> {
    let api = &new.served().api;
    new.leave_to_original();
    let length = c_int::try_from(bytes.len()).ok()?;
    // SAFETY: the bytes outlive the BIO; every element of the stack is an X509_INFO, whose members may be null, and
    // adding takes references of its own. On 1.1.1 no mark is set by now (see `Marked`): libcrypto itself sets none
    // around the beginning of a verification.
    unsafe {
        let file = (functions.api.BIO_new_mem_buf)(bytes.as_ptr().cast(), length);
        if file.is_null() {
            return None;
        }
        (api.ERR_set_mark)();
        // The empty password, as there: without one, libcrypto would ask on the terminal.
        let password = c"".as_ptr().cast_mut().cast();
        let all = (functions.api.PEM_X509_INFO_read_bio)(file, ptr::null_mut(), ptr::null_mut(), password);
        (functions.api.BIO_free)(file);
        let count = if all.is_null() { 0 } else { (api.OPENSSL_sk_num)(all) };
        let mut added = 0;
        let mut is_good = true;
        for at in 0..count {
            let &Info { certificate, crl } = &*(api.OPENSSL_sk_value)(all, at).cast::<Info>();
            if is_good && !certificate.is_null() {
                is_good = (api.X509_STORE_add_cert)(new.store, certificate) == 1;
                added += c_int::from(is_good);
            }
            if is_good && !crl.is_null() {
                is_good = (api.X509_STORE_add_crl)(new.store, crl) == 1;
                added += c_int::from(is_good);
            }
        }
        if !all.is_null() {
            (api.OPENSSL_sk_pop_free)(all, functions.free_info());
        }
        (api.ERR_pop_to_mark)();
        Some(is_good && added > 0)
    }
}

/// The first members of `X509_INFO` (x509.h of 1.1.1 to 4.0, where it is public).
#[repr(C)]
struct Info {
    certificate: *mut X509,
    crl: *mut X509_CRL,
}
