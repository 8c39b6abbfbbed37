//! The attributes of each kind of object: those of p11-kit-trust (trust/builder.c), and CKO_TRUST of PKCS#11 3.2.

use std::borrow::Cow;

use cryptoki_sys::*;
use windlass_trust::{DistrustAfter, Purpose, StapledExtension, Statement, TrustCertificate, Verdict};

use crate::value::Value;
use crate::vendor::*;

/// One object, for reading its attributes.
pub enum View<'a> {
    /// Tells NSS that a token holds the roots of the machine.
    RootList,
    Certificate(TrustCertificate<'a>),
    /// The trust object that NSS reads.
    NssTrust(Statement<'a>),
    /// The trust object that NSS since 3.114 reads first.
    Trust(Statement<'a>),
    Extension(StapledExtension<'a>),
}

impl<'a> View<'a> {
    /// The value of an attribute; None if the object has no such attribute.
    pub fn attribute(&self, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
        let own = match self {
            View::RootList => (attribute == CKA_LABEL).then(|| Value::bytes(b"Trust Anchor Roots")),
            View::Certificate(certificate) => certificate_attribute(certificate, attribute),
            View::NssTrust(statement) => nss_trust_attribute(statement, attribute),
            View::Trust(statement) => trust_attribute(statement, attribute),
            View::Extension(extension) => extension_attribute(extension, attribute),
        };
        own.or_else(|| match attribute {
            CKA_CLASS => Some(Value::number(self.class())),
            CKA_TOKEN => Some(Value::truth(true)),
            CKA_PRIVATE | CKA_MODIFIABLE => Some(Value::truth(false)),
            CKA_LABEL => Some(Value::bytes(b"")),
            _ => None,
        })
    }

    /// The object's CKA_CLASS.
    pub fn class(&self) -> CK_OBJECT_CLASS {
        match self {
            View::RootList => CKO_NSS_BUILTIN_ROOT_LIST,
            View::Certificate(_) => CKO_CERTIFICATE,
            View::NssTrust(_) => CKO_NSS_TRUST,
            View::Trust(_) => CKO_TRUST,
            View::Extension(_) => CKO_X_CERTIFICATE_EXTENSION,
        }
    }
}

fn certificate_attribute<'a>(certificate: &TrustCertificate<'a>, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
    // If the certificate itself is missing, its unknown attributes are empty, as with p11-kit, except its subject and
    // key.
    let or_empty = |bytes: Option<&'a [u8]>| Some(Value::bytes(bytes.unwrap_or_default()));
    match attribute {
        CKA_CERTIFICATE_TYPE => Some(Value::number(CKC_X_509)),
        CKA_VALUE => or_empty(certificate.der()),
        CKA_SUBJECT => certificate.subject().map(Value::bytes),
        CKA_ISSUER => or_empty(certificate.issuer()),
        CKA_SERIAL_NUMBER => or_empty(certificate.serial()),
        CKA_PUBLIC_KEY_INFO => certificate.spki().map(Value::bytes),
        CKA_ID => Some(certificate.id().map_or(Value::bytes(b""), Value::Bytes)),
        CKA_LABEL => certificate.label().map(Value::text),
        CKA_TRUSTED => Some(Value::truth(certificate.is_trusted())),
        CKA_X_DISTRUSTED => Some(Value::truth(certificate.is_distrusted())),
        CKA_CERTIFICATE_CATEGORY => Some(Value::number(certificate.category() as CK_ULONG)),
        CKA_NSS_MOZILLA_CA_POLICY => certificate.is_mozilla_policy().map(Value::truth),
        CKA_NSS_SERVER_DISTRUST_AFTER => certificate.server_distrust_after().map(distrust_after),
        CKA_NSS_EMAIL_DISTRUST_AFTER => certificate.email_distrust_after().map(distrust_after),
        CKA_CHECK_VALUE => certificate.sha1().map(|[a, b, c, ..]| Value::owned([a, b, c])),
        CKA_START_DATE => Some(certificate.validity().map_or(Value::bytes(b""), |(day, _)| Value::owned(day))),
        CKA_END_DATE => Some(certificate.validity().map_or(Value::bytes(b""), |(_, day)| Value::owned(day))),
        CKA_URL | CKA_HASH_OF_ISSUER_PUBLIC_KEY => Some(Value::bytes(b"")),
        CKA_HASH_OF_SUBJECT_PUBLIC_KEY => Some(certificate.spki_sha1().map_or(Value::bytes(b""), Value::owned)),
        CKA_JAVA_MIDP_SECURITY_DOMAIN => Some(Value::number(0)),
        _ => None,
    }
}

/// FALSE, or a time: NSS distinguishes the two by their length. A value that is not a time is passed on unchanged, as
/// by p11-kit.
fn distrust_after(after: &DistrustAfter) -> Value<'_> {
    match after {
        DistrustAfter::Never => Value::truth(false),
        DistrustAfter::Time { text, .. } | DistrustAfter::Unreadable { text } => Value::bytes(text),
    }
}

fn nss_trust_attribute<'a>(statement: &Statement<'a>, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
    if let Some(purpose) = nss_purpose(attribute) {
        return Some(Value::number(nss_trust(statement.verdict(purpose))));
    }
    if let Some(key_use) = nss_key_use(attribute) {
        return statement.key_use(key_use).map(|verdict| Value::number(nss_trust(verdict)));
    }
    match attribute {
        CKA_NSS_CERT_SHA1_HASH => statement.sha1().map(Value::owned),
        CKA_NSS_CERT_MD5_HASH => statement.md5().map(Value::owned),
        CKA_NSS_TRUST_STEP_UP_APPROVED => Some(Value::truth(statement.is_step_up_approved())),
        _ => either_trust_attribute(statement, attribute),
    }
}

