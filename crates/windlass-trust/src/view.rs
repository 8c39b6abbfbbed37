//! The statements about one certificate, as a view into its store.

use std::borrow::Cow;
use std::cell::OnceCell;

use sha1::{Digest, Sha1};
use windlass::der::{BOOLEAN, GENERALIZED_TIME, INTEGER, OCTET_STRING, Reader, SEQUENCE, UTC_TIME};

use super::description::{Description, DistrustAfter};
use super::standing::{Key, issuer_and_serial};
use super::store::TrustStore;
use super::verdict::{KeyUse, Purpose, Verdict, for_key_use, for_purpose, purposes};
use super::{Parts, label};

/// 2.5.29.14, .15, .19, .37
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x55\x1D\x0E";
const KEY_USAGE: &[u8] = b"\x55\x1D\x0F";
const BASIC_CONSTRAINTS: &[u8] = b"\x55\x1D\x13";
const EXT_KEY_USAGE: &[u8] = b"\x55\x1D\x25";
/// 1.3.6.1.4.1.3319.6.10.1: p11-kit's own, for the purposes that an OpenSSL TRUSTED CERTIFICATE rejects.
const OPENSSL_REJECT: &[u8] = b"\x2B\x06\x01\x04\x01\x99\x77\x06\x0A\x01";

/// The kind of owner of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of PKCS#11, CKA_CERTIFICATE_CATEGORY")]
pub enum Category {
    Unspecified = 0,
    TokenUser = 1,
    Authority = 2,
    OtherEntity = 3,
}

/// A certificate that a source speaks of; the certificate itself may be missing.
#[derive(Clone)]
pub struct TrustCertificate<'a> {
    store: &'a TrustStore,
    number: usize,
    /// None for an anchor of a plain PEM file, which has no description.
    said: Option<&'a Description>,
    der: Option<&'a [u8]>,
    /// Parsed on first use.
    parts: OnceCell<Option<Parts<'a>>>,
}

impl<'a> TrustCertificate<'a> {
    pub(crate) fn new(
        store: &'a TrustStore,
        number: usize,
        said: Option<&'a Description>,
        der: Option<&'a [u8]>,
    ) -> Self {
        TrustCertificate { store, number, said, der, parts: OnceCell::new() }
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

    /// Issuer and serial number, the key of statements about it.
    pub(super) fn key(&self) -> Option<Key<'a>> {
        match self.said {
            Some(said) => issuer_and_serial(said),
            None => self.parts().map(|parts| (parts.issuer, parts.serial)),
        }
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

    /// A display name: the one in the source, or else from the subject.
    pub fn label(&self) -> Option<Cow<'a, str>> {
        self.said(|said| said.label.as_deref())
            .map(Cow::Borrowed)
            .or_else(|| label::label(self.parts()?.subject).map(Cow::Owned))
    }

