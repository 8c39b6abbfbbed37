//! Vendor-defined numbers, outside PKCS#11: NSS's (nss/pkcs11n.h) and p11-kit's (p11-kit/pkcs11x.h).

use cryptoki_sys::{CK_ATTRIBUTE_TYPE, CK_OBJECT_CLASS, CK_ULONG};
use windlass_trust::{KeyUse, Purpose, Verdict};

pub const CKO_NSS_TRUST: CK_OBJECT_CLASS = 0xCE53_4353;
pub const CKO_NSS_BUILTIN_ROOT_LIST: CK_OBJECT_CLASS = 0xCE53_4354;
pub const CKO_X_CERTIFICATE_EXTENSION: CK_OBJECT_CLASS = 0xD844_47C8;

pub const CKA_NSS_MOZILLA_CA_POLICY: CK_ATTRIBUTE_TYPE = 0xCE53_4372;
pub const CKA_NSS_SERVER_DISTRUST_AFTER: CK_ATTRIBUTE_TYPE = 0xCE53_4373;
pub const CKA_NSS_EMAIL_DISTRUST_AFTER: CK_ATTRIBUTE_TYPE = 0xCE53_4374;
pub const CKA_NSS_TRUST_DIGITAL_SIGNATURE: CK_ATTRIBUTE_TYPE = 0xCE53_6351;
pub const CKA_NSS_TRUST_CRL_SIGN: CK_ATTRIBUTE_TYPE = 0xCE53_6357;
pub const CKA_NSS_TRUST_SERVER_AUTH: CK_ATTRIBUTE_TYPE = 0xCE53_6358;
pub const CKA_NSS_TRUST_TIME_STAMPING: CK_ATTRIBUTE_TYPE = 0xCE53_635F;
pub const CKA_NSS_TRUST_STEP_UP_APPROVED: CK_ATTRIBUTE_TYPE = 0xCE53_6360;
pub const CKA_NSS_CERT_SHA1_HASH: CK_ATTRIBUTE_TYPE = 0xCE53_63B4;
pub const CKA_NSS_CERT_MD5_HASH: CK_ATTRIBUTE_TYPE = 0xCE53_63B5;
pub const CKA_X_DISTRUSTED: CK_ATTRIBUTE_TYPE = 0xD844_4764;

/// The purpose that one of NSS's attributes refers to.
pub fn nss_purpose(attribute: CK_ATTRIBUTE_TYPE) -> Option<Purpose> {
    within(attribute, CKA_NSS_TRUST_SERVER_AUTH, CKA_NSS_TRUST_TIME_STAMPING, &Purpose::ALL)
}

/// The key use that one of NSS's attributes refers to.
pub fn nss_key_use(attribute: CK_ATTRIBUTE_TYPE) -> Option<KeyUse> {
    within(attribute, CKA_NSS_TRUST_DIGITAL_SIGNATURE, CKA_NSS_TRUST_CRL_SIGN, &KeyUse::ALL)
}

/// The verdict as `CKT_NSS_*`.
pub fn nss_trust(verdict: Verdict) -> CK_ULONG {
    match verdict {
        Verdict::Trusted => 0xCE53_4351,
        Verdict::Anchor => 0xCE53_4352,
        Verdict::MustVerify => 0xCE53_4353,
        Verdict::Unknown => 0xCE53_4355,
        Verdict::Distrusted => 0xCE53_435A,
    }
}

fn within<T: Copy>(
    attribute: CK_ATTRIBUTE_TYPE,
    first: CK_ATTRIBUTE_TYPE,
    last: CK_ATTRIBUTE_TYPE,
    all: &[T],
) -> Option<T> {
    if !(first..=last).contains(&attribute) {
        return None;
    }
    all.get(usize::try_from(attribute - first).ok()?).copied()
}
