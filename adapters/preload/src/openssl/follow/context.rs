//! The context of a verification: set up with the program's store, it searches in the successor.

#![allow(non_snake_case)] // the names of foreign functions

use std::ffi::{CStr, c_int, c_long, c_uchar, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{Copy, Libraries};

use crate::hook::{Caller, guarded};
use crate::openssl::api::{BIO, FreeElement, OPENSSL_STACK, X509, X509_STORE, X509_STORE_CTX};
use crate::openssl::libcrypto::{LIBCRYPTO, Libcrypto, transparent};
use crate::openssl::store::{StoreState, tracked};
use crate::openssl::verification;

use super::successor::Held;

/// `CRYPTO_EX_INDEX_X509_STORE_CTX` of <openssl/crypto.h>.
const EX_INDEX_CONTEXT: c_int = 5;
/// `CRYPTO_EX_INDEX_SSL_SESSION`.
const EX_INDEX_SESSION: c_int = 2;
/// No index was asked for yet.
const NONE: c_int = -1;

/// `CRYPTO_EX_free`.
type ExData = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, c_int, c_long, *mut c_void);
type GetFunction = unsafe extern "C-unwind" fn(*const X509_STORE) -> *mut c_void;
type SetFunction = unsafe extern "C-unwind" fn(*mut X509_STORE, *mut c_void);

functions! {
    /// What following needs of a libcrypto; every OpenSSL from 1.1.1 to 4.0 has all of them.
    Api {
        CRYPTO_get_ex_new_index:
            fn(c_int, c_long, *mut c_void, Option<ExData>, *mut c_void, Option<ExData>) -> c_int;
        X509_STORE_up_ref: fn(*mut X509_STORE) -> c_int;
        X509_STORE_free: fn(*mut X509_STORE);
        X509_STORE_CTX_set_ex_data: fn(*mut X509_STORE_CTX, c_int, *mut c_void) -> c_int;
        X509_STORE_CTX_get0_store: fn(*const X509_STORE_CTX) -> *mut X509_STORE;
        X509_STORE_get0_param: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set1_param: fn(*mut X509_STORE, *const c_void) -> c_int;
        X509_STORE_get_verify: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_verify: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_get_issuer: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_get_issuer: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_check_issued: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_check_issued: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_check_revocation: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_check_revocation: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_get_crl: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_get_crl: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_check_crl: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_check_crl: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_cert_crl: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_cert_crl: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_check_policy: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_check_policy: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_lookup_certs: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_lookup_certs: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_lookup_crls: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_lookup_crls: fn(*mut X509_STORE, *mut c_void);
        X509_STORE_get_cleanup: fn(*const X509_STORE) -> *mut c_void;
        X509_STORE_set_cleanup: fn(*mut X509_STORE, *mut c_void);
        BIO_new_mem_buf: fn(*const c_void, c_int) -> *mut BIO;
        BIO_free: fn(*mut BIO) -> c_int;
        PEM_X509_INFO_read_bio: fn(*mut BIO, *mut OPENSSL_STACK, *mut c_void, *mut c_void) -> *mut OPENSSL_STACK;
        X509_INFO_free: fn(*mut c_void);
        X509_STORE_CTX_get_ex_data: fn(*const X509_STORE_CTX, c_int) -> *mut c_void;
        RAND_bytes: fn(*mut c_uchar, c_int) -> c_int;
    } as required
}

/// The functions of one libcrypto, and its index for the stores that contexts keep.
pub struct Functions {
    pub api: Api,
    index: AtomicI32,
    index_of_sessions: AtomicI32,
}

static KNOWN: Libraries<Functions> = Libraries::new(&LIBCRYPTO);

