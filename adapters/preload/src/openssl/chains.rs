//! The chains that libssl keeps for connections, and with which store each was verified. A connection can be given
//! another store, or another context, afterwards, and no function tells which it had.

use std::sync::Arc;

use crate::fork_lock::ForkLock;
use crate::openssl::api::OPENSSL_STACK;
use crate::openssl::store::StoreState;
use crate::ptr_table::PtrTable;

/// How many chains of one store are remembered. Nobody tells us when they are freed; most come to lie where others
/// were.
const CHAINS: usize = 64;

#[derive(Clone, Copy)]
struct Verified(*const StoreState);

// SAFETY: the state may be used by all threads, and takes itself out of the table before it goes.
unsafe impl Send for Verified {}

static KNOWN: PtrTable<Verified> = PtrTable::new();
/// Where a store's chain was, there may be another's when it ends.
static CHANGING: ForkLock = ForkLock::new();

/// Remembers with which store a chain was verified. `false`: there are too many.
pub fn remember(state: &StoreState, chain: *const OPENSSL_STACK) -> bool {
    let (places, place) = (&state.chains, chain as usize);
    let _guard = CHANGING.lock();
    let is_known = places.iter().any(|&known| known == place);
    if !is_known && (places.len() >= CHAINS || !places.try_push(place)) {
        return false;
    }
    KNOWN.insert(place, Verified(state));
    true
}

/// The store with which a chain was verified.
pub fn store_of(chain: *const OPENSSL_STACK) -> Option<Arc<StoreState>> {
    // SAFETY: the pointer came from `Arc::into_raw`, and the table's entry goes before that reference does.
    KNOWN.with(chain as usize, |Verified(state)| unsafe {
        Arc::increment_strong_count(state);
        Arc::from_raw(state)
    })
}

/// A store ends.
pub fn forget(state: &StoreState) {
    let _guard = CHANGING.lock();
    for &place in state.chains.iter() {
        if KNOWN.get(place).is_some_and(|Verified(known)| std::ptr::eq(known, state)) {
            KNOWN.remove(place);
        }
    }
}
