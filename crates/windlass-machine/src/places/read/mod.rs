//! Reading private stores. Anybody may have written them: no length, count or number of iterations is trusted.

mod jks;
mod nss;
mod pkcs12;
pub mod trusted;

use std::cell::Cell;

use thiserror::Error;
use x509_parser::pem::Pem;

use super::PlaceKind;
use super::certificate::Certificate;

/// A file with more is not a store of these kinds. The largest in use has some hundreds.
const MAX_CERTIFICATES: usize = 50_000;

/// A certificate of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes in the store, which may not be a certificate at all.
    pub der: Vec<u8>,
    /// Its name in the store; empty if it has none.
    pub label: String,
    /// What the store says about its use for servers.
    pub trust: Trust,
    /// When it was added, in seconds since 1970; None if the store does not say.
    pub added: Option<i64>,
}

impl Entry {
    /// The decoded certificate. None: it can't be decoded here, but others may still see an anchor in it, and a
    /// comparison of stores must mention it.
    pub fn certificate(&self) -> Option<Certificate> {
        Certificate::of(&self.der)
    }
}

/// A store's statement about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Chains may end in it.
    Anchor,
    /// It is distrusted.
    Distrusted,
    /// No statement: an intermediate, or the user's own certificate.
    Nothing,
}

/// Why a store can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// It is something else, or it is damaged.
    #[error("not {0}, or damaged")]
    Malformed(&'static str),
    /// It is encrypted, and none of the usual passwords fits.
    #[error("encrypted with a password of its own, or in a way that is not known here")]
    Encrypted,
    /// Decrypting it would take too long.
    #[error("it asks for too many rounds of key derivation")]
    TooCostly,
    /// It is too large, or has too many entries.
    #[error("it holds more than {MAX_CERTIFICATES} certificates, or too many bytes")]
    TooLarge,
}

/// Remaining rounds of key derivation, shared by the stores of one user: each store may ask for many.
#[derive(Debug)]
pub struct Work(Cell<u64>);

impl Default for Work {
    /// Some seconds. .NET asks for 2,000 rounds per file, Java for 10,000.
    fn default() -> Self {
        Work(Cell::new(20_000_000))
    }
}

impl Work {
    /// The limit for one file.
    const OF_ONE: u64 = 2_000_000;

    fn spend(&self, rounds: u64) -> Result<(), Unreadable> {
        match self.0.get().checked_sub(rounds) {
            Some(left) if rounds <= Work::OF_ONE => {
                self.0.set(left);
                Ok(())
            }
            _ => Err(Unreadable::TooCostly),
        }
    }
}

/// The certificates of a store, from the bytes of its file. A directory's files are read one by one.
pub fn read(kind: PlaceKind, bytes: &[u8], work: &Work) -> Result<Vec<Entry>, Unreadable> {
    match kind {
        PlaceKind::JavaKeystore if jks::is_one(bytes) => jks::read(bytes),
        PlaceKind::JavaKeystore | PlaceKind::DotnetStore => pkcs12::read(bytes, work),
        PlaceKind::NssDatabase => nss::read(bytes),
        _ => pem(bytes),
    }
}

/// All certificates of a PEM file, whatever else is in it: Python, Ruby and others read their own bundles in this way.
fn pem(bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let mut all = Vec::new();
    for block in Pem::iter_from_buffer(bytes) {
        let block = block.map_err(|_| Unreadable::Malformed("a PEM file"))?;
        if matches!(&*block.label, "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE") {
            if all.len() == MAX_CERTIFICATES {
                return Err(Unreadable::TooLarge);
            }
            let (der, trust) = match trusted::split(&block.contents).filter(|_| block.label == "TRUSTED CERTIFICATE") {
                Some((certificate, trust)) => (certificate.to_vec(), trust),
                None => (block.contents, Trust::Anchor),
            };
            all.push(Entry { der, label: String::new(), trust, added: None });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
