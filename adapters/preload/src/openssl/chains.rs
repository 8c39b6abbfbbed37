//! The chains that libssl keeps for connections, and the store that each was verified with. Afterwards a connection can
//! be given another store or context, and no function returns the earlier one.

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;
use crate::openssl::api::OPENSSL_STACK;
use crate::ptr_table::PtrTable;

/// The most chains of one store that are remembered. We are not told when they are freed; most reuse the addresses of
/// earlier ones.
const CHAINS: usize = 64;

/// For each chain, the address of its store's state.
static KNOWN: PtrTable<usize> = PtrTable::new();
/// When a store ends, the address of one of its chains may hold another store's chain by then.
static CHANGING: ForkLock = ForkLock::new();

/// Remembers the store that a chain was verified with; `places` are the chains of that store. `false`: there are too
/// many.
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

/// Calls `f` with the store that a chain was verified with. The store does not end meanwhile.
pub fn with_store<R>(chain: *const OPENSSL_STACK, f: impl FnOnce(usize) -> R) -> Option<R> {
    KNOWN.with(chain as usize, f)
}

/// Forgets the chains of a store that ends.
pub fn forget(store: usize, places: &AppendList<usize>) {
    let _guard = CHANGING.lock();
    for &place in places.iter() {
        if KNOWN.get(place) == Some(store) {
            KNOWN.remove(place);
        }
    }
}
