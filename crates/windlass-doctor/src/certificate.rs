//! One certificate, and what matters about it where it is trusted.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass::{CanonicalName, RawName, SubjectHash, Timestamp, subject_hash_old};
use windlass_machine::anchors::authority::is_ca;
use windlass_machine::anchors::name::{Name, hex};
use windlass_machine::places::read::{Trust, trusted};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

/// A certificate as it was read.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The DER encoding.
    pub der: Arc<[u8]>,
    /// SHA-256 of the DER encoding.
    pub fingerprint: Fingerprint,
    /// The trust settings behind it refuse it for servers.
    pub is_refused: bool,
    /// What it says; `None` if it can't be decoded here. OpenSSL may do so yet.
    pub says: Option<Says>,
}

/// What a certificate says.
#[derive(Clone, Debug)]
pub struct Says {
    /// The part of the subject by which people know it.
    pub name: String,
    /// By which a hashed directory names it; `None` for a name that is too unusual.
    pub subject_hash: Option<SubjectHash>,
    /// By which one for OpenSSL before 1.0.0 named it.
    pub subject_hash_old: Option<SubjectHash>,
    /// The first second in which it is valid.
    pub not_before: Timestamp,
    /// The last second at which it is valid.
    pub not_after: Timestamp,
    /// It can vouch for others, as `X509_check_ca` sees it (OpenSSL, crypto/x509/v3_purp.c).
    pub is_ca: bool,
}

impl Certificate {
    /// Reads a certificate in DER.
    pub fn of(der: Vec<u8>) -> Certificate {
        let says = X509Certificate::from_der(&der).ok().filter(|(rest, _)| rest.is_empty());
        let says = says.map(|(_, certificate)| Says::of(&certificate));
        Certificate { fingerprint: Sha256::digest(&der).into(), der: der.into(), is_refused: false, says }
    }

    /// Reads that of a `TRUSTED CERTIFICATE`, which has OpenSSL's trust settings behind it. If these can't be read,
    /// neither can it.
    pub fn of_trusted(der: Vec<u8>) -> Certificate {
        match trusted::split(&der) {
            Some((alone, trust)) => {
                Certificate { is_refused: trust == Trust::Distrusted, ..Certificate::of(alone.to_vec()) }
            }
            None => Certificate::of(der),
        }
    }

    /// For people: the name, and enough of the fingerprint to search for.
    pub fn label(&self) -> String {
        let fingerprint: String = hex(&self.fingerprint).chars().take(16).collect();
        match &self.says {
            Some(says) => format!("{} (SHA-256 {fingerprint}…)", says.name),
            None => format!("SHA-256 {fingerprint}…"),
        }
    }

    /// Whether its validity ended before `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.says.as_ref().is_some_and(|says| says.not_after < now)
    }

    /// Its time is to come.
    pub fn is_not_yet_valid(&self, now: Timestamp) -> bool {
        self.says.as_ref().is_some_and(|says| says.not_before > now)
    }
}

impl Says {
    fn of(certificate: &X509Certificate<'_>) -> Says {
        let raw = RawName::from_der(certificate.subject().as_raw()).ok();
        let name = raw.as_ref().map(|raw| Name::of(*raw)).unwrap_or_default();
        let canonical = raw.and_then(|raw| CanonicalName::from_raw(raw).ok());
        Says {
            name: name.short,
            subject_hash: canonical.map(|name| name.subject_hash()),
            subject_hash_old: raw.map(subject_hash_old),
            not_before: Timestamp(certificate.validity().not_before.timestamp()),
            not_after: Timestamp(certificate.validity().not_after.timestamp()),
            is_ca: is_ca(certificate),
        }
    }
}
