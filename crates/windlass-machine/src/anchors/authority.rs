//! Whether a certificate belongs to a CA.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;

/// Whether a certificate can vouch for others, by the rules of OpenSSL's `check_ca` (crypto/x509/v3_purp.c): with a key
/// usage without keyCertSign it is no CA; otherwise basicConstraints decide; without those, a self-issued certificate
/// of version 1 is a CA, and so is one with keyCertSign.
pub fn is_ca(certificate: &X509Certificate<'_>) -> bool {
    let mut constraints = None;
    let mut signs = None;
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::BasicConstraints(found) => constraints = Some(found.ca),
            ParsedExtension::KeyUsage(usage) => signs = Some(usage.key_cert_sign()),
            _ => {}
        }
    }
    let self_issued = certificate.subject().as_raw() == certificate.issuer().as_raw();
    match (signs, constraints) {
        (Some(false), _) => false,
        (_, Some(ca)) => ca,
        (Some(true), None) => true,
        (None, None) => certificate.version().0 == 0 && self_issued,
    }
}

/// The same for a certificate in DER; `None` if it can't be decoded here. OpenSSL may still decode it.
pub fn is_ca_in_der(der: &[u8]) -> Option<bool> {
    let (rest, certificate) = X509Certificate::from_der(der).ok()?;
    rest.is_empty().then(|| is_ca(&certificate))
}
