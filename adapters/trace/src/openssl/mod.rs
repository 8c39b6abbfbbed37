//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are called |
//! | `hooks` | the hooked functions |
//! | `copies` | the copies of libcrypto and libssl |
//! | `subject` | the target of a load, and its contents |
//! | `context`, `store`, `lookup`, `names` | functions that load |
//! | `methods` | whether a lookup is one of OpenSSL's own |
//! | `lifetime`, `session` | additions to a store, its end; verifications and handshakes |

pub mod api;
pub mod context;
pub mod copies;
mod hooks;
pub mod lifetime;
pub mod lookup;
pub mod methods;
pub mod names;
pub mod session;
pub mod store;
pub mod subject;

pub use hooks::{LIBCRYPTO_HOOKS, LIBSSL_HOOKS};
