//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `hooks` | the list of all hooked functions |
//! | `api` | the functions used, as each libcrypto defines them |
//! | `libcrypto` | the libcryptos of the process |
//! | `users` | whether certificates may be shared |
//! | `snapshot`, `snapshots` | the parsed certificates of one root store; of all root stores |
//! | `keys` | which keys can be read; `providers`: changes of this |
//! | `own`, `apart` | certificates that belong to one store alone; giving up shared ones |
//! | `in_place`, `exchanging` | certificates that a program gets instead of shared ones |
//! | `chains` | the store that a connection's chain was verified with |
//! | `model` | the life of one `X509_STORE`: lock, phase, registrations, events; `sync`: its locks |
//! | `objects`, `as_model` | the memory of one `X509_STORE`; the model's view of it |
//! | `contested` | sources that would give a subject certificates of several origins |
//! | `order`, `held` | the order in which an eager load would have left the objects |
//! | `store`, `all_stores` | the state of one `X509_STORE`; operations on all stores |
//! | `serving` | registering a file instead of loading it |
//! | `locks`, `names`, `errors` | the stores that a thread has locked; names; the error queue |
//! | `verification` | the beginning of a verification |
//! | `lookup` | the lookup method that answers during a verification |
//! | `capath`, `directory_file`, `directory_search` | hashed directories, their files, and searches in them |
//! | `by_dir` | the contents of libcrypto's own lookup of hashed directories |
//! | `default_store`, `opened_store` | the third, lazily opened source of OpenSSL 3.0 to 3.3's default paths |
//! | `after_load` | the certificates of `windlass run --add-ca`, added after a load of the machine's own trust |
//! | `follow` | stores that follow their sources (`WINDLASS_FOLLOW`) |
//! | `load_file`, `load_path`, `default_paths`, `lookup_ctrl` | entry points that load |
//! | `enumerate`, `handed_out`, `taking_part`, `lifecycle`, `ca_names` | other entry points |

pub mod after_load;
pub mod all_stores;
pub mod apart;
pub mod api;
pub mod as_model;
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
pub mod follow;
pub mod handed_out;
pub mod held;
pub mod hooks;
pub mod in_place;
pub mod keys;
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
pub mod opened_store;
pub mod order;
pub mod own;
pub mod providers;
pub mod remembered;
pub mod serving;
pub mod snapshot;
pub mod snapshots;
pub mod store;
pub mod sync;
pub mod taking_part;
pub mod users;
pub mod verification;

pub use hooks::{FOLLOWING_LIBCRYPTO_HOOKS, FOLLOWING_LIBSSL_HOOKS, LIBCRYPTO_HOOKS, LIBSSL_HOOKS};
