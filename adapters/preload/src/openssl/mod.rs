//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `hooks` | what is stood in front of: the list of all hooked functions |
//! | `api` | the functions that are used, as each libcrypto defines them |
//! | `library` | the libcryptos of the process |
//! | `users` | whether certificates may be shared |
//! | `snapshot` | the parsed certificates of one root store |
//! | `store` | what is known of one `X509_STORE` |
//! | `verification` | what has to be in a store's memory before anything is verified with it |
//! | `materialise` | putting certificates into a store, in the order of an eager load |
//! | `contested` | sources that would give a subject certificates of several origins |
//! | `order`, `noted`, `held` | the order in which an eager load would have left them |
//! | `lookup` | the lookup method that answers when a verification asks |
//! | `capath`, `directory_file`, `directory_search` | hashed directories, their files, and searches in them |
//! | `by_dir` | what libcrypto's own lookup of hashed directories holds |
//! | `default_store` | the third, lazily opened source of OpenSSL 3.0 to 3.3's default paths |
//! | `added` | the certificates of `windlass run --add-ca`, behind a load of the machine's own |
//! | `load_file`, `load_path`, `default_paths`, `lookup_ctrl`, `enumerate`, `lifecycle`, `ca_names` | entry points |

pub mod added;
pub mod api;
pub mod by_dir;
pub mod ca_names;
pub mod capath;
pub mod contested;
pub mod default_paths;
pub mod default_store;
pub mod directory_file;
pub mod directory_search;
pub mod enumerate;
pub mod held;
pub mod hooks;
pub mod library;
pub mod lifecycle;
pub mod load_file;
pub mod load_path;
pub mod lookup;
pub mod lookup_ctrl;
pub mod materialise;
pub mod noted;
pub mod order;
pub mod remembered;
pub mod snapshot;
pub mod store;
pub mod users;
pub mod verification;

pub use hooks::{LIBCRYPTO, LIBCRYPTO_HOOKS, LIBSSL, LIBSSL_HOOKS};

/// Puts all that is registered into all stores, now and from now on.
pub fn complete_all() {
    // TEMP until the model lands
}
