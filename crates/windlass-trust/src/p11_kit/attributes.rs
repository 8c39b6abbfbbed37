//! The names in p11-kit's format (common/constants.c) that objects of trust use: PKCS#11 attributes and constants.

use super::names::ATTRIBUTES;
use crate::{KeyUse, Purpose};

/// An attribute, by its number in PKCS#11.
pub(super) type Field = u64;

pub(super) const CLASS: Field = 0;
pub(super) const TOKEN: Field = 0x1;
pub(super) const PRIVATE: Field = 0x2;
pub(super) const LABEL: Field = 0x3;
pub(super) const APPLICATION: Field = 0x10;
pub(super) const VALUE: Field = 0x11;
pub(super) const OBJECT_ID: Field = 0x12;
pub(super) const CERTIFICATE_TYPE: Field = 0x80;
pub(super) const ISSUER: Field = 0x81;
pub(super) const SERIAL_NUMBER: Field = 0x82;
pub(super) const TRUSTED: Field = 0x86;
pub(super) const CERTIFICATE_CATEGORY: Field = 0x87;
pub(super) const JAVA_MIDP_SECURITY_DOMAIN: Field = 0x88;
pub(super) const URL: Field = 0x89;
pub(super) const HASH_OF_SUBJECT_PUBLIC_KEY: Field = 0x8A;
pub(super) const HASH_OF_ISSUER_PUBLIC_KEY: Field = 0x8B;
pub(super) const CHECK_VALUE: Field = 0x90;
pub(super) const SUBJECT: Field = 0x101;
pub(super) const ID: Field = 0x102;
pub(super) const START_DATE: Field = 0x110;
pub(super) const END_DATE: Field = 0x111;
pub(super) const PUBLIC_KEY_INFO: Field = 0x129;
pub(super) const MODIFIABLE: Field = 0x170;
pub(super) const NSS_MOZILLA_CA_POLICY: Field = 0xCE53_4372;
pub(super) const NSS_SERVER_DISTRUST_AFTER: Field = 0xCE53_4373;
pub(super) const NSS_EMAIL_DISTRUST_AFTER: Field = 0xCE53_4374;
pub(super) const NSS_TRUST_STEP_UP_APPROVED: Field = 0xCE53_6360;
pub(super) const NSS_CERT_SHA1_HASH: Field = 0xCE53_63B4;
pub(super) const NSS_CERT_MD5_HASH: Field = 0xCE53_63B5;
pub(super) const X_ASSERTION_TYPE: Field = 0xD844_4701;
pub(super) const X_CERTIFICATE_VALUE: Field = 0xD844_4702;
pub(super) const X_PURPOSE: Field = 0xD844_4703;
pub(super) const X_PEER: Field = 0xD844_4704;
pub(super) const X_DISTRUSTED: Field = 0xD844_4764;
/// p11-kit's own attributes: that it has generated an object itself, and the file it came from.
pub(super) const X_GENERATED: Field = 0xD844_6640;
pub(super) const X_ORIGIN: Field = 0xD844_6641;

pub(super) const DATA: u64 = 0;
pub(super) const CERTIFICATE: u64 = 1;
pub(super) const NSS_TRUST: u64 = 0xCE53_4353;
pub(super) const NSS_BUILTIN_ROOT_LIST: u64 = 0xCE53_4354;
pub(super) const X_TRUST_ASSERTION: u64 = 0xD844_4764;
pub(super) const X_CERTIFICATE_EXTENSION: u64 = 0xD844_47C8;
pub(super) const X_509: u64 = 0;
pub(super) const X_PINNED_CERTIFICATE: u64 = 2;
pub(super) const X_ANCHORED_CERTIFICATE: u64 = 3;

pub(super) const NSS_TRUSTED: u64 = 0xCE53_4351;
pub(super) const NSS_TRUSTED_DELEGATOR: u64 = 0xCE53_4352;
pub(super) const NSS_MUST_VERIFY_TRUST: u64 = 0xCE53_4353;
pub(super) const NSS_TRUST_UNKNOWN: u64 = 0xCE53_4355;
pub(super) const NSS_NOT_TRUSTED: u64 = 0xCE53_435A;
pub(super) const NSS_VALID_DELEGATOR: u64 = 0xCE53_435B;

