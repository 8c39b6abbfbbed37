//! The walk over a certificate, by OpenSSL's template for X.509.
//!
//! `d2i_X509` of every OpenSSL from 1.1.1 to 4.0 must accept every certificate accepted here, and re-encode it to the
//! same bytes; each check names the OpenSSL functions that decide it. libcrypto must also find no fault later, when it
//! first decodes the extensions and the key: a shared object would raise those errors once, while separate objects
//! would each raise them.

use crate::der::{BIT_STRING, GENERALIZED_TIME, INTEGER, Reader, SEQUENCE, Span, UTC_TIME, integer};
use crate::error::DerFault;
use crate::extension::extensions;
use crate::key::{signature_algorithm, subject_public_key_info, whole_bytes};
use crate::name::Canonicaliser;
use crate::time::Timestamp;

const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// Far larger than any real certificate, and small enough for every integer type used here.
pub(crate) const MAX_CERTIFICATE: usize = 16 << 20;

/// The positions of the parts of one certificate in its DER.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// Content of the serial number's INTEGER.
    pub serial: Span,
    /// Whole Name.
    pub issuer: Span,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// Whole Name.
    pub subject: Span,
    /// Whole SubjectPublicKeyInfo.
    pub spki: Span,
    /// The key identifier itself; empty if there is none.
    pub subject_key_id: Span,
}

/// Walks over a whole certificate, and appends the canonical form of its subject to `canonical`.
pub(crate) fn walk(der: &[u8], canonicaliser: &mut Canonicaliser, canonical: &mut Vec<u8>) -> Result<Fields, DerFault> {
    if der.len() > MAX_CERTIFICATE {
        return Err(DerFault::TooLarge);
    }
    let mut outer = Reader::new(der);
    let mut certificate = outer.enter(SEQUENCE)?;
    outer.end()?;
    let mut tbs = certificate.enter(SEQUENCE)?;
    let (algorithm, _) = certificate.element_of(SEQUENCE)?;
    signature_algorithm(algorithm.of(der))?;
    whole_bytes(certificate.content_of(BIT_STRING)?)?;
    certificate.end()?;

    let mut may_have_extensions = false;
    if tbs.peek() == Some(VERSION) {
        let mut version = tbs.enter(VERSION)?;
        // v2 or v3. DER has no explicit v1, and there are no later versions.
        may_have_extensions = match version.content_of(INTEGER)? {
            [1] => false,
            [2] => true,
            _ => return Err(DerFault::Version),
        };
        version.end()?;
    }
    let (_, serial) = tbs.element_of(INTEGER)?;
    integer(serial.of(der))?;
    let (algorithm_within, _) = tbs.element_of(SEQUENCE)?;
    // The two must be equal, or no signature can be valid; `d2i_X509` accepts any two.
    if algorithm_within.of(der) != algorithm.of(der) {
        signature_algorithm(algorithm_within.of(der))?;
    }
    let (issuer, _) = tbs.element_of(SEQUENCE)?;
    let mut validity = tbs.enter(SEQUENCE)?;
    let not_before = time(&mut validity)?;
    let not_after = time(&mut validity)?;
    validity.end()?;
    let (subject, _) = tbs.element_of(SEQUENCE)?;
    let (spki, _) = tbs.element_of(SEQUENCE)?;
    subject_public_key_info(spki.of(der))?;
    let mut subject_key_id = Span::default();
    if may_have_extensions && !tbs.is_empty() {
        let mut explicit = tbs.enter(EXTENSIONS)?;
        subject_key_id = extensions(&mut explicit, canonicaliser)?;
        explicit.end()?;
    }
    tbs.end()?;

    canonicaliser.append(subject.of(der), canonical).map_err(DerFault::Name)?;
    if issuer.of(der) != subject.of(der) {
        canonicaliser.check(issuer.of(der)).map_err(DerFault::Name)?;
    }
    Ok(Fields { serial, issuer, not_before, not_after, subject, spki, subject_key_id })
}

pub(crate) fn time(reader: &mut Reader<'_>) -> Result<Timestamp, DerFault> {
    match reader.peek() {
        Some(UTC_TIME) => Timestamp::from_utc_time(reader.content_of(UTC_TIME)?),
        Some(GENERALIZED_TIME) => Timestamp::from_generalized_time(reader.content_of(GENERALIZED_TIME)?),
        _ => Err(DerFault::UnexpectedTag),
    }
}
