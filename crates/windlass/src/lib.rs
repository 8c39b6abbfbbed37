//! Windlass loads trust once: indexed, immutable, shared root stores, and the cache that keeps them fresh.
//!
//! This crate knows no TLS library. Adapters ask [`TrustCache`] for the [`RootStore`] of a [`Source`] and serve
//! their library from it; every error means "leave this call to the stock library".
//!
//! ```
//! use std::path::Path;
//! use windlass::{CanonicalName, Config, TrustCache};
//!
//! let cache = TrustCache::new(Config::default(), None);
//! let store = cache.load_cafile(Path::new("/etc/ssl/certs/ca-certificates.crt"))?;
//! for anchor in store.anchors() {
//!     let name = CanonicalName::from_raw(anchor.raw_subject())?;
//!     assert!(store.by_subject(&name).any(|index| index == anchor.index()));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

// Code that the unit tests share with those in `tests/`.
#[cfg(test)]
extern crate self as windlass;

mod anchor;
mod cache;
mod certificate;
pub mod compiled;
mod crl;
pub mod der;
mod error;
mod extension;
pub mod file;
mod general_name;
mod identity;
mod index;
mod key;
mod memory;
mod name;
mod pem;
mod policy;
mod root_store;
mod sorted;
mod source;
mod time;

pub use anchor::{AnchorIndex, TrustAnchor};
pub use cache::seeded::{Seeded, SeededHasher};
pub use cache::{CacheEvent, Config, MaxAge, Observer, TrustCache};
pub use crl::Crl;
pub use error::{DerFault, LoadError, NameFault, PemFault, Unsupported};
pub use identity::Identity;
pub use index::{Index, Key};
pub use name::{CanonicalName, RawName, SubjectHash, subject_hash_old};
pub use root_store::{Finding, RootStore};
pub use source::system::FileSystems;
pub use source::{BUNDLES, Contents, Source};
pub use time::Timestamp;