    /// The key identifier: the one in the source, or else from the certificate's extension, or SHA-1 of the key.
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
        self.said.is_none_or(|said| said.trusted) && !self.store.is_distrust_only()
    }

    /// Whether it must not be trusted.
    pub fn is_distrusted(&self) -> bool {
        self.said.is_some_and(|said| said.distrusted)
    }

    /// Whether it is in Mozilla's root program; None if the source does not say.
    pub fn is_mozilla_policy(&self) -> Option<bool> {
        self.said?.is_mozilla_policy
    }

    /// The day from which server certificates below it are not trusted.
    pub fn server_distrust_after(&self) -> Option<&'a DistrustAfter> {
        self.said?.server_distrust_after.as_ref()
    }

    /// The day from which e-mail certificates below it are not trusted.
    pub fn email_distrust_after(&self) -> Option<&'a DistrustAfter> {
        self.said?.email_distrust_after.as_ref()
    }

    /// Whether it belongs to a CA, by the rules of p11-kit's `calc_certificate_category`. If sources differ, p11-kit
    /// uses the last or the first one, and its releases read files in different orders; here all sources must agree on
    /// a CA.
    pub fn category(&self) -> Category {
        let by_key = self.stapled(BASIC_CONSTRAINTS).into_iter().map(|stapled| {
            let found = stapled.into_iter().map(|(value, _)| by_constraints(value));
            found.reduce(|one, other| if one == Category::Authority { other } else { one })
        });
        let is_stapled = |found: &Option<Category>| found.is_some();
        let by_key: Vec<Option<Category>> = by_key.collect();
        let found = by_key.iter().any(is_stapled).then(|| {
            let each = by_key.into_iter().map(|found| found.unwrap_or_else(|| self.own_category()));
            each.reduce(|one, other| if one == Category::Authority { other } else { one })
        });
        let found = found.flatten();
        match (self.said.and_then(|said| said.category), found) {
            (Some(2), Some(found)) => found,
            (Some(1), _) => Category::TokenUser,
            (Some(2), None) => Category::Authority,
            (Some(3), _) => Category::OtherEntity,
            (Some(_), _) => Category::Unspecified,
            (None, found) => found.unwrap_or_else(|| self.own_category()),
        }
    }

    /// The same without the extensions stapled to the key.
    fn own_category(&self) -> Category {
        match self.parts() {
            Some(parts) => match parts.extension(BASIC_CONSTRAINTS) {
                Some(value) => by_constraints(value),
                None if parts.is_v1 && parts.subject == parts.issuer => Category::Authority,
                None => Category::OtherEntity,
            },
            None => Category::Unspecified,
        }
    }

    /// The first and the last day of validity: `YYYYMMDD`.
    pub fn validity(&self) -> Option<([u8; 8], [u8; 8])> {
        let parts = self.parts()?;
        Some((day(parts.not_before)?, day(parts.not_after)?))
    }

    /// The values of an extension: those stapled to the key, or else the certificate's own. An unreadable value is
    /// empty, which is invalid for every extension. Several values all count: p11-kit uses the first, and 0.24 reads
    /// the files of a directory in no particular order.
    fn extensions(&self, oid: &[u8]) -> Vec<&'a [u8]> {
        let own = || self.parts().and_then(|parts| parts.extension(oid));
        let mut all = Vec::new();
        for stapled in self.stapled(oid) {
            match stapled.is_empty() {
                true => all.extend(own()),
                false => all.extend(stapled.into_iter().map(|(value, _)| value)),
            }
        }
        all
    }

    /// The values of the extensions stapled to the key, each with a flag: whether it comes from an earlier file. If the
    /// source states another key than the certificate's, the extensions of both: p11-kit looks up some by the one and
    /// some by the other.
    fn stapled(&self, oid: &[u8]) -> Vec<Vec<(&'a [u8], bool)>> {
        let own = self.parts().map(|parts| parts.spki);
        let said = self.said(|said| said.spki.as_deref()).filter(|said| Some(*said) != own);
        let value = |der: &'a [u8]| super::certificate::extension(der).map_or(&[][..], |(_, value)| value);
        let keys = own.into_iter().chain(said);
        let by_key = keys.map(|key| {
            let stapled = self.store.stapled_to(key, oid, self.number).into_iter();
            stapled.map(|(stapled, is_earlier)| (value(&stapled.der), is_earlier)).collect()
        });
        by_key.collect()
    }

    /// The trust before any limits.
    fn allow(&self) -> Verdict {
        if self.is_distrusted() {
            Verdict::Distrusted
        } else if !self.is_trusted() {
            Verdict::Unknown
        } else if self.category() == Category::Authority && self.is_authority_for_nss() {
            Verdict::Anchor
        } else {
            Verdict::Trusted
        }
    }

    /// p11-kit makes NSS's trust objects with the constraints that it knows by then, and does not update them when
    /// other extensions are stapled to the key later.
    fn is_authority_for_nss(&self) -> bool {
        let is_known = self.stapled(BASIC_CONSTRAINTS).iter().flatten().all(|(_, is_earlier)| *is_earlier);
        let is_said = self.said.is_some_and(|said| said.category.is_some());
        is_known || is_said || self.own_category() == Category::Authority
    }

    /// The derived verdict for a use of the key.
    pub(super) fn key_use(&self, key_use: KeyUse) -> Verdict {
        let (allow, limits) = (self.allow(), self.extensions(KEY_USAGE));
        let each = limits.iter().map(|value| for_key_use(key_use, allow, Some(value)));
        each.min_by_key(|verdict| verdict.rank()).unwrap_or_else(|| for_key_use(key_use, allow, None))
    }

    /// The derived verdict for a purpose.
    pub(super) fn verdict(&self, purpose: Purpose) -> Verdict {
        let allow = self.allow();
        let (limits, rejects) = (self.extensions(EXT_KEY_USAGE), self.extensions(OPENSSL_REJECT));
        let Some(rejected) = rejects.iter().map(|value| purposes(value)).collect::<Option<Vec<_>>>() else {
            // The rejected purposes are unknown.
            return Verdict::Distrusted;
        };
        let rejected = (!rejected.is_empty()).then(|| rejected.concat());
        // An unreadable list names no purpose.
        let limits: Vec<_> = limits.into_iter().map(|value| purposes(value).unwrap_or_default()).collect();
        let each = limits.iter().map(|list| for_purpose(purpose, allow, Some(list), rejected.as_deref()));
        let least = each.min_by_key(|verdict| verdict.rank());
        least.unwrap_or_else(|| for_purpose(purpose, allow, None, rejected.as_deref()))
    }

    fn parts(&self) -> Option<&Parts<'a>> {
        self.parts.get_or_init(|| Parts::read(self.der?).ok()).as_ref()
    }

    fn said<T: ?Sized>(&self, of: impl FnOnce(&'a Description) -> Option<&'a T>) -> Option<&'a T> {
        self.said.and_then(of)
    }
}

fn by_constraints(value: &[u8]) -> Category {
    match is_ca(value) {
        Some(true) => Category::Authority,
        Some(false) => Category::OtherEntity,
        None => Category::Unspecified,
    }
}

/// cA of a BasicConstraints. None if it is not a BasicConstraints.
fn is_ca(der: &[u8]) -> Option<bool> {
    let mut outer = Reader::new(der);
    let mut constraints = outer.enter(SEQUENCE).ok()?;
    outer.end().ok()?;
    let is_ca = match constraints.peek() {
        Some(BOOLEAN) => match constraints.content_of(BOOLEAN).ok()? {
            [0] => false,
            [_] => true,
            _ => return None,
        },
        _ => false,
    };
    if constraints.peek() == Some(INTEGER) {
        constraints.content_of(INTEGER).ok()?;
    }
    constraints.end().ok()?;
    Some(is_ca)
}

/// The day of a Time, with the century of a UTCTime by the rule of RFC 5280 (4.1.2.5.1).
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
