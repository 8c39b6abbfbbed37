//! What is said, seen in place: of one certificate, and about one.

use std::borrow::Cow;
use std::cell::OnceCell;

use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::description::{Description, DistrustAfter, Explicit};
use super::store::TrustStore;
use super::verdict::{KeyUse, Purpose, Verdict, for_key_use, for_purpose, purposes};
use super::{Parts, element, label};
use crate::der::{BOOLEAN, GENERALIZED_TIME, INTEGER, OCTET_STRING, Reader, SEQUENCE, UTC_TIME};

/// 2.5.29.14, .15, .19, .37
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x55\x1D\x0E";
const KEY_USAGE: &[u8] = b"\x55\x1D\x0F";
const BASIC_CONSTRAINTS: &[u8] = b"\x55\x1D\x13";
const EXT_KEY_USAGE: &[u8] = b"\x55\x1D\x25";
/// 1.3.6.1.4.1.3319.6.10.1: p11-kit's own, for the purposes that an OpenSSL TRUSTED CERTIFICATE rejects.
const OPENSSL_REJECT: &[u8] = b"\x2B\x06\x01\x04\x01\x99\x77\x06\x0A\x01";

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of PKCS#11, CKA_CERTIFICATE_CATEGORY")]
pub enum Category {
    Unspecified = 0,
    TokenUser = 1,
    Authority = 2,
    OtherEntity = 3,
}

/// A certificate that a source speaks of; it need not be there itself.
#[derive(Clone)]
pub struct TrustCertificate<'a> {
    store: &'a TrustStore,
    /// None for an anchor of a plain PEM file, about which nothing else is said.
    said: Option<&'a Description>,
    der: Option<&'a [u8]>,
    /// Read when they are first needed.
    parts: OnceCell<Option<Parts<'a>>>,
}

impl<'a> TrustCertificate<'a> {
    pub(crate) fn new(store: &'a TrustStore, said: Option<&'a Description>, der: Option<&'a [u8]>) -> Self {
        TrustCertificate { store, said, der, parts: OnceCell::new() }
    }