/// PKCS#11 3.2, CK_TRUST.
pub(super) const TRUST_UNKNOWN: u64 = 0;
pub(super) const TRUST_TRUSTED: u64 = 1;
pub(super) const TRUST_ANCHOR: u64 = 2;
pub(super) const TRUST_NOT_TRUSTED: u64 = 3;
pub(super) const TRUST_MUST_VERIFY_TRUST: u64 = 4;

/// NSS's attribute for a purpose. OCSP signing and IKE have none.
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

/// The attribute of PKCS#11 3.2 for a purpose. The protocols of IPsec have none.
pub(super) fn of_purpose_3_2(purpose: Purpose) -> Option<Field> {
    Some(match purpose {
        Purpose::ServerAuth => 0x62C,
        Purpose::ClientAuth => 0x62D,
        Purpose::CodeSigning => 0x62E,
        Purpose::EmailProtection => 0x62F,
        Purpose::IpsecIke => 0x630,
        Purpose::TimeStamping => 0x631,
        Purpose::OcspSigning => 0x632,
        Purpose::IpsecEndSystem | Purpose::IpsecTunnel | Purpose::IpsecUser => return None,
    })
}

/// NSS's attribute for a use of the key.
pub(super) fn of_key_use(key_use: KeyUse) -> Field {
    0xCE53_6351 + key_use as u64
}

/// An attribute by its name.
pub(super) fn field(name: &str) -> Option<Field> {
    let found = ATTRIBUTES.binary_search_by_key(&name, |(name, _)| *name).ok()?;
    ATTRIBUTES.get(found).map(|(_, number)| *number)
}

/// A constant by its name. p11-kit also accepts the name of an attribute for its number there. The constants of keys
/// and mechanisms are omitted: no object of trust has them.
pub(super) fn constant(name: &str) -> Option<u64> {
    CONSTANTS.iter().find(|(other, _)| *other == name).map(|(_, number)| *number).or_else(|| field(name))
}

const CONSTANTS: [(&str, u64); 43] = [
    ("data", DATA),
    ("certificate", CERTIFICATE),
    ("public-key", 2),
    ("private-key", 3),
    ("secret-key", 4),
    ("hw-feature", 5),
    ("domain-parameters", 6),
    ("mechanism", 7),
    ("profile", 9),
    ("validation", 0xA),
    ("trust", 0xB),
    ("nss-crl", 0xCE53_4351),
    ("nss-smime", 0xCE53_4352),
    ("nss-trust", NSS_TRUST),
    ("nss-builtin-root-list", NSS_BUILTIN_ROOT_LIST),
    ("nss-newslot", 0xCE53_4355),
    ("nss-delslot", 0xCE53_4356),
    ("x-trust-assertion", X_TRUST_ASSERTION),
    ("x-certificate-extension", X_CERTIFICATE_EXTENSION),
    ("nss-trusted", NSS_TRUSTED),
    ("nss-trusted-delegator", NSS_TRUSTED_DELEGATOR),
    ("nss-must-verify-trust", NSS_MUST_VERIFY_TRUST),
    ("nss-trust-unknown", NSS_TRUST_UNKNOWN),
    ("nss-not-trusted", NSS_NOT_TRUSTED),
    ("nss-valid-delegator", NSS_VALID_DELEGATOR),
    ("x-509", X_509),
    ("x-509-attr-cert", 1),
    ("wtls", 2),
    ("x-distrusted-certificate", 1),
    ("x-pinned-certificate", X_PINNED_CERTIFICATE),
    ("x-anchored-certificate", X_ANCHORED_CERTIFICATE),
    ("unspecified", 0),
    ("token-user", 1),
    ("authority", 2),
    ("other-entry", 3),
    ("invalid-id", 0),
    ("baseline-provider", 1),
    ("extended-provider", 2),
    ("authentication-token", 3),
    ("public-certificates-token", 4),
    ("complete-provider", 5),
    ("hkdf-tls-token", 6),
    ("vendor-defined", 0x8000_0000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_numbers() {
        assert!(ATTRIBUTES.is_sorted_by(|(one, _), (other, _)| one < other));
        assert_eq!((field("class"), field("x-distrusted")), (Some(CLASS), Some(X_DISTRUSTED)));
        assert_eq!((field("x-public-key-info"), field("trust-ocsp-signing")), (Some(PUBLIC_KEY_INFO), Some(0x632)));
        assert_eq!((field("certificate"), field("Class"), field("")), (None, None, None));
        assert_eq!((constant("certificate"), constant("trusted"), constant("aes-ecb")), (Some(1), Some(TRUSTED), None));
    }
}