impl Functions {
    /// Those of the libcrypto that a call is meant for.
    pub fn of(caller: Caller) -> Option<&'static Functions> {
        KNOWN.of(caller, |copy: &'static Copy| {
            let find = |name: &CStr| copy.find(Name::new(name)).map_or(ptr::null_mut(), |found| found as *mut c_void);
            // SAFETY: the declarations are those of OpenSSL's headers.
            let api = unsafe { Api::load(find) }?;
            Some(Functions { api, index: AtomicI32::new(NONE), index_of_sessions: AtomicI32::new(NONE) })
        })
    }

    /// Whether the program has functions of its own in a store, other than its verify callback. libcrypto calls them
    /// for its own inner verifications by way of the store, which is the successor there.
    pub fn has_any(&self, store: *const X509_STORE) -> bool {
        // SAFETY: the store is alive for the length of the call that we are in.
        self.own_functions().into_iter().any(|(get, _)| !unsafe { get(store) }.is_null())
    }

    /// Gives them to another store. Returns whether that did not have them.
    pub fn pass_on(&self, from: *const X509_STORE, to: *mut X509_STORE) -> bool {
        let mut is_new = false;
        for (get, set) in self.own_functions() {
            // SAFETY: both stores are alive for the length of the call that we are in.
            unsafe {
                let function = get(from);
                if function != get(to) {
                    set(to, function);
                    is_new = true;
                }
            }
        }
        is_new
    }

    fn own_functions(&self) -> [(GetFunction, SetFunction); 11] {
        let api = &self.api;
        [
            (api.X509_STORE_get_verify, api.X509_STORE_set_verify),
            (api.X509_STORE_get_get_issuer, api.X509_STORE_set_get_issuer),
            (api.X509_STORE_get_check_issued, api.X509_STORE_set_check_issued),
            (api.X509_STORE_get_check_revocation, api.X509_STORE_set_check_revocation),
            (api.X509_STORE_get_get_crl, api.X509_STORE_set_get_crl),
            (api.X509_STORE_get_check_crl, api.X509_STORE_set_check_crl),
            (api.X509_STORE_get_cert_crl, api.X509_STORE_set_cert_crl),
            (api.X509_STORE_get_check_policy, api.X509_STORE_set_check_policy),
            (api.X509_STORE_get_lookup_certs, api.X509_STORE_set_lookup_certs),
            (api.X509_STORE_get_lookup_crls, api.X509_STORE_set_lookup_crls),
            (api.X509_STORE_get_cleanup, api.X509_STORE_set_cleanup),
        ]
    }

    /// The destructor of an `X509_INFO`.
    pub fn free_info(&self) -> FreeElement {
        // SAFETY: both are functions of one pointer that return nothing.
        unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut c_void), FreeElement>(self.api.X509_INFO_free) }
    }

    /// The index under which contexts of this libcrypto keep their successor. libcrypto calls `release` when a context
    /// is cleaned up.
    fn index(&self, library: &Libcrypto) -> Option<c_int> {
        self.index_in(library, &self.index, EX_INDEX_CONTEXT, Some(release))
    }

    /// The index under which sessions keep the number of the contents that their chains were verified with.
    pub fn index_of_sessions(&self, library: &Libcrypto) -> Option<c_int> {
        self.index_in(library, &self.index_of_sessions, EX_INDEX_SESSION, None)
    }

    /// An index for data of objects of this class, asked for once. From 3.0 on indices belong to a library context: in
    /// a thread with another default than the global one the same number means something else, and there is none.
    fn index_in(&self, library: &Libcrypto, place: &AtomicI32, class: c_int, free: Option<ExData>) -> Option<c_int> {
        if !library.originals.is_global_context() {
            return None;
        }
        let known = place.load(Ordering::Acquire);
        if known != NONE {
            return (known > 0).then_some(known);
        }
        let none = ptr::null_mut();
        // SAFETY: the function has the type that libcrypto wants.
        let fresh = unsafe { (self.api.CRYPTO_get_ex_new_index)(class, 0, none, None, none, free) };
        // Of two threads one has asked in vain.
        let index = place.compare_exchange(NONE, fresh, Ordering::AcqRel, Ordering::Acquire).err().unwrap_or(fresh);
        (index > 0).then_some(index)
    }

    /// Makes a context that was set up with `store` search in another, which it keeps. Returns whether it could.
    ///
    /// No function of libcrypto does this. In all versions the store is the first member of a context (x509.h of 1.1.1
    /// to 4.0), and libcrypto's own getter tells whether this is so here.
    ///
    /// # Safety
    /// The context was set up with `store`, and nobody else has it yet.
    unsafe fn exchange(
        &self,
        library: &Libcrypto,
        context: *mut X509_STORE_CTX,
        store: *mut X509_STORE,
        held: Held,
    ) -> bool {
        let (first, get) = (context.cast::<*mut X509_STORE>(), self.api.X509_STORE_CTX_get0_store);
        // SAFETY: as the caller states; a context is larger than one pointer.
        unsafe {
            if *first != store || get(context) != store {
                return false;
            }
            *first = held.store();
            if get(context) != held.store() {
                *first = store;
                return false;
            }
            if let Some(index) = self.index(library) {
                (self.api.X509_STORE_CTX_set_ex_data)(context, index, held.store().cast());
            }
            // The reference is the context's now. Without an index, or memory for the data, nobody drops it.
            std::mem::forget(held);
        }
        true
    }
}

