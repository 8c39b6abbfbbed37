//! The libcryptos of this machine, as judges of what goes into a compiled store, and of what the doctor looks at.
//!
//! The core reads a strict subset of what OpenSSL accepts, and its tests compare the two. A compiled store is believed
//! later, by processes that parse nothing: so each certificate is shown to libcrypto itself, once, when the store is
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
