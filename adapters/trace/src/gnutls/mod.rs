//! GnuTLS 3, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are called |
//! | `hooks` | the hooked functions |
//! | `copies` | the copies of libgnutls |
//! | `load` | functions that load, and their targets |
//! | `session` | verifications, handshakes, and the ends of objects |

pub mod api;
pub mod copies;
mod hooks;
pub mod load;
pub mod session;

pub use hooks::LIBGNUTLS_HOOKS;
