//! What one location says, indexed once and never changed.

use std::fmt;
use std::sync::Arc;

use super::certificate::{Parts, element};
use super::description::{Explicit, Sayings, Stapled, StapledExtension};
use super::standing::{Finder, issuer_and_serial, speaks_of};
use super::statement::Statement;
use super::view::TrustCertificate;
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
    /// Descriptions, and statements of the source, about whose certificates something else says what there is to say.
    silent_descriptions: Box<[bool]>,
    silent_explicit: Box<[bool]>,
    /// Descriptions of which only what they take away is told.
    muted_descriptions: Box<[bool]>,
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
        let finder = Finder {
            said: &said,
            descriptions: &|key| issuers_and_serials.find(&key, |n| issuer_and_serial_of(&said, n)).to_vec(),
            explicit: &|key| explicit.find(&key, |n| explicit_key(&said, n)).to_vec(),
        };
        let silent_descriptions = finder.silent_descriptions();
        let silent_explicit = finder.silent_explicit(&silent_descriptions);
        let muted_descriptions = finder.muted_descriptions();
        let indexed = Indexed {
            said,
            subjects,
            issuers_and_serials,
            explicit,
            stapled,
            silent_descriptions,
            silent_explicit,
            muted_descriptions,
            has_distrust,
        };
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
                Some(TrustCertificate::new(self, number, None, Some(anchor.der())))
            }
            Content::Sayings(all) => {
                let said = all.said.certificates.get(number)?;
                Some(TrustCertificate::new(self, number, Some(said), said.der.as_deref()))
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
    /// description; none of those that are told with another.
    ///
    /// Who asks by issuer and serial number takes the first that it finds. So if several have the same, and one of them takes
    /// trust away, one tells all that they take away, and the others are not told.
    pub fn statement(&self, number: usize) -> Option<Statement<'_>> {
        let mut statement = self.single_statement(number)?;
        let rivals = self.rivals_of(number, &statement);
        let is_distrust = || rivals.iter().map(|(_, rival)| rival).chain([&statement]).any(Statement::is_distrust);
        if !rivals.is_empty() && is_distrust() {
            if rivals.iter().any(|(other, _)| *other < number) {
                return None;
            }
            statement.rivals = rivals.into_iter().map(|(_, rival)| rival).collect();
        }
        Some(statement)
    }

    /// Other statements of the same issuer and serial number.
    fn rivals_of(&self, number: usize, statement: &Statement<'_>) -> Vec<(usize, Statement<'_>)> {
        let Content::Sayings(all) = &self.content else { return Vec::new() };
        let (Some(issuer), Some(serial)) = (statement.issuer(), statement.serial()) else { return Vec::new() };
        let explicit = numbers(all.explicit.find(&(issuer, serial), |n| explicit_key(&all.said, n)));
        let described = self.by_issuer_and_serial(issuer, serial).into_iter().map(|n| n + self.explicit_len());
        let others = explicit.into_iter().chain(described).filter(|other| *other != number);
        others.filter_map(|other| Some((other, self.single_statement(other)?))).collect()
    }

    /// What one description or one statement of the source says.
    fn single_statement(&self, number: usize) -> Option<Statement<'_>> {
        match (&self.content, number.checked_sub(self.explicit_len())) {
            (Content::Anchors(anchors), Some(certificate)) => {
                let anchor = anchor(anchors, certificate)?;
                let view = TrustCertificate::new(self, certificate, None, Some(anchor.der()));
                (!anchor.is_duplicate()).then_some(Statement::implied(view, Vec::new()))
            }
            (Content::Sayings(all), Some(certificate)) => {
                let silent = all.silent_descriptions.get(certificate).copied().unwrap_or(true);
                if silent {
                    return None;
                }
                let mut statement = Statement::implied(self.certificate(certificate)?, all.stated_about(certificate));
                statement.is_muted = all.muted_descriptions.get(certificate).copied().unwrap_or(true);
                Some(statement)
            }
            (Content::Sayings(all), None) => {
                let explicit = all.said.explicit.get(number)?;
                if all.silent_explicit.get(number).copied().unwrap_or(true) {
                    return None;
                }
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
    /// so, the content of one. What is about all such certificates comes before what is about one.
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
        found.extend(certificates.map(|n| n + self.explicit_len()));
        let is_about_one = |number: usize| self.statement(number).map(|statement| statement.sha1().is_some());
        let mut ordered: Vec<_> = found.into_iter().filter_map(|n| Some((is_about_one(n)?, n))).collect();
        ordered.sort_unstable();
        ordered.into_iter().map(|(_, number)| number).collect()
    }

    /// The extensions of this type that are stapled to a key, each with whether the source had said it before it came to
    /// the file with a certificate.
    pub(super) fn stapled_to(&self, spki: &[u8], oid: &[u8], certificate: usize) -> Vec<(&Stapled, bool)> {
        let Content::Sayings(all) = &self.content else { return Vec::new() };
        let found = all.stapled.find(&spki, |n| stapled_key(&all.said, n));
        let extensions = found.iter().filter_map(|n| Some((*n, all.said.extensions.get(*n as usize)?)));
        let wanted = extensions.filter(|(_, extension)| *extension.oid == *oid);
        wanted.map(|(n, it)| (it, all.said.is_extension_earlier(n, certificate as u32))).collect()
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
    /// What the source states about a certificate that it also describes, and which does not count instead of that.
    fn stated_about(&self, number: usize) -> Vec<&Explicit> {
        let Some(description) = self.said.certificates.get(number) else { return Vec::new() };
        let Some(key) = issuer_and_serial(description) else { return Vec::new() };
        let found = self.explicit.find(&key, |n| explicit_key(&self.said, n));
        let stated = found.iter().filter_map(|n| self.said.explicit.get(*n as usize));
        stated.filter(|explicit| !explicit.authoritative && speaks_of(explicit, description)).collect()
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
    issuer_and_serial(said.certificates.get(number as usize)?)
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
