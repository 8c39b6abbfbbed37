//! The stored form of a source's statements.

use std::borrow::Cow;

use sha1::{Digest, Sha1};
use windlass::Timestamp;
use windlass::Unsupported;
use windlass::der::OBJECT_IDENTIFIER;

use super::certificate::element;
use super::verdict::{KeyUse, Purpose, Verdict};

/// All statements of a source, in its order.
#[derive(Debug, Default)]
pub(crate) struct Sayings {
    pub certificates: Vec<Description>,
    pub extensions: Vec<Stapled>,
    pub explicit: Vec<Explicit>,
    /// Whether there may be certificates that were not read. They would be trusted, or have no effect.
    pub has_unread: bool,
    /// The first unreadable part since [`Sayings::end_file`] that may remove trust.
    unread: Option<Unsupported>,
    /// The numbers of certificates and of extensions at the end of each file; empty for a source that is one file.
    files: Vec<(usize, usize)>,
}

impl Sayings {
    /// Records an unreadable part that may remove trust.
    pub fn refuse(&mut self, what: Unsupported) {
        self.unread.get_or_insert(what);
    }

    /// Marks the end of a file, and returns its first unreadable part.
    pub fn end_file(&mut self) -> Option<Unsupported> {
        self.files.push((self.certificates.len(), self.extensions.len()));
        self.unread.take()
    }

    /// Whether two certificates come from one file.
    pub fn is_same_file(&self, one: u32, other: u32) -> bool {
        self.file_of_certificate(one) == self.file_of_certificate(other)
    }

    /// Whether an extension comes from a file that was read before the file of a certificate.
    pub fn is_extension_earlier(&self, extension: u32, certificate: u32) -> bool {
        let file = self.files.partition_point(|(_, end)| *end <= extension as usize);
        file < self.file_of_certificate(certificate)
    }

    fn file_of_certificate(&self, number: u32) -> usize {
        self.files.partition_point(|(end, _)| *end <= number as usize)
    }
}

/// One certificate, or the known parts of a missing one. Fields that are None are taken from the certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    pub der: Option<Box<[u8]>>,
    pub label: Option<Box<str>>,
    pub id: Option<Box<[u8]>>,
    pub subject: Option<Box<[u8]>>,
    pub issuer: Option<Box<[u8]>>,
    /// The serial number: DER of an INTEGER.
    pub serial: Option<Box<[u8]>>,
    pub spki: Option<Box<[u8]>>,
    pub category: Option<u64>,
    pub trusted: bool,
    pub distrusted: bool,
    pub is_mozilla_policy: Option<bool>,
    pub server_distrust_after: Option<DistrustAfter>,
    pub email_distrust_after: Option<DistrustAfter>,
}

/// The day from which certificates issued by an anchor are not trusted (CCADB, NSS: `CKA_NSS_SERVER_DISTRUST_AFTER`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistrustAfter {
    /// The source says that there is no such day.
    Never,
    /// From this moment on.
    Time {
        /// The moment.
        at: Timestamp,
        /// As written: a UTCTime or GeneralizedTime without its tag.
        text: Box<[u8]>,
    },
    /// From a moment that can't be read.
    Unreadable {
        /// As written.
        text: Box<[u8]>,
    },
}

impl DistrustAfter {
    /// The earlier of two days; any day is earlier than none.
    pub(crate) fn earlier(one: Option<DistrustAfter>, other: Option<DistrustAfter>) -> Option<DistrustAfter> {
        let at = |after: &Option<DistrustAfter>| match after {
            Some(DistrustAfter::Time { at, .. }) => at.seconds(),
            Some(DistrustAfter::Unreadable { .. }) => i64::MIN,
            Some(DistrustAfter::Never) | None => i64::MAX,
        };
        if one.is_none() || at(&other) < at(&one) { other } else { one }
    }

    /// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`. None if it is not a time.
    pub(crate) fn from_text(text: &[u8]) -> Option<DistrustAfter> {
        let at = match text.len() {
            13 => Timestamp::from_utc_time(text),
            _ => Timestamp::from_generalized_time(text),
        };
        Some(DistrustAfter::Time { at: at.ok()?, text: text.into() })
    }
}

/// An extension that replaces the one in the certificates of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stapled {
    pub spki: Box<[u8]>,
    /// Content of its OBJECT IDENTIFIER.
    pub oid: Box<[u8]>,
    /// The whole Extension, DER.
    pub der: Box<[u8]>,
    pub label: Option<Box<str>>,
    pub id: Option<Box<[u8]>>,
}

/// An extension that replaces the one in the certificates of a key.
#[derive(Clone, Copy, Debug)]
pub struct StapledExtension<'a>(pub(crate) &'a Stapled);

impl<'a> StapledExtension<'a> {
    /// The key of these certificates: SubjectPublicKeyInfo, DER.
    pub fn spki(&self) -> &'a [u8] {
        &self.0.spki
    }

    /// Its type: DER of an OBJECT IDENTIFIER.
    pub fn oid(&self) -> Vec<u8> {
        element(OBJECT_IDENTIFIER, &self.0.oid)
    }

    /// The whole Extension, DER.
    pub fn der(&self) -> &'a [u8] {
        &self.0.der
    }

    /// A display name, if the source gives one.
    pub fn label(&self) -> Option<&'a str> {
        self.0.label.as_deref()
    }

    /// An identifier: the one in the source, or else SHA-1 of the key.
    pub fn id(&self) -> Cow<'a, [u8]> {
        match &self.0.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(Sha1::digest(&self.0.spki).to_vec()),
        }
    }
}

/// A statement that the source itself contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explicit {
    /// Whether it replaces the statement derived from the certificate's description, as in certdata.txt. A statement of
    /// a `.p11-kit` file can only remove trust: p11-kit 0.24 can't read it if it has NSS's attributes by the names of
    /// 0.26, and 0.26 reports neither it nor the derived statement if the certificate was read later.
    pub authoritative: bool,
    pub issuer: Box<[u8]>,
    /// The serial number: DER of an INTEGER.
    pub serial: Box<[u8]>,
    pub subject: Option<Box<[u8]>>,
    pub label: Option<Box<str>>,
    pub id: Option<Box<[u8]>>,
    pub sha1: Option<[u8; 20]>,
    pub md5: Option<[u8; 16]>,
    pub purposes: [Option<Verdict>; Purpose::ALL.len()],
    pub key_uses: [Option<Verdict>; KeyUse::ALL.len()],
    pub step_up_approved: bool,
    /// The days that certdata.txt has in some statements instead of the certificate (Izenpe.com, 2026).
    pub server_distrust_after: Option<DistrustAfter>,
    pub email_distrust_after: Option<DistrustAfter>,
}
