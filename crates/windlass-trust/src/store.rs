//! The statements of one location, indexed once and never changed.

use std::fmt;
use std::sync::Arc;

use windlass::der::{INTEGER, Reader};
use windlass::{LoadError, Unsupported};
use windlass::{RawName, RootStore};

use super::certificate::element;
use super::description::{Sayings, Stapled, StapledExtension};
use super::indexed::{Indexed, explicit_key, issuer_and_serial_of, stapled_key, subject_of};
use super::statement::Statement;
use super::view::TrustCertificate;

/// Certificates, statements about them, and extensions stapled to their keys. Immutable.
///
/// Certificates are numbered from 0, in source order. Statements have numbers too, but some numbers are unused: see
/// [`TrustStore::statement`].
#[derive(Clone)]
pub struct TrustStore {
    content: Content,
    /// The first part that could not be read, if it may remove trust.
    fault: Option<Arc<LoadError>>,
    /// Whether only distrust is reported.
    is_distrust_only: bool,
}

#[derive(Clone)]
enum Content {
    /// A PEM file of anchors only, indexed like a root store.
    Anchors(Arc<RootStore>),
    Sayings(Arc<Indexed>),
}

impl TrustStore {
    /// All anchors of a PEM file, for every purpose that they themselves allow.
    pub fn of_anchors(anchors: Arc<RootStore>) -> TrustStore {
        TrustStore { content: Content::Anchors(anchors), fault: None, is_distrust_only: false }
    }

    /// An empty store for a location that could not be read.
    pub(crate) fn unread(fault: LoadError) -> TrustStore {
        let content = Content::Sayings(Arc::default());
        TrustStore { content, fault: Some(Arc::new(fault)), is_distrust_only: true }
    }

    /// A copy that gives no trust: nothing is an anchor or allowed; distrust stays, and so do extensions stapled to
    /// keys.
    #[must_use]
    pub fn distrust_only(&self) -> TrustStore {
        TrustStore { is_distrust_only: true, ..self.clone() }
    }

    /// The first part that could not be read and may remove trust. The rest is in the store, and gives no trust: a
    /// caller with several places should use [`TrustStore::distrust_only`] of the others too.
    pub fn fault(&self) -> Option<&LoadError> {
        self.fault.as_deref()
    }

    /// The same store, with the fault of a later read.
    pub(crate) fn with_fault(&self, fault: LoadError) -> TrustStore {
        TrustStore { fault: Some(Arc::new(fault)), ..self.distrust_only() }
    }

    /// Whether trust is not reported.
    pub(super) fn is_distrust_only(&self) -> bool {
        self.is_distrust_only
    }

    /// Indexes the statements of a source. `fault`: the first part that could not be read and may remove trust.
    pub(crate) fn of_sayings(said: Sayings, fault: Option<LoadError>) -> Result<TrustStore, Unsupported> {
        let content = Content::Sayings(Arc::new(Indexed::new(said)?));
        Ok(TrustStore { content, is_distrust_only: fault.is_some(), fault: fault.map(Arc::new) })
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
                let anchor = anchors.get(number)?;
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
            Content::Anchors(anchors) => {
                let found = RawName::from_der(subject).map(|subject| anchors.by_raw_subject(subject));
                found.into_iter().flatten().map(|n| n.get()).collect()
            }
            Content::Sayings(all) => numbers(all.subjects.find(&subject, |n| subject_of(&all.said, n))),
        }
    }

    /// All certificates with this issuer and this serial number (DER of an INTEGER).
    pub fn by_issuer_and_serial(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        match &self.content {
            Content::Anchors(anchors) => {
                let content = Reader::new(serial).content_of(INTEGER).ok();
                let found = RawName::from_der(issuer).ok().zip(content);
                let found = found.map(|(issuer, serial)| anchors.by_issuer_and_serial(issuer, serial));
                // An INTEGER followed by other bytes is not that serial number.
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

    /// One extension that is stapled to a key. Numbered from 0, in source order.
    pub fn stapled(&self, number: usize) -> Option<StapledExtension<'_>> {
        self.all_stapled().get(number).map(StapledExtension)
    }

    /// The upper limit of statement numbers, exclusive.
    pub fn statements_end(&self) -> usize {
        self.explicit_len() + self.len()
    }

    /// One statement. Explicit statements of the source come first, then the one that follows from the description of
    /// each certificate; None for one that is reported together with another.
    ///
    /// A lookup by issuer and serial number uses the first match, and with p11-kit any of several may be first.
    /// Therefore, if several have the same key, one of them reports all their distrust and gives no trust, and the
    /// others are not reported.
    pub fn statement(&self, number: usize) -> Option<Statement<'_>> {
        let mut statement = self.single_statement(number)?;
        let (Some(issuer), Some(serial)) = (statement.issuer(), statement.serial()) else { return Some(statement) };
        let explicit = self.explicit_by_issuer_and_serial(issuer, serial);
        let described = self.by_issuer_and_serial(issuer, serial).into_iter().map(|n| n + self.explicit_len());
        for other in explicit.into_iter().chain(described).filter(|other| *other != number) {
            let Some(rival) = self.single_statement(other) else { continue };
            if other < number {
                return None;
            }
            statement.rivals.push(rival);
        }
        Some(statement)
    }

    /// The content of one description or one explicit statement.
    fn single_statement(&self, number: usize) -> Option<Statement<'_>> {
        let mut statement = self.said_alone(number)?;
        statement.is_muted |= self.is_distrust_only;
        Some(statement)
    }

    fn said_alone(&self, number: usize) -> Option<Statement<'_>> {
        match (&self.content, number.checked_sub(self.explicit_len())) {
            (Content::Anchors(anchors), Some(certificate)) => {
                let anchor = anchors.get(certificate)?;
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

    /// All statements about certificates with this issuer and this serial number: DER of an INTEGER or, if nothing
    /// matches that, its content. A statement about all such certificates comes before one about a single certificate.
    pub fn statements_by_issuer_and_serial(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        match self.statements_about(issuer, serial) {
            found if found.is_empty() => self.statements_about(issuer, &element(INTEGER, serial)),
            found => found,
        }
    }

    fn statements_about(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        let mut found = self.explicit_by_issuer_and_serial(issuer, serial);
        let certificates = self.by_issuer_and_serial(issuer, serial).into_iter();
        found.extend(certificates.map(|n| n + self.explicit_len()));
        let is_about_one = |number: usize| self.statement(number).map(|statement| statement.sha1().is_some());
        let mut ordered: Vec<_> = found.into_iter().filter_map(|n| Some((is_about_one(n)?, n))).collect();
        ordered.sort_unstable();
        ordered.into_iter().map(|(_, number)| number).collect()
    }

    fn explicit_by_issuer_and_serial(&self, issuer: &[u8], serial: &[u8]) -> Vec<usize> {
        match &self.content {
            Content::Anchors(_) => Vec::new(),
            Content::Sayings(all) => numbers(all.explicit.find(&(issuer, serial), |n| explicit_key(&all.said, n))),
        }
    }

    /// The extensions of this type that are stapled to a key, each with a flag: whether it comes from a file read
    /// before the file of the certificate.
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

fn numbers(records: &[u32]) -> Vec<usize> {
    records.iter().map(|&record| record as usize).collect()
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustStore({} certificates)", self.len())
    }
}
