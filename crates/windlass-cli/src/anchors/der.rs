//! A file that is one certificate in DER. No TLS library takes such a file for a source of trust, but people have them.

use std::path::Path;

use windlass::{LoadError, RootStore};

use crate::run::add_ca::input::{is_der, pem};

/// A certificate is smaller.
const MAX_BYTES: u64 = 1 << 20;

/// The certificate in such a file; none if it is another kind of file.
pub fn read(path: &Path) -> Option<Result<RootStore, LoadError>> {
    let small = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let der = small.then(|| std::fs::read(path).ok()).flatten().filter(|bytes| is_der(bytes))?;
    let store = RootStore::from_pem(pem(&der).as_bytes());
    Some(store.map_err(|what| LoadError::Unsupported { path: path.to_owned(), what }))
}
