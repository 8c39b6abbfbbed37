//! The names of p11-kit's format (common/constants.c), as far as objects of trust have them: PKCS#11 attributes and constants.

use crate::trust::{KeyUse, Purpose};

/// An attribute, by its number in PKCS#11.
pub(super) type Field = u64;

pub(super) const CLASS: Field = 0;
pub(super) const LABEL: Field = 0x3;
pub(super) const VALUE: Field = 0x11;
pub(super) const OBJECT_ID: Field = 0x12;
pub(super) const CERTIFICATE_TYPE: Field = 0x80;
pub(super) const ISSUER: Field = 0x81;
pub(super) const SERIAL_NUMBER: Field = 0x82;
pub(super) const TRUSTED: Field = 0x86;
pub(super) const CERTIFICATE_CATEGORY: Field = 0x87;
pub(super) const SUBJECT: Field = 0x101;
pub(super) const ID: Field = 0x102;
pub(super) const PUBLIC_KEY_INFO: Field = 0x129;
pub(super) const NSS_MOZILLA_CA_POLICY: Field = 0xCE53_4372;
pub(super) const NSS_SERVER_DISTRUST_AFTER: Field = 0xCE53_4373;
pub(super) const NSS_EMAIL_DISTRUST_AFTER: Field = 0xCE53_4374;
pub(super) const NSS_TRUST_STEP_UP_APPROVED: Field = 0xCE53_6360;
pub(super) const NSS_CERT_SHA1_HASH: Field = 0xCE53_63B4;
pub(super) const NSS_CERT_MD5_HASH: Field = 0xCE53_63B5;
pub(super) const X_DISTRUSTED: Field = 0xD844_4764;

pub(super) const CERTIFICATE: u64 = 1;
pub(super) const NSS_TRUST: u64 = 0xCE53_4353;
pub(super) const X_CERTIFICATE_EXTENSION: u64 = 0xD844_47C8;
pub(super) const X_509: u64 = 0;

pub(super) const NSS_TRUSTED: u64 = 0xCE53_4351;
pub(super) const NSS_TRUSTED_DELEGATOR: u64 = 0xCE53_4352;
pub(super) const NSS_MUST_VERIFY_TRUST: u64 = 0xCE53_4353;
pub(super) const NSS_TRUST_UNKNOWN: u64 = 0xCE53_4355;
pub(super) const NSS_NOT_TRUSTED: u64 = 0xCE53_435A;
pub(super) const NSS_VALID_DELEGATOR: u64 = 0xCE53_435B;

/// The attribute in which NSS keeps what is said for a purpose. OCSP signing and IKE have none.
pub(super) fn of_purpose(purpose: Purpose) -> Option<Field> {
    Some(match purpose {
        Purpose::ServerAuth => 0xCE53_6358,
        Purpose::ClientAuth => 0xCE53_6359,
        Purpose::CodeSigning => 0xCE53_635A,
        Purpose::EmailProtection => 0xCE53_635B,
        Purpose::IpsecEndSystem => 0xCE53_635C,
        Purpose::IpsecTunnel => 0xCE53_635D,
        Purpose::IpsecUser => 0xCE53_635E,
        Purpose::TimeStamping => 0xCE53_635F,
        Purpose::OcspSigning | Purpose::IpsecIke => return None,
    })
}

/// The attribute in which NSS keeps what is said for a use of the key.
pub(super) fn of_key_use(key_use: KeyUse) -> Field {
    0xCE53_6351 + key_use as u64
}

/// An attribute by its name or number. None if there is none of that name.
pub(super) fn field(name: &str) -> Option<Field> {
    if let Ok(number) = name.parse::<u64>() {
        return Some(number);
    }
    FIELDS.iter().find(|(other, _)| *other == name).map(|(_, number)| *number)
}

/// A constant by its name.
pub(super) fn constant(name: &str) -> Option<u64> {
    CONSTANTS.iter().find(|(other, _)| *other == name).map(|(_, number)| *number)
}

