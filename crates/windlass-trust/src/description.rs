//! What is kept of what a source says.

use std::borrow::Cow;

use sha1::{Digest, Sha1};
use windlass::Timestamp;
use windlass::Unsupported;
use windlass::der::OBJECT_IDENTIFIER;

use super::certificate::element;
use super::verdict::{KeyUse, Purpose, Verdict};

/// All that a source says, in its order.
#[derive(Debug, Default)]
pub(crate) struct Sayings {
    pub certificates: Vec<Description>,
    pub extensions: Vec<Stapled>,
    pub explicit: Vec<Explicit>,
    /// Whether there may be certificates that were not read. They would be trusted or nothing.
    pub has_unread: bool,
    /// What could not be read and may take trust away, the first of it since [`Sayings::end_file`].
    unread: Option<Unsupported>,
    /// How many certificates and how many extensions there were at the end of each file; none for what is one file.
    files: Vec<(usize, usize)>,
}

impl Sayings {
    /// Marks that something was not read that may take trust away.
    pub fn refuse(&mut self, what: Unsupported) {
        self.unread.get_or_insert(what);
    }

    /// Marks that all of a file is in, and tells what was not read of it.
    pub fn end_file(&mut self) -> Option<Unsupported> {
        self.files.push((self.certificates.len(), self.extensions.len()));
        self.unread.take()
    }

    /// Whether two certificates are from one file.
    pub fn is_same_file(&self, one: u32, other: u32) -> bool {
        self.file_of_certificate(one) == self.file_of_certificate(other)
    }

    /// Whether an extension is from a file that was read before that of a certificate.
    pub fn is_extension_earlier(&self, extension: u32, certificate: u32) -> bool {
        let file = self.files.partition_point(|(_, end)| *end <= extension as usize);
        file < self.file_of_certificate(certificate)
    }

    fn file_of_certificate(&self, number: u32) -> usize {
        self.files.partition_point(|(end, _)| *end <= number as usize)
    }
}

/// One certificate, or what is known of one that is not there. What is not said is taken from the certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    pub der: Option<Box<[u8]>>,
    pub label: Option<Box<str>>,
    pub id: Option<Box<[u8]>>,
    pub subject: Option<Box<[u8]>>,
    pub issuer: Option<Box<[u8]>>,
    /// DER, as an INTEGER.
    pub serial: Option<Box<[u8]>>,
    pub spki: Option<Box<[u8]>>,
    pub category: Option<u64>,
    pub trusted: bool,
    pub distrusted: bool,
    pub is_mozilla_policy: Option<bool>,
    pub server_distrust_after: Option<DistrustAfter>,
    pub email_distrust_after: Option<DistrustAfter>,
}

/// From when on certificates that an anchor issues are not to be trusted (CCADB, NSS: `CKA_NSS_SERVER_DISTRUST_AFTER`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistrustAfter {
    /// It is said that there is no such day.
    Never,
    /// From this moment on.
    Time {
        /// The moment.
        at: Timestamp,
        /// As it is written: a UTCTime or GeneralizedTime without its tag.
        text: Box<[u8]>,
    },
    /// From some moment on that can't be read.
    Unreadable {
        /// As it is written.
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

    /// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`. None if it is no time.
    pub(crate) fn from_text(text: &[u8]) -> Option<DistrustAfter> {
        let at = match text.len() {
            13 => Timestamp::from_utc_time(text),
            _ => Timestamp::from_generalized_time(text),
        };
        Some(DistrustAfter::Time { at: at.ok()?, text: text.into() })
    }
}

/// An Extension that is to be used in place of what the certificates of a key have.
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

/// An extension that is to be used in place of what the certificates of a key have.
#[derive(Clone, Copy, Debug)]
pub struct StapledExtension<'a>(pub(crate) &'a Stapled);

impl<'a> StapledExtension<'a> {
    /// The key whose certificates it belongs to: SubjectPublicKeyInfo, DER.
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

    /// A name for people, if the source gives one.
    pub fn label(&self) -> Option<&'a str> {
        self.0.label.as_deref()
    }

    /// An identifier: what the source gives, or else SHA-1 of the key.
    pub fn id(&self) -> Cow<'a, [u8]> {
        match &self.0.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(Sha1::digest(&self.0.spki).to_vec()),
        }
    }
}

/// A statement that a source makes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explicit {
    /// Whether it counts instead of what is said about the certificate, as in certdata.txt. One of a `.p11-kit` file
    /// can only take trust away: p11-kit 0.24 can't read it if it has NSS's attributes by the names of 0.26, and 0.26
    /// tells neither it nor what follows from the certificate if that was read later.
    pub authoritative: bool,
    pub issuer: Box<[u8]>,
    /// DER, as an INTEGER.
    pub serial: Box<[u8]>,
    pub subject: Option<Box<[u8]>>,
    pub label: Option<Box<str>>,
    pub id: Option<Box<[u8]>>,
    pub sha1: Option<[u8; 20]>,
    pub md5: Option<[u8; 16]>,
    pub purposes: [Option<Verdict>; Purpose::ALL.len()],
    pub key_uses: [Option<Verdict>; KeyUse::ALL.len()],
    pub step_up_approved: bool,
    /// Days that certdata.txt has with some statements in place of the certificate (Izenpe.com, 2026).
    pub server_distrust_after: Option<DistrustAfter>,
    pub email_distrust_after: Option<DistrustAfter>,
}
