//! One certificate, and the properties that matter where it is trusted.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use windlass::Timestamp;
use windlass_machine::anchors::name::hex;
use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::read::{Trust, trusted};

/// SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

/// A certificate as it was read.
#[derive(Clone, Debug)]
pub struct SourceCertificate {
    /// The DER encoding.
    pub der: Arc<[u8]>,
    /// SHA-256 of the DER encoding.
    pub fingerprint: Fingerprint,
    /// Whether its trust settings refuse it for servers.
    pub is_refused: bool,
    /// The decoded certificate; `None` if it can't be decoded here. OpenSSL may still decode it.
    pub says: Option<Certificate>,
}

impl SourceCertificate {
    /// Reads a certificate from DER.
    pub fn of(der: Vec<u8>) -> SourceCertificate {
        let says = Certificate::of(&der);
        SourceCertificate { fingerprint: Sha256::digest(&der).into(), der: der.into(), is_refused: false, says }
    }

    /// Reads the certificate of a `TRUSTED CERTIFICATE`, which OpenSSL's trust settings follow. If these can't be read,
    /// the certificate counts as unreadable too.
    pub fn of_trusted(der: Vec<u8>) -> SourceCertificate {
        match trusted::split(&der) {
            Some((alone, trust)) => {
                SourceCertificate { is_refused: trust == Trust::Distrusted, ..SourceCertificate::of(alone.to_vec()) }
            }
            None => SourceCertificate::of(der),
        }
    }

    /// For display: the name, and enough of the fingerprint to search for.
    pub fn label(&self) -> String {
        let fingerprint: String = hex(&self.fingerprint).chars().take(16).collect();
        match &self.says {
            Some(says) => format!("{} (SHA-256 {fingerprint}…)", says.name),
            None => format!("SHA-256 {fingerprint}…"),
        }
    }

    /// Whether its validity ended before `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.says.as_ref().is_some_and(|says| says.is_expired(now))
    }

    /// Whether its validity begins after `now`.
    pub fn is_not_yet_valid(&self, now: Timestamp) -> bool {
        self.says.as_ref().is_some_and(|says| says.is_not_yet_valid(now))
    }
}