    /// The whole certificate.
    pub fn der(&self) -> Option<&'a [u8]> {
        self.der
    }

    /// The subject: DER of a Name.
    pub fn subject(&self) -> Option<&'a [u8]> {
        self.said(|said| said.subject.as_deref()).or_else(|| Some(self.parts()?.subject))
    }

    /// The issuer: DER of a Name.
    pub fn issuer(&self) -> Option<&'a [u8]> {
        self.said(|said| said.issuer.as_deref()).or_else(|| Some(self.parts()?.issuer))
    }

    /// The serial number: DER of an INTEGER.
    pub fn serial(&self) -> Option<&'a [u8]> {
        self.said(|said| said.serial.as_deref()).or_else(|| Some(self.parts()?.serial))
    }

    /// The SubjectPublicKeyInfo, DER.
    pub fn spki(&self) -> Option<&'a [u8]> {
        self.said(|said| said.spki.as_deref()).or_else(|| Some(self.parts()?.spki))
    }

    /// SHA-1 of the SubjectPublicKeyInfo.
    pub fn spki_sha1(&self) -> Option<[u8; 20]> {
        Some(Sha1::digest(self.spki()?).into())
    }

    /// SHA-1 of the whole certificate.
    pub fn sha1(&self) -> Option<[u8; 20]> {
        Some(Sha1::digest(self.der?).into())
    }

    /// A name for people: what the source says, or else from the subject.
    pub fn label(&self) -> Option<Cow<'a, str>> {
        self.said(|said| said.label.as_deref())
            .map(Cow::Borrowed)
            .or_else(|| label::label(self.parts()?.subject).map(Cow::Owned))
    }

    /// The key identifier: what the source says, or else the certificate's extension, or SHA-1 of the key.
    pub fn id(&self) -> Option<Cow<'a, [u8]>> {
        if let Some(id) = self.said(|said| said.id.as_deref()) {
            return Some(Cow::Borrowed(id));
        }
        let parts = self.parts()?;
        let extension = parts.extension(SUBJECT_KEY_IDENTIFIER);
        match extension.and_then(|value| Reader::new(value).content_of(OCTET_STRING).ok()) {
            Some(id) => Some(Cow::Borrowed(id)),
            None => Some(Cow::Owned(Sha1::digest(parts.spki).to_vec())),
        }
    }

    /// Whether it is an anchor.
    pub fn is_trusted(&self) -> bool {
        self.said.is_none_or(|said| said.trusted)
    }

    /// Whether it must not be trusted.
    pub fn is_distrusted(&self) -> bool {
        self.said.is_some_and(|said| said.distrusted)
    }

    /// Whether it is in Mozilla's program, if that is said.
    pub fn is_mozilla_policy(&self) -> Option<bool> {
        self.said?.is_mozilla_policy
    }

    /// From when on server certificates below it are not to be trusted.
    pub fn server_distrust_after(&self) -> Option<&'a DistrustAfter> {
        self.said?.server_distrust_after.as_ref()
    }

    /// From when on e-mail certificates below it are not to be trusted.
    pub fn email_distrust_after(&self) -> Option<&'a DistrustAfter> {
        self.said?.email_distrust_after.as_ref()
    }

    /// Whether it is a CA's: as p11-kit's `calc_certificate_category` finds it.
    pub fn category(&self) -> Category {
        if let Some(said) = self.said.and_then(|said| said.category) {
            return match said {
                1 => Category::TokenUser,
                2 => Category::Authority,
                3 => Category::OtherEntity,
                _ => Category::Unspecified,
            };
        }
        match (self.extension(BASIC_CONSTRAINTS), self.parts()) {
            (Some(value), _) => match is_ca(value) {
                Some(true) => Category::Authority,
                Some(false) => Category::OtherEntity,
                None => Category::Unspecified,
            },
            (None, Some(parts)) if parts.is_v1 && parts.subject == parts.issuer => Category::Authority,
            (None, Some(_)) => Category::OtherEntity,
            (None, None) => Category::Unspecified,
        }
    }

    /// The days on which it begins and ends to be valid: `YYYYMMDD`.
    pub fn validity(&self) -> Option<([u8; 8], [u8; 8])> {
        let parts = self.parts()?;
        Some((day(parts.not_before)?, day(parts.not_after)?))
    }

    /// The value of an extension: the one that is stapled to the key, or else the certificate's own.
    fn extension(&self, oid: &[u8]) -> Option<&'a [u8]> {
        let stapled = self.spki().and_then(|spki| self.store.stapled_to(spki, oid));
        match stapled {
            Some(stapled) => super::certificate::extension(&stapled.der).map(|(_, value)| value),
            None => self.parts()?.extension(oid),
        }
    }

    /// What it is trusted for if nothing limits that.
    fn allow(&self) -> Verdict {
        if self.is_distrusted() {
            Verdict::Distrusted
        } else if self.is_trusted() && self.category() == Category::Authority {
            Verdict::Anchor
        } else if self.is_trusted() {
            Verdict::Trusted
        } else {
            Verdict::Unknown
        }
    }

    fn verdict(&self, purpose: Purpose) -> Verdict {
        // A list that can't be read names no purpose.
        let list = |oid| self.extension(oid).map(|value| purposes(value).unwrap_or_default());
        let (wanted, rejected) = (list(EXT_KEY_USAGE), list(OPENSSL_REJECT));
        for_purpose(purpose, self.allow(), wanted.as_deref(), rejected.as_deref())
    }

    fn parts(&self) -> Option<&Parts<'a>> {
        self.parts.get_or_init(|| Parts::read(self.der?).ok()).as_ref()
    }

    fn said<T: ?Sized>(&self, of: impl FnOnce(&'a Description) -> Option<&'a T>) -> Option<&'a T> {
        self.said.and_then(of)
    }
}

/// What a source says about one certificate, for each purpose: what NSS calls a trust object.
#[derive(Clone)]
pub struct Statement<'a> {
    certificate: Option<TrustCertificate<'a>>,
    explicit: Option<&'a Explicit>,
}

impl<'a> Statement<'a> {
    /// What follows from a description.
    pub(crate) fn implied(certificate: TrustCertificate<'a>) -> Statement<'a> {
        Statement { certificate: Some(certificate), explicit: None }
    }

    /// What the source says, and the certificate if it is there.
    pub(crate) fn explicit(explicit: &'a Explicit, certificate: Option<TrustCertificate<'a>>) -> Statement<'a> {
        Statement { certificate, explicit: Some(explicit) }
    }