fn trust_attribute<'a>(statement: &Statement<'a>, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
    let purpose = match attribute {
        CKA_TRUST_SERVER_AUTH => Purpose::ServerAuth,
        CKA_TRUST_CLIENT_AUTH => Purpose::ClientAuth,
        CKA_TRUST_CODE_SIGNING => Purpose::CodeSigning,
        CKA_TRUST_EMAIL_PROTECTION => Purpose::EmailProtection,
        CKA_TRUST_IPSEC_IKE => Purpose::IpsecIke,
        CKA_TRUST_TIME_STAMPING => Purpose::TimeStamping,
        CKA_TRUST_OCSP_SIGNING => Purpose::OcspSigning,
        CKA_HASH_OF_CERTIFICATE => {
            let sha256 = statement.sha256().map(Value::owned);
            return sha256.or_else(|| statement.sha1().map(Value::owned));
        }
        CKA_NAME_HASH_ALGORITHM => {
            let algorithm = if statement.der().is_some() { CKM_SHA256 } else { CKM_SHA_1 };
            return Some(Value::number(algorithm));
        }
        _ => return either_trust_attribute(statement, attribute),
    };
    Some(Value::number(match statement.verdict(purpose) {
        Verdict::Unknown => CK_ULONG::from(CKT_TRUST_UNKNOWN),
        Verdict::MustVerify => CK_ULONG::from(CKT_TRUST_MUST_VERIFY_TRUST),
        Verdict::Trusted => CK_ULONG::from(CKT_TRUSTED),
        Verdict::Anchor => CK_ULONG::from(CKT_TRUST_ANCHOR),
        Verdict::Distrusted => CK_ULONG::from(CKT_NOT_TRUSTED),
    }))
}

fn either_trust_attribute<'a>(statement: &Statement<'a>, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
    match attribute {
        CKA_SUBJECT => statement.subject().map(Value::bytes),
        CKA_ISSUER => statement.issuer().map(Value::bytes),
        CKA_SERIAL_NUMBER => statement.serial().map(Value::bytes),
        CKA_LABEL => statement.label().map(Value::text),
        CKA_ID => statement.id().map(Value::Bytes),
        _ => None,
    }
}

fn extension_attribute<'a>(extension: &StapledExtension<'a>, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
    match attribute {
        CKA_VALUE => Some(Value::bytes(extension.der())),
        CKA_PUBLIC_KEY_INFO => Some(Value::bytes(extension.spki())),
        CKA_OBJECT_ID => Some(Value::owned(extension.oid())),
        CKA_ID => Some(Value::Bytes(extension.id())),
        CKA_LABEL => extension.label().map(|label| Value::text(Cow::Borrowed(label))),
        _ => None,
    }
}
