//! GnuTLS 3, found at run time.
//!
//! | module | concern |
//! | --- | --- |
//! | `api` | the functions that are asked |
//! | `hooks` | what is stood in front of |
//! | `library` | the copies of libgnutls |
//! | `load` | functions that load, and what they load into |
//! | `session` | verifications, handshakes, and what ends |

pub mod api;
mod hooks;
pub mod library;
pub mod load;
pub mod session;

pub use hooks::{LIBGNUTLS, LIBGNUTLS_HOOKS};