    /// The certificate that it is about: DER, if the source has it.
    pub fn der(&self) -> Option<&'a [u8]> {
        self.certificate.as_ref()?.der()
    }

    /// The certificate's subject.
    pub fn subject(&self) -> Option<&'a [u8]> {
        let explicit = self.explicit.and_then(|explicit| explicit.subject.as_deref());
        explicit.or_else(|| self.certificate.as_ref()?.subject())
    }

    /// The certificate's issuer.
    pub fn issuer(&self) -> Option<&'a [u8]> {
        self.explicit.map(|explicit| &*explicit.issuer).or_else(|| self.certificate.as_ref()?.issuer())
    }

    /// The certificate's serial number: DER of an INTEGER.
    pub fn serial(&self) -> Option<&'a [u8]> {
        self.explicit.map(|explicit| &*explicit.serial).or_else(|| self.certificate.as_ref()?.serial())
    }

    /// Whether this is the certificate's serial number, as DER of an INTEGER or as the content of one.
    pub fn has_serial(&self, serial: &[u8]) -> bool {
        self.serial().is_some_and(|own| own == serial || own == element(INTEGER, serial))
    }

    /// A name for people.
    pub fn label(&self) -> Option<Cow<'a, str>> {
        let explicit = self.explicit.and_then(|explicit| explicit.label.as_deref());
        explicit.map(Cow::Borrowed).or_else(|| self.certificate.as_ref()?.label())
    }

    /// The certificate's identifier.
    pub fn id(&self) -> Option<Cow<'a, [u8]>> {
        let explicit = self.explicit.and_then(|explicit| explicit.id.as_deref());
        explicit.map(Cow::Borrowed).or_else(|| self.certificate.as_ref()?.id())
    }

    /// SHA-1 of the certificate.
    pub fn sha1(&self) -> Option<[u8; 20]> {
        let explicit = self.explicit.and_then(|explicit| explicit.sha1);
        explicit.or_else(|| self.certificate.as_ref()?.sha1())
    }

    /// MD5 of the certificate.
    pub fn md5(&self) -> Option<[u8; 16]> {
        let explicit = self.explicit.and_then(|explicit| explicit.md5);
        explicit.or_else(|| Some(Md5::digest(self.der()?).into()))
    }

    /// SHA-256 of the certificate.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        Some(Sha256::digest(self.der()?).into())
    }

    /// What is said for one purpose.
    pub fn verdict(&self, purpose: Purpose) -> Verdict {
        match (self.explicit, &self.certificate) {
            (Some(explicit), _) => explicit.purposes.get(purpose as usize).copied().flatten().unwrap_or_default(),
            (None, Some(certificate)) => certificate.verdict(purpose),
            (None, None) => Verdict::Unknown,
        }
    }

    /// What is said for one use of the key. None if the source makes statements and leaves this one out.
    pub fn key_use(&self, key_use: KeyUse) -> Option<Verdict> {
        match (self.explicit, &self.certificate) {
            (Some(explicit), _) => explicit.key_uses.get(key_use as usize).copied().flatten(),
            (None, Some(certificate)) => {
                Some(for_key_use(key_use, certificate.allow(), certificate.extension(KEY_USAGE)))
            }
            (None, None) => None,
        }
    }

    /// Netscape's step-up, of historical interest.
    pub fn is_step_up_approved(&self) -> bool {
        self.explicit.is_some_and(|explicit| explicit.step_up_approved)
    }
}

/// cA of a BasicConstraints. None if it is none.
fn is_ca(der: &[u8]) -> Option<bool> {
    let mut outer = Reader::new(der);
    let mut constraints = outer.enter(SEQUENCE).ok()?;
    outer.end().ok()?;
    if constraints.peek() != Some(BOOLEAN) {
        return Some(false);
    }
    match constraints.content_of(BOOLEAN).ok()? {
        [0] => Some(false),
        [_] => Some(true),
        _ => None,
    }
}

/// The day of a Time, with the century of a UTCTime as RFC 5280 (4.1.2.5.1) has it.
fn day((tag, text): (u8, &[u8])) -> Option<[u8; 8]> {
    let digits = match (tag, text) {
        (GENERALIZED_TIME, text) => text.get(..8)?.to_vec(),
        (UTC_TIME, text) => {
            let century: &[u8] = if text.first()? < &b'5' { b"20" } else { b"19" };
            [century, text.get(..6)?].concat()
        }
        _ => return None,
    };
    let day: [u8; 8] = digits.try_into().ok()?;
    day.iter().all(u8::is_ascii_digit).then_some(day)
}
