//! The chains that libssl keeps for connections, and with which store each was verified. A connection can be given
//! another store, or another context, afterwards, and no function tells which it had.

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::openssl::api::OPENSSL_STACK;
use crate::ptr_table::PtrTable;

/// How many chains of one store are remembered. Nobody tells us when they are freed; most come to lie where others
/// were.
const CHAINS: usize = 64;

/// The address of what is known of the store.
static KNOWN: PtrTable<usize> = PtrTable::new();
/// Where a store's chain was, there may be another's when it ends.
static CHANGING: ForkLock = ForkLock::new();

/// Remembers with which store a chain was verified; `places` are the chains of that store. `false`: there are too many.
pub fn remember(store: usize, places: &AppendList<usize>, chain: *const OPENSSL_STACK) -> bool {
    let place = chain as usize;
    let _guard = CHANGING.lock();
    let is_known = places.iter().any(|&known| known == place);
    if !is_known && (places.len() >= CHAINS || !places.try_push(place)) {
        return false;
    }
    KNOWN.insert(place, store);
    true
}

/// Calls `f` with the store with which a chain was verified, which does not go meanwhile.
pub fn with_store<R>(chain: *const OPENSSL_STACK, f: impl FnOnce(usize) -> R) -> Option<R> {
    KNOWN.with(chain as usize, f)
}

/// A store ends.
pub fn forget(store: usize, places: &AppendList<usize>) {
    let _guard = CHANGING.lock();
    for &place in places.iter() {
        if KNOWN.get(place) == Some(store) {
            KNOWN.remove(place);
        }
    }
}