/// The `free` function of the index.
unsafe extern "C" fn release(
    context: *mut c_void,
    store: *mut c_void,
    _data: *mut c_void,
    _index: c_int,
    _long: c_long,
    _pointer: *mut c_void,
) {
    // Every context of the process comes here, with null if it has no successor.
    if let Some(state) = tracked(store.cast()) {
        let first = context.cast::<*mut c_void>();
        // The program may still ask the context for its store. SAFETY: the context is being cleaned up, and its first
        // member is the store that it searches in (see `exchange`).
        unsafe {
            if !first.is_null() && *first == store {
                *first = super::origin_of(store.cast()).cast();
            }
        }
        // SAFETY: the reference that `exchange` gave to the context.
        unsafe { (state.served().api.X509_STORE_free)(store.cast()) };
    }
}

/// `X509_STORE_CTX_init` with a store that may be followed.
#[cold]
#[inline(never)]
pub fn begin(
    state: &StoreState,
    context: *mut X509_STORE_CTX,
    certificate: *mut X509,
    chain: *mut OPENSSL_STACK,
    caller: Caller,
) -> c_int {
    let mut is_decided = false;
    let found = guarded(|| {
        let functions = Functions::of(caller)?;
        let is_known = Libcrypto::of_caller(caller).is_some_and(|library| ptr::eq(library, state.library));
        if !is_known || context.is_null() {
            return None;
        }
        // libcrypto itself begins an inner verification, or the program one with what it got from a context.
        let origin = state.follow.as_ref()?.origin();
        let held = match origin {
            // SAFETY: the caller's store.
            Some(_) => unsafe { Held::new(functions, state.store) },
            None => super::decision(state, functions)?.successor.as_ref()?.again(),
        }?;
        Some((functions, held, origin.unwrap_or(state.store)))
    });
    let found = found.or_else(|| {
        // What was decided last holds also where nothing can be done now; usually nothing was.
        let latest = super::last_successor(state)?;
        is_decided = true;
        Some((Functions::of(caller)?, latest.successor.as_ref()?.again()?, state.store))
    });
    if found.is_none() && is_decided {
        return 0;
    }
    let Some((functions, held, store)) = found else {
        verification::look(Some(state));
        return transparent!(caller, X509_STORE_CTX_init(context, state.store, certificate, chain), or 0);
    };
    verification::look(tracked(held.store()));
    let result = transparent!(caller, X509_STORE_CTX_init(context, store, certificate, chain), or 0);
    if result == 1 {
        // SAFETY: set up just now.
        if !unsafe { functions.exchange(state.library, context, store, held) } {
            super::abandon(state);
        }
    }
    result
}
