//! Making the successor of a store.

use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass::RootStore;

use crate::hook::inside;
use crate::openssl::api::X509_STORE;
use crate::openssl::errors::Marked;
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::{capath, default_store, lookup, snapshots};

use super::Following;
use super::context::Functions;
use super::source::{Place, Seen};

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

    /// The store.
    pub fn store(&self) -> *mut X509_STORE {
        self.store
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: our own reference.
        unsafe { (self.functions.api.X509_STORE_free)(self.store) };
    }
}

/// A store that was made of the same sources later on.
pub struct Successor {
    held: Held,
    /// What the sources were at that time.
    seen: Vec<Seen>,
    /// The number of the look that saw this.
    pub look: u64,
}

impl Successor {
    pub fn new(held: Held, seen: Vec<Seen>, look: u64) -> Successor {
        Successor { held, seen, look }
    }

    /// The store itself, which lives as long as this.
    pub fn store(&self) -> *mut X509_STORE {
        self.held.store()
    }

    /// Whether it holds what a store made of these would hold.
    pub fn is_of(&self, now: &[Seen]) -> bool {
        self.seen.len() == now.len() && self.seen.iter().zip(now).all(|(seen, now)| seen.is_same(now))
    }
}

/// Makes a store of what the sources are now, by what the loads of the program's store have done. `None`: memory is
/// short.
pub fn make(state: &StoreState, functions: &'static Functions, following: &Following, now: &[Seen]) -> Option<Held> {
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
    unsafe { (functions.api.X509_STORE_set1_param)(store, (functions.api.X509_STORE_get0_param)(state.store)) };
    let mut is_loaded = true;
    for (source, now) in following.sources.iter().zip(now) {
        match (&source.place, now) {
            (Place::File(_), Seen::Nothing) => is_loaded = false,
            (Place::File(path), Seen::Roots(roots)) => is_loaded = register(new, roots) || load(new, path),
            (Place::File(path), Seen::Other { .. }) => is_loaded = load(new, path),
            (Place::Directory(_), _) if !is_loaded && source.needs_file.load(Ordering::Acquire) => {}
            (Place::Directory(path), _) => {
                // SAFETY: a path of ours; the store is ours.
                unsafe { (api.X509_STORE_load_locations)(store, ptr::null(), path.as_ptr()) };
                capath::track(new, path, true);
            }
            (Place::DefaultStore(path), _) => {
                if capath::default_directories(served) != Some(path.as_c_str()) {
                    following.leave();
                    return None;
                }
                default_store::register(new);
            }
        }
    }
    Some(held)
}

/// Loads a file as libcrypto does, and returns whether it could. Its errors would be taken for those of the connection
/// that is being verified.
fn load(new: &StoreState, path: &CStr) -> bool {
    let api = &new.served().api;
    new.leave_to_original();
    // SAFETY: a path of ours; the store is ours. On 1.1.1 no mark is set by now (see `Marked`): libcrypto itself sets
    // none around the beginning of a verification.
    unsafe {
        (api.ERR_set_mark)();
        let result = (api.X509_STORE_load_locations)(new.store, path.as_ptr(), ptr::null());
        (api.ERR_pop_to_mark)();
        result == 1
    }
}

fn register(new: &StoreState, roots: &Arc<RootStore>) -> bool {
    let Some(snapshot) = snapshots::of(new.library, Arc::clone(roots)) else { return false };
    new.library.originals.is_global_context()
        && snapshot.has_readable_keys(new.served())
        && new.register(snapshot).is_ok()
}
