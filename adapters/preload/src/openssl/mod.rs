//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `hooks` | what is stood in front of: the list of all hooked functions |
//! | `api` | the functions that are used, as each libcrypto defines them |
//! | `libcrypto` | the libcryptos of the process |
//! | `users` | whether certificates may be shared |
//! | `snapshot` | the parsed certificates of one root store |
//! | `providers` | what decides which keys can be read |
//! | `own` | which certificates are one store's alone, and when they have to be |
//! | `exchanging` | what a program gets in place of what stores share |
//! | `chains` | with which store a connection's chain was verified |
//! | `model` | the life of one `X509_STORE`: lock, phase, registrations, events; `sync` is what threads share it by |
//! | `objects` | the memory of one `X509_STORE`, as the model sees it |
//! | `contested` | sources that would give a subject certificates of several origins |
//! | `order`, `held` | the order in which an eager load would have left the objects |
//! | `store` | what is known of one `X509_STORE`; a list of those that live |
//! | `serving` | a file that is registered in place of being loaded |
//! | `locks`, `names`, `errors` | the stores that a thread has locked; names; the error queue |
//! | `verification` | the beginning of a verification |
//! | `lookup` | the lookup method that answers when a verification asks |
//! | `capath`, `directory_file`, `directory_search` | hashed directories, their files, and searches in them |
//! | `by_dir` | what libcrypto's own lookup of hashed directories holds |
//! | `default_store` | the third, lazily opened source of OpenSSL 3.0 to 3.3's default paths |
//! | `after_load` | the certificates of `windlass run --add-ca`, behind a load of the machine's own |
//! | `load_file`, `load_path`, `default_paths`, `lookup_ctrl` | entry points that load |
//! | `enumerate`, `handed_out`, `taking_part`, `lifecycle`, `ca_names` | other entry points |

pub mod after_load;
pub mod api;
pub mod by_dir;
pub mod ca_names;
pub mod capath;
pub mod chains;
pub mod contested;
pub mod default_paths;
pub mod default_store;
pub mod directory_file;
pub mod directory_search;
pub mod enumerate;
pub mod errors;
pub mod exchanging;
pub mod handed_out;
pub mod held;
pub mod hooks;
pub mod libcrypto;
pub mod lifecycle;
pub mod load_file;
pub mod load_path;
pub mod locks;
pub mod lookup;
pub mod lookup_ctrl;
pub mod model;
pub mod names;
pub mod objects;
pub mod order;
pub mod own;
pub mod providers;
pub mod remembered;
pub mod serving;
pub mod snapshot;
pub mod store;
pub mod sync;
pub mod taking_part;
pub mod users;
pub mod verification;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::hook;
use libcrypto::Libcrypto;

pub use hooks::{LIBCRYPTO, LIBCRYPTO_HOOKS, LIBSSL, LIBSSL_HOOKS};

/// [`complete_all`] was called where it could not be done.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Puts all that is registered into all stores, now and from now on. A thread that is at work in one of our parts may
/// hold the lock of a store (libcrypto has loaded a provider, which loads what is not seen): then the next part does
/// it.
pub fn complete_all() {
    if hook::is_inside() {
        IS_DUE.store(true, Ordering::Release);
        return;
    }
    hook::shielded(|| {
        Libcrypto::known().for_each(store::complete_all);
        Some(())
    });
}

/// As [`complete_all`], and no store keeps certificates that others have. This thread has the lock of none.
pub fn part_all() {
    hook::shielded(|| {
        Libcrypto::known().for_each(store::part_all);
        Some(())
    });
}

/// To be called where this thread has no lock: see [`complete_all`].
pub fn complete_what_is_due() {
    if IS_DUE.load(Ordering::Relaxed) && IS_DUE.swap(false, Ordering::AcqRel) {
        complete_all();
    }
}
