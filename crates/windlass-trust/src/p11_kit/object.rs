//! Objects of a .p11-kit file, as p11-kit's builder understands them (trust/builder.c, 0.26.5).
//!
//! The builder checks values only when an application makes an object by PKCS#11, not when it reads a file. The effect
//! of values that it would refuse there depends on where each is used, and therefore an object with such values makes
//! the place unreadable here.

use windlass::Unsupported;
use windlass::der::{OBJECT_IDENTIFIER, Reader, object_identifier};

use super::attributes::{self as names, Field};
use super::persist::Fields;
use super::{Standing, file};
use crate::{
    Description, DistrustAfter, Explicit, KeyUse, Purpose, Sayings, Stapled, Verdict, is_certificate, is_extension,
    stapled_parts,
};

/// The attributes allowed for each kind of object (`builder_schema`), besides those of its class and those of all
/// objects.
const COMMON: &[Field] = &[names::CLASS, names::TOKEN, names::PRIVATE, names::LABEL, names::MODIFIABLE];
const OF_CERTIFICATES: &[Field] = &[
    names::CERTIFICATE_TYPE,
    names::TRUSTED,
    names::X_DISTRUSTED,
    names::NSS_MOZILLA_CA_POLICY,
    names::NSS_SERVER_DISTRUST_AFTER,
    names::NSS_EMAIL_DISTRUST_AFTER,
    names::CERTIFICATE_CATEGORY,
    names::CHECK_VALUE,
    names::START_DATE,
    names::END_DATE,
    names::SUBJECT,
    names::ID,
    names::ISSUER,
    names::SERIAL_NUMBER,
    names::VALUE,
    names::URL,
    names::HASH_OF_SUBJECT_PUBLIC_KEY,
    names::HASH_OF_ISSUER_PUBLIC_KEY,
    names::JAVA_MIDP_SECURITY_DOMAIN,
    names::PUBLIC_KEY_INFO,
];
const OF_EXTENSIONS: &[Field] = &[names::VALUE, names::PUBLIC_KEY_INFO, names::OBJECT_ID, names::ID];
const OF_DATA: &[Field] = &[names::VALUE, names::APPLICATION, names::OBJECT_ID];
const OF_ASSERTIONS: &[Field] = &[
    names::X_PURPOSE,
    names::X_CERTIFICATE_VALUE,
    names::X_ASSERTION_TYPE,
    names::ISSUER,
    names::SERIAL_NUMBER,
    names::X_PEER,
    names::ID,
];
const OF_NSS_TRUST: &[Field] = &[
    names::NSS_CERT_SHA1_HASH,
    names::NSS_CERT_MD5_HASH,
    names::ISSUER,
    names::SUBJECT,
    names::SERIAL_NUMBER,
    names::NSS_TRUST_STEP_UP_APPROVED,
    names::ID,
];
/// Attributes that p11-kit sets itself. It would accept them from a file too.
const OWN: &[Field] = &[names::X_GENERATED, names::X_ORIGIN];

/// Adds the objects of one file. p11-kit stops at the first object that it refuses (`p11_index_replace_all`,
/// trust/index.c); if the file is not fully understood, it is unknown which objects p11-kit accepts.
pub(super) fn add_all(objects: &[Fields], is_understood: bool, standing: Standing, all: &mut Sayings) {
    for fields in objects {
        match Kind::of(fields) {
            Some(kind) => add(kind, fields, standing, all).unwrap_or_else(|what| all.refuse(what)),
            None if is_understood => break,
            None => {}
        }
    }
}

fn add(kind: Kind, fields: &Fields, standing: Standing, all: &mut Sayings) -> Result<(), Unsupported> {
    // It could pass for an object that p11-kit has made, and may replace.
    if OWN.iter().any(|own| fields.get(*own).is_some()) {
        return Err(Unsupported::Distrust);
    }
    match kind {
        Kind::Certificate => certificate(fields, standing, all),
        Kind::Extension => all.extensions.push(extension(fields).ok_or(Unsupported::Distrust)?),
        Kind::NssTrust => all.explicit.push(statement(fields).ok_or(Unsupported::Distrust)?),
        // Nothing here serves these. Those that p11-kit makes itself follow from the rest; one that says more would be
        // lost.
        Kind::Assertion if !is_positive(fields) => return Err(Unsupported::Distrust),
        Kind::Assertion | Kind::Other => {}
    }
    Ok(())
}

