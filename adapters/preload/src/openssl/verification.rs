//! The beginning of a verification.

use std::ffi::c_int;

use crate::hook::{Caller, guarded};
use crate::openssl::apart::keep_apart;
use crate::openssl::api::{OPENSSL_STACK, X509, X509_STORE, X509_STORE_CTX};
use crate::openssl::errors::Marked;
use crate::openssl::follow;
use crate::openssl::libcrypto::transparent;
use crate::openssl::store::{StoreState, tracked};

/// `X509_STORE_CTX_init`: nothing can be verified with a store without it. Certificates that have to be in memory
/// before a verification are added here (see `model`): parsing them earlier would be most of the cost of a first
/// context, and many contexts verify nothing.
pub extern "C-unwind" fn begin(
    context: *mut X509_STORE_CTX,
    store: *mut X509_STORE,
    certificate: *mut X509,
    chain: *mut OPENSSL_STACK,
    caller: Caller,
) -> c_int {
    let state = tracked(store);
    if let Some(state) = state.filter(|state| state.model.foreign.own.is_to_be_apart()) {
        guarded(|| {
            if !state.is_locked_here() {
                keep_apart(&state.model);
            }
            Some(())
        });
    }
    if let Some(state) = state.filter(|state| state.follow.is_some()) {
        return follow::begin(state, context, certificate, chain, caller);
    }
    look(state);
    transparent!(caller, X509_STORE_CTX_init(context, store, certificate, chain), or 0)
}

/// Makes a store ready for a verification that is about to begin.
#[inline(always)]
pub fn look(state: Option<&StoreState>) {
    if let Some(state) = state.filter(|state| state.model.needs_a_look()) {
        guarded(|| {
            if !state.is_locked_here() {
                let _marked = Marked::new(state.served());
                state.model.check_count();
                state.model.begin_verification();
            }
            Some(())
        });
    }
}
