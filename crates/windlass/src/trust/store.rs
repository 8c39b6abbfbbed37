//! What one location says, indexed once and never changed.

use std::fmt;
use std::sync::Arc;

use super::certificate::{Parts, element};
use super::description::{Description, Sayings, Stapled, StapledExtension};
use super::view::{Statement, TrustCertificate};
use crate::anchor::{AnchorIndex, TrustAnchor};
use crate::der::{INTEGER, Reader};
use crate::error::Unsupported;
use crate::index::Index;
use crate::name::RawName;
use crate::root_store::RootStore;

/// Certificates, statements about them, and extensions that are stapled to their keys. Immutable.
///
/// Certificates have numbers from 0, in source order. Statements have numbers too, not all of them: see
/// [`TrustStore::statement`].
pub struct TrustStore {
    content: Content,
}

enum Content {
    /// A PEM file of anchors and nothing else: indexed as root stores are.
    Anchors(Arc<RootStore>),
    Sayings(Box<Indexed>),
}

struct Indexed {
    said: Sayings,
    subjects: Index,
    issuers_and_serials: Index,
    explicit: Index,
    stapled: Index,
    /// Certificates about which something else says what there is to say.
    silent: Box<[bool]>,
    has_distrust: bool,
}

impl TrustStore {
    /// All anchors of a PEM file, for every purpose that they allow themselves.
    pub fn of_anchors(anchors: Arc<RootStore>) -> TrustStore {
        TrustStore { content: Content::Anchors(anchors) }
    }

    pub(crate) fn of_sayings(said: Sayings) -> Result<TrustStore, Unsupported> {
        let count = |len: usize| u32::try_from(len).map_err(|_| Unsupported::TooLarge);
        let (certificates, explicit) = (count(said.certificates.len())?, count(said.explicit.len())?);
        let subjects = Index::build(certificates, |n| subject_of(&said, n))?;
        let issuers_and_serials = Index::build(certificates, |n| issuer_and_serial_of(&said, n))?;
        let explicit = Index::build(explicit, |n| explicit_key(&said, n))?;
        let stapled = Index::build(count(said.extensions.len())?, |n| stapled_key(&said, n))?;
        let has_distrust = said.certificates.iter().any(|certificate| certificate.distrusted);
        let silent = Box::default();
        let mut indexed = Indexed { said, subjects, issuers_and_serials, explicit, stapled, silent, has_distrust };
        indexed.silent = (0..certificates).map(|n| indexed.is_silent(n)).collect();
        Ok(TrustStore { content: Content::Sayings(Box::new(indexed)) })
    }

    /// The number of certificates.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Anchors(anchors) => anchors.len(),
            Content::Sayings(all) => all.said.certificates.len(),
        }
    }

    /// Whether there is no certificate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One certificate.
    pub fn certificate(&self, number: usize) -> Option<TrustCertificate<'_>> {
        match &self.content {
            Content::Anchors(anchors) => {
                let anchor = anchor(anchors, number)?;
                Some(TrustCertificate::new(self, None, Some(anchor.der())))
            }
            Content::Sayings(all) => {
                let said = all.said.certificates.get(number)?;
                Some(TrustCertificate::new(self, Some(said), said.der.as_deref()))
            }
        }
    }

    /// All certificates whose subject has exactly these bytes.
    pub fn by_subject(&self, subject: &[u8]) -> Vec<usize> {
        match &self.content {
            Content::Anchors(anchors) => anchors.by_raw_subject(RawName::of_anchor(subject)).map(|n| n.get()).collect(),
            Content::Sayings(all) => numbers(all.subjects.find(&subject, |n| subject_of(&all.said, n))),
        }
    }

    /// All certificates with this issuer and this serial number, DER of an INTEGER.
    pub fn by_issuer_and_serial(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        match &self.content {
            Content::Anchors(anchors) => {
                let content = Reader::new(serial).content_of(INTEGER);
                let found = content.map(|serial| anchors.by_issuer_and_serial(RawName::of_anchor(issuer), serial));
                // An INTEGER with other bytes behind it is not that serial number.
                let whole = |n: &usize| self.certificate(*n).and_then(|found| found.serial()) == Some(serial);
                found.into_iter().flatten().map(|n| n.get()).filter(whole).collect()
            }
            Content::Sayings(all) => {
                let key = (issuer, serial);
                numbers(all.issuers_and_serials.find(&key, |n| issuer_and_serial_of(&all.said, n)))
            }
        }
    }

    /// Whether a certificate is distrusted.
    pub fn has_distrust(&self) -> bool {
        matches!(&self.content, Content::Sayings(all) if all.has_distrust)
    }

    /// The number of extensions that are stapled to keys.
    pub fn stapled_len(&self) -> usize {
        self.all_stapled().len()
    }

    /// One extension that is stapled to a key; in source order.
    pub fn stapled(&self, number: usize) -> Option<StapledExtension<'_>> {
        self.all_stapled().get(number).map(StapledExtension)
    }

    /// Numbers of statements are below this.
    pub fn statements_end(&self) -> usize {
        self.explicit_len() + self.len()
    }

    /// One statement. First come those that the source makes itself, then for each certificate what follows from its
    /// description; there is none about a certificate about which another statement is.
    pub fn statement(&self, number: usize) -> Option<Statement<'_>> {
        match (&self.content, number.checked_sub(self.explicit_len())) {
            (Content::Anchors(anchors), Some(certificate)) => {
                let anchor = anchor(anchors, certificate)?;
                let view = TrustCertificate::new(self, None, Some(anchor.der()));
                (!anchor.is_duplicate()).then_some(Statement::implied(view))
            }
            (Content::Sayings(all), Some(certificate)) => {
                let silent = all.silent.get(certificate).copied().unwrap_or(true);
                (!silent).then_some(Statement::implied(self.certificate(certificate)?))
            }
            (Content::Sayings(all), None) => {
                let explicit = all.said.explicit.get(number)?;
                let candidates = self.by_issuer_and_serial(&explicit.issuer, &explicit.serial).into_iter();
                let mut views = candidates.filter_map(|n| self.certificate(n));
                let meant = views.find(|view| {
                    let sha1 = view.sha1();
                    sha1.is_some() && explicit.sha1.is_none_or(|wanted| sha1 == Some(wanted))
                });
                Some(Statement::explicit(explicit, meant))
            }
            (Content::Anchors(_), None) => None,
        }
    }

    /// All statements about certificates with this issuer and this serial number: DER of an INTEGER or, if there is none
    /// so, the content of one.
    pub fn statements_by_issuer_and_serial(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        match self.statements_about(issuer, serial) {
            found if found.is_empty() => self.statements_about(issuer, &element(INTEGER, serial)),
            found => found,
        }
    }

    fn statements_about(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        let mut found = match &self.content {
            Content::Anchors(_) => Vec::new(),
            Content::Sayings(all) => numbers(all.explicit.find(&(issuer, serial), |n| explicit_key(&all.said, n))),
        };
        let certificates = self.by_issuer_and_serial(issuer, serial).into_iter();
        found.extend(certificates.map(|n| n + self.explicit_len()).filter(|n| self.statement(*n).is_some()));
        found
    }

    pub(super) fn stapled_to(&self, spki: &[u8], oid: &[u8]) -> Option<&Stapled> {
        let Content::Sayings(all) = &self.content else { return None };
        let found = all.stapled.find(&spki, |n| stapled_key(&all.said, n));
        let mut extensions = found.iter().filter_map(|n| all.said.extensions.get(*n as usize));
        extensions.find(|extension| *extension.oid == *oid)
    }

    fn all_stapled(&self) -> &[Stapled] {
        match &self.content {
            Content::Anchors(_) => &[],
            Content::Sayings(all) => &all.said.extensions,
        }
    }

    fn explicit_len(&self) -> usize {
        match &self.content {
            Content::Anchors(_) => 0,
            Content::Sayings(all) => all.said.explicit.len(),
        }
    }
}