enum Kind {
    Certificate,
    Extension,
    NssTrust,
    Assertion,
    Other,
}

impl Kind {
    /// None if p11-kit refuses the object (`p11_builder_build`, `build_for_schema`).
    fn of(fields: &Fields) -> Option<Kind> {
        let class = fields.number(names::CLASS)?;
        if matches!(fields.get(names::TOKEN), Some([other]) if *other != 1) {
            return None;
        }
        let has = |field: Field| fields.get(field).is_some();
        let are_among = |own: &[Field]| fields.are_among(&[COMMON, own, OWN]);
        let (kind, is_taken) = match class {
            names::CERTIFICATE => {
                let is_x_509 = fields.number(names::CERTIFICATE_TYPE) == Some(names::X_509);
                (Kind::Certificate, is_x_509 && are_among(OF_CERTIFICATES))
            }
            names::X_CERTIFICATE_EXTENSION => {
                let is_whole = has(names::VALUE) && has(names::PUBLIC_KEY_INFO);
                (Kind::Extension, is_whole && are_among(OF_EXTENSIONS))
            }
            names::NSS_TRUST => (Kind::NssTrust, fields.are_among(&[COMMON, OF_NSS_TRUST, &said_by_trust(), OWN])),
            names::X_TRUST_ASSERTION => {
                let is_whole = has(names::X_PURPOSE) && has(names::X_ASSERTION_TYPE);
                (Kind::Assertion, is_whole && are_among(OF_ASSERTIONS))
            }
            names::DATA => (Kind::Other, are_among(OF_DATA)),
            names::NSS_BUILTIN_ROOT_LIST => (Kind::Other, are_among(&[])),
            _ => return None,
        };
        is_taken.then_some(kind)
    }
}

/// The attributes for purposes and for uses of the key.
fn said_by_trust() -> Vec<Field> {
    let purposes = Purpose::ALL.into_iter().flat_map(attributes_of);
    purposes.chain(KeyUse::ALL.map(names::of_key_use)).collect()
}

fn certificate(fields: &Fields, standing: Standing, all: &mut Sayings) {
    // Unreadable values are refused, and the rest of the object is kept: it may be distrust.
    let mut or = |field, otherwise: Option<bool>| {
        truth(fields, field).unwrap_or_else(|what| {
            all.refuse(what);
            otherwise
        })
    };
    let distrusted = or(names::X_DISTRUSTED, Some(true)).unwrap_or(false);
    let trusted = or(names::TRUSTED, None).unwrap_or(false);
    let is_mozilla_policy = or(names::NSS_MOZILLA_CA_POLICY, None);
    let takes_away = distrusted || standing == Standing::Blocked;
    let mut der = fields.get(names::VALUE).filter(|der| !der.is_empty());
    if der.is_some_and(|der| !is_certificate(der)) {
        // p11-kit identifies it by its other attributes, and the unreadable value may be BER.
        if !takes_away {
            all.has_unread = true;
            return;
        }
        all.refuse(Unsupported::Distrust);
        der = None;
    }
    // Half of a name finds nothing here.
    let is_named = |field| fields.get(field).is_some_and(|value| !value.is_empty());
    if takes_away && der.is_none() && is_named(names::ISSUER) != is_named(names::SERIAL_NUMBER) {
        all.refuse(Unsupported::Distrust);
    }
    let category = fields.number(names::CERTIFICATE_CATEGORY);
    if category.is_none() && fields.get(names::CERTIFICATE_CATEGORY).is_some() {
        all.refuse(Unsupported::Distrust);
    }
    let bytes = |field| fields.get(field).map(Box::from);
    let time = |field| {
        fields.get(field).map(|value| match value {
            [0] => DistrustAfter::Never,
            text => DistrustAfter::from_text(text).unwrap_or(DistrustAfter::Unreadable { text: text.into() }),
        })
    };
    let description = Description {
        der: der.map(Box::from),
        label: text(fields),
        id: bytes(names::ID),
        subject: bytes(names::SUBJECT),
        issuer: bytes(names::ISSUER),
        serial: bytes(names::SERIAL_NUMBER),
        spki: bytes(names::PUBLIC_KEY_INFO),
        category,
        trusted,
        distrusted,
        is_mozilla_policy,
        server_distrust_after: time(names::NSS_SERVER_DISTRUST_AFTER),
        email_distrust_after: time(names::NSS_EMAIL_DISTRUST_AFTER),
    };
    file::add(description, standing, all);
}

