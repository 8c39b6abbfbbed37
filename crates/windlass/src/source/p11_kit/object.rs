//! One object of a .p11-kit file, as p11-kit's builder understands it (trust/builder.c).

use super::attributes as names;
use super::persist::Fields;
use super::{Standing, file};
use crate::der::{OBJECT_IDENTIFIER, Reader};
use crate::error::Unsupported;
use crate::trust::{
    Description, DistrustAfter, Explicit, KeyUse, Parts, Purpose, Sayings, Stapled, Verdict, stapled_parts,
};

/// Adds the object. What is not about trust (data, assertions that follow from the rest) is passed over.
pub(super) fn add(fields: Fields, standing: Standing, all: &mut Sayings) -> Result<(), Unsupported> {
    match fields.number(names::CLASS) {
        Some(names::CERTIFICATE) if fields.number(names::CERTIFICATE_TYPE) == Some(names::X_509) => {
            certificate(&fields, standing, all)
        }
        Some(names::X_CERTIFICATE_EXTENSION) => {
            all.extensions.extend(extension(&fields));
            Ok(())
        }
        Some(names::NSS_TRUST) => {
            all.explicit.extend(statement(&fields));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn certificate(fields: &Fields, standing: Standing, all: &mut Sayings) -> Result<(), Unsupported> {
    let distrusted = fields.truth(names::X_DISTRUSTED).unwrap_or(false);
    let der = fields.get(names::VALUE).filter(|der| !der.is_empty());
    if der.is_some_and(|der| Parts::read(der).is_err()) {
        let takes_away = distrusted || standing == Standing::Blocked;
        return match der {
            Some(der) if takes_away && file::may_be_a_certificate(der) => Err(Unsupported::Distrust),
            _ => Ok(()),
        };
    }
    let bytes = |field| fields.get(field).filter(|value: &&[u8]| !value.is_empty()).map(Box::from);
    let time = |field| match fields.get(field)? {
        [0] => Some(DistrustAfter::Never),
        text => DistrustAfter::from_text(text),
    };
    let description = Description {
        der: der.map(Box::from),
        label: text(fields),
        id: bytes(names::ID),
        subject: bytes(names::SUBJECT),
        issuer: bytes(names::ISSUER),
        serial: bytes(names::SERIAL_NUMBER),
        spki: bytes(names::PUBLIC_KEY_INFO),
        category: fields.number(names::CERTIFICATE_CATEGORY),
        trusted: fields.truth(names::TRUSTED).unwrap_or(false),
        distrusted,
        is_mozilla_policy: fields.truth(names::NSS_MOZILLA_CA_POLICY),
        server_distrust_after: time(names::NSS_SERVER_DISTRUST_AFTER),
        email_distrust_after: time(names::NSS_EMAIL_DISTRUST_AFTER),
    };
    file::add(description, standing, all);
    Ok(())
}

/// None if it has no key or is no Extension.
fn extension(fields: &Fields) -> Option<Stapled> {
    let der = fields.get(names::VALUE)?;
    let said = fields.get(names::OBJECT_ID).filter(|oid| !oid.is_empty());
    let oid = match said {
        Some(oid) => Reader::new(oid).content_of(OBJECT_IDENTIFIER).ok()?,
        None => stapled_parts(der)?.0,
    };
    Some(Stapled {
        spki: fields.get(names::PUBLIC_KEY_INFO)?.into(),
        oid: oid.into(),
        der: der.into(),
        label: text(fields),
        id: fields.get(names::ID).map(Box::from),
    })
}

fn statement(fields: &Fields) -> Option<Explicit> {
    let verdict = |field| fields.number(field).and_then(verdict);
    Some(Explicit {
        issuer: fields.get(names::ISSUER)?.into(),
        serial: fields.get(names::SERIAL_NUMBER)?.into(),
        subject: fields.get(names::SUBJECT).map(Box::from),
        label: text(fields),
        id: fields.get(names::ID).map(Box::from),
        sha1: fields.get(names::NSS_CERT_SHA1_HASH).and_then(|hash| hash.try_into().ok()),
        md5: fields.get(names::NSS_CERT_MD5_HASH).and_then(|hash| hash.try_into().ok()),
        purposes: Purpose::ALL.map(|purpose| verdict(names::of_purpose(purpose)?)),
        key_uses: KeyUse::ALL.map(|key_use| verdict(names::of_key_use(key_use))),
        step_up_approved: fields.truth(names::NSS_TRUST_STEP_UP_APPROVED).unwrap_or(false),
        ..Explicit::default()
    })
}

/// What one of NSS's constants means. A "valid delegator" is a CA about which nothing else is said.
pub(crate) fn verdict(constant: u64) -> Option<Verdict> {
    match constant {
        names::NSS_TRUSTED => Some(Verdict::Trusted),
        names::NSS_TRUSTED_DELEGATOR => Some(Verdict::Anchor),
        names::NSS_MUST_VERIFY_TRUST | names::NSS_VALID_DELEGATOR => Some(Verdict::MustVerify),
        names::NSS_TRUST_UNKNOWN => Some(Verdict::Unknown),
        names::NSS_NOT_TRUSTED => Some(Verdict::Distrusted),
        _ => None,
    }
}

/// The label, if it is text.
fn text(fields: &Fields) -> Option<Box<str>> {
    std::str::from_utf8(fields.get(names::LABEL)?).ok().map(Box::from)
}
