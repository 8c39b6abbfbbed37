//! GnuTLS 3, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are asked |
//! | `hooks` | what is stood in front of |
//! | `copies` | the copies of libgnutls |
//! | `load` | functions that load, and what they load into |
//! | `session` | verifications, handshakes, and what ends |

pub mod api;
pub mod copies;
mod hooks;
pub mod load;
pub mod session;

pub use hooks::LIBGNUTLS_HOOKS;