/// None if it can't be read: p11-kit may be able to read it, and it limits the trust in the key's certificates.
fn extension(fields: &Fields) -> Option<Stapled> {
    let der = fields.get(names::VALUE).filter(|der| is_extension(der))?;
    let oid = match fields.get(names::OBJECT_ID) {
        Some(said) => {
            let mut reader = Reader::new(said);
            let oid = reader.content_of(OBJECT_IDENTIFIER).ok()?;
            reader.end().ok()?;
            object_identifier(oid).ok()?;
            oid
        }
        None => stapled_parts(der)?.0,
    };
    Some(Stapled {
        spki: fields.get(names::PUBLIC_KEY_INFO).filter(|key| !key.is_empty())?.into(),
        oid: oid.into(),
        der: der.into(),
        label: text(fields),
        id: fields.get(names::ID).map(Box::from),
    })
}

/// None if it does not name its certificate.
fn statement(fields: &Fields) -> Option<Explicit> {
    let about = |field| fields.get(field).filter(|value| !value.is_empty());
    Some(Explicit {
        issuer: about(names::ISSUER)?.into(),
        serial: about(names::SERIAL_NUMBER)?.into(),
        subject: fields.get(names::SUBJECT).map(Box::from),
        label: text(fields),
        id: fields.get(names::ID).map(Box::from),
        sha1: fields.get(names::NSS_CERT_SHA1_HASH).and_then(|hash| hash.try_into().ok()),
        md5: fields.get(names::NSS_CERT_MD5_HASH).and_then(|hash| hash.try_into().ok()),
        purposes: Purpose::ALL.map(|purpose| said(fields, attributes_of(purpose))),
        key_uses: KeyUse::ALL.map(|key_use| said(fields, [names::of_key_use(key_use)])),
        step_up_approved: fields.truth(names::NSS_TRUST_STEP_UP_APPROVED).unwrap_or(false),
        ..Explicit::default()
    })
}

/// The attributes that may hold the trust for a purpose. p11-kit before 0.25 had NSS's attributes by the names of the
/// others.
fn attributes_of(purpose: Purpose) -> impl Iterator<Item = Field> {
    [names::of_purpose(purpose), names::of_purpose_3_2(purpose)].into_iter().flatten()
}

/// The first verdict, or distrust if any of them is distrust. Values that are not understood are distrust.
fn said(fields: &Fields, attributes: impl IntoIterator<Item = Field>) -> Option<Verdict> {
    let there = attributes.into_iter().filter(|field| fields.get(*field).is_some());
    let verdicts = there.map(|field| fields.number(field).and_then(verdict).unwrap_or(Verdict::Distrusted));
    verdicts.reduce(|first, other| if other == Verdict::Distrusted { other } else { first })
}

/// The meaning of a constant of NSS or PKCS#11 3.2. A "valid delegator" is a CA without any other verdict.
fn verdict(constant: u64) -> Option<Verdict> {
    match constant {
        names::NSS_TRUSTED | names::TRUST_TRUSTED => Some(Verdict::Trusted),
        names::NSS_TRUSTED_DELEGATOR | names::TRUST_ANCHOR => Some(Verdict::Anchor),
        names::NSS_MUST_VERIFY_TRUST | names::NSS_VALID_DELEGATOR | names::TRUST_MUST_VERIFY_TRUST => {
            Some(Verdict::MustVerify)
        }
        names::NSS_TRUST_UNKNOWN | names::TRUST_UNKNOWN => Some(Verdict::Unknown),
        names::NSS_NOT_TRUSTED | names::TRUST_NOT_TRUSTED => Some(Verdict::Distrusted),
        _ => None,
    }
}

/// A valid boolean; None if it is missing.
fn truth(fields: &Fields, field: Field) -> Result<Option<bool>, Unsupported> {
    match fields.get(field) {
        None => Ok(None),
        Some([0]) => Ok(Some(false)),
        Some([1]) => Ok(Some(true)),
        Some(_) => Err(Unsupported::Distrust),
    }
}

/// Whether an assertion gives trust.
fn is_positive(fields: &Fields) -> bool {
    let kind = fields.number(names::X_ASSERTION_TYPE);
    kind.is_some_and(|kind| [names::X_PINNED_CERTIFICATE, names::X_ANCHORED_CERTIFICATE].contains(&kind))
}

/// The label, if it is text.
fn text(fields: &Fields) -> Option<Box<str>> {
    std::str::from_utf8(fields.get(names::LABEL)?).ok().map(Box::from)
}
