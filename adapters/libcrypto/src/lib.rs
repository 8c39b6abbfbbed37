//! The libcryptos of this machine. They judge the certificates of a compiled store, and those that the doctor examines.
//!
//! The core reads a strict subset of what OpenSSL accepts, and its tests compare the two. A compiled store is later
//! trusted by processes that parse nothing, so each certificate is checked by libcrypto itself, once, when the store is
//! made. libcrypto is opened with `dlopen` when it is needed; nothing is linked against it, and a machine without it
//! can run everything else.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cache = windlass::TrustCache::new(windlass::Config::default(), None);
//! for libcrypto in windlass_libcrypto::Libcrypto::all() {
//!     let store = cache.load_cafile(libcrypto.default_file())?;
//!     let judgement = libcrypto.judge(&store, &mut |_| {})?;
//!     println!("{}: {} keys can't be used", libcrypto.version(), judgement.keys_not_decoded);
//! }
//! # Ok(())
//! # }
//! ```

mod certificate;
mod functions;
mod judge;
mod load;
mod open;

pub use judge::{Judgement, Objection, Refused};
pub use load::NotLoaded;
pub use open::{Libcrypto, OpenError};
