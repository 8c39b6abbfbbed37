//! OpenSSL 1.1.1, 3.x and 4.x, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are asked |
//! | `hooks` | what is stood in front of |
//! | `copies` | the copies of libcrypto and libssl |
//! | `subject` | what is loaded into, and what it holds |
//! | `context`, `store`, `lookup`, `names` | functions that load |
//! | `methods` | whether a lookup is one of OpenSSL's own |
//! | `lifetime`, `session` | what is added to a store, its end; verifications and handshakes |

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