const FIELDS: [(&str, Field); 55] = [
    ("class", CLASS),
    ("token", 0x1),
    ("private", 0x2),
    ("label", LABEL),
    ("application", 0x10),
    ("value", VALUE),
    ("object-id", OBJECT_ID),
    ("certificate-type", CERTIFICATE_TYPE),
    ("issuer", ISSUER),
    ("serial-number", SERIAL_NUMBER),
    ("trusted", TRUSTED),
    ("certificate-category", CERTIFICATE_CATEGORY),
    ("java-midp-security-domain", 0x88),
    ("url", 0x89),
    ("hash-of-subject-public-key", 0x8A),
    ("hash-of-issuer-public-key", 0x8B),
    ("check-value", 0x90),
    ("subject", SUBJECT),
    ("id", ID),
    ("start-date", 0x110),
    ("end-date", 0x111),
    ("public-key-info", PUBLIC_KEY_INFO),
    ("modifiable", 0x170),
    ("nss-url", 0xCE53_4351),
    ("nss-email", 0xCE53_4352),
    ("nss-mozilla-ca-policy", NSS_MOZILLA_CA_POLICY),
    ("nss-server-distrust-after", NSS_SERVER_DISTRUST_AFTER),
    ("nss-email-distrust-after", NSS_EMAIL_DISTRUST_AFTER),
    ("nss-trust-digital-signature", 0xCE53_6351),
    ("nss-trust-non-repudiation", 0xCE53_6352),
    ("nss-trust-key-encipherment", 0xCE53_6353),
    ("nss-trust-data-encipherment", 0xCE53_6354),
    ("nss-trust-key-agreement", 0xCE53_6355),
    ("nss-trust-key-cert-sign", 0xCE53_6356),
    ("nss-trust-crl-sign", 0xCE53_6357),
    ("nss-trust-server-auth", 0xCE53_6358),
    ("nss-trust-client-auth", 0xCE53_6359),
    ("nss-trust-code-signing", 0xCE53_635A),
    ("nss-trust-email-protection", 0xCE53_635B),
    ("nss-trust-ipsec-end-system", 0xCE53_635C),
    ("nss-trust-ipsec-tunnel", 0xCE53_635D),
    ("nss-trust-ipsec-user", 0xCE53_635E),
    ("nss-trust-time-stamping", 0xCE53_635F),
    ("nss-trust-step-up-approved", NSS_TRUST_STEP_UP_APPROVED),
    ("nss-cert-sha1-hash", NSS_CERT_SHA1_HASH),
    ("nss-cert-md5-hash", NSS_CERT_MD5_HASH),
    ("x-assertion-type", 0xD844_4701),
    ("x-certificate-value", 0xD844_4702),
    ("x-purpose", 0xD844_4703),
    ("x-peer", 0xD844_4704),
    ("x-distrusted", X_DISTRUSTED),
    ("x-critical", 0xD844_4765),
    ("trust-server-auth", 0x62C),
    ("trust-client-auth", 0x62D),
    ("trust-code-signing", 0x62E),
];

const CONSTANTS: [(&str, u64); 25] = [
    ("data", 0),
    ("certificate", CERTIFICATE),
    ("public-key", 2),
    ("private-key", 3),
    ("secret-key", 4),
    ("trust", 0xB),
    ("nss-crl", 0xCE53_4351),
    ("nss-smime", 0xCE53_4352),
    ("nss-trust", NSS_TRUST),
    ("nss-builtin-root-list", 0xCE53_4354),
    ("x-trust-assertion", 0xD844_4764),
    ("x-certificate-extension", X_CERTIFICATE_EXTENSION),
    ("nss-trusted", NSS_TRUSTED),
    ("nss-trusted-delegator", NSS_TRUSTED_DELEGATOR),
    ("nss-must-verify-trust", NSS_MUST_VERIFY_TRUST),
    ("nss-trust-unknown", NSS_TRUST_UNKNOWN),
    ("nss-not-trusted", NSS_NOT_TRUSTED),
    ("nss-valid-delegator", NSS_VALID_DELEGATOR),
    ("x-509", X_509),
    ("x-509-attr-cert", 1),
    ("unspecified", 0),
    ("token-user", 1),
    ("authority", 2),
    ("other-entry", 3),
    ("x-distrusted-certificate", 1),
];