impl Indexed {
    /// Of several descriptions of one certificate the last counts (p11-kit's `replace_nss_trust_object`), and what the source
    /// states itself counts more than what follows from a description.
    fn is_silent(&self, number: u32) -> bool {
        let Some(this) = self.said.certificates.get(number as usize) else { return true };
        let Some(key) = issuer_and_serial_of(&self.said, number) else { return true };
        let same = |other: &Description| other.der == this.der;
        let later = self.issuers_and_serials.find(&key, |n| issuer_and_serial_of(&self.said, n));
        let replaced =
            later.iter().any(|&other| other > number && self.said.certificates.get(other as usize).is_some_and(same));
        let stated = self.explicit.find(&key, |n| explicit_key(&self.said, n));
        replaced
            || stated.iter().filter_map(|n| self.said.explicit.get(*n as usize)).any(|explicit| {
                let sha1 = this.der.as_deref().map(|der| <[u8; 20]>::from(<sha1::Sha1 as sha1::Digest>::digest(der)));
                explicit.sha1.is_none() || sha1.is_none() || explicit.sha1 == sha1
            })
    }
}

fn anchor(anchors: &RootStore, number: usize) -> Option<TrustAnchor<'_>> {
    (number < anchors.len()).then(|| anchors.anchor(AnchorIndex(number as u32)))
}

fn subject_of(said: &Sayings, number: u32) -> Option<&[u8]> {
    let certificate = said.certificates.get(number as usize)?;
    match &certificate.subject {
        Some(subject) => Some(subject),
        None => Some(Parts::read(certificate.der.as_deref()?).ok()?.subject),
    }
}

fn issuer_and_serial_of(said: &Sayings, number: u32) -> Option<(&[u8], &[u8])> {
    let certificate = said.certificates.get(number as usize)?;
    match (&certificate.issuer, &certificate.serial) {
        (Some(issuer), Some(serial)) => Some((issuer, serial)),
        (issuer, serial) => {
            let parts = Parts::read(certificate.der.as_deref()?).ok()?;
            Some((issuer.as_deref().unwrap_or(parts.issuer), serial.as_deref().unwrap_or(parts.serial)))
        }
    }
}

fn explicit_key(said: &Sayings, number: u32) -> Option<(&[u8], &[u8])> {
    let explicit = said.explicit.get(number as usize)?;
    Some((&explicit.issuer, &explicit.serial))
}

fn stapled_key(said: &Sayings, number: u32) -> Option<&[u8]> {
    Some(&said.extensions.get(number as usize)?.spki)
}

fn numbers(records: &[u32]) -> Vec<usize> {
    records.iter().map(|&record| record as usize).collect()
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustStore({} certificates)", self.len())
    }
}
