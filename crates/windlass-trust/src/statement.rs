//! The trust in one certificate, for each purpose.

use std::borrow::Cow;

use md5::Md5;
use sha2::{Digest, Sha256};
use windlass::der::INTEGER;

use super::description::Explicit;
use super::element;
use super::verdict::{KeyUse, Purpose, Verdict};
use super::view::TrustCertificate;

/// A source's verdicts on one certificate, for each purpose: a trust object in NSS's terms.
#[derive(Clone)]
pub struct Statement<'a> {
    certificate: Option<TrustCertificate<'a>>,
    explicit: Option<&'a Explicit>,
    /// Other statements of the source about this certificate, which can only remove trust.
    stated: Vec<&'a Explicit>,
    /// Whether only its distrust is reported.
    pub(super) is_muted: bool,
    /// Other statements with the same issuer and serial number. This one stands for all of them, and gives no trust if
    /// there are any.
    pub(super) rivals: Vec<Statement<'a>>,
}

impl<'a> Statement<'a> {
    /// The statement that follows from a description and from the explicit statements about the same certificate.
    pub(crate) fn implied(certificate: TrustCertificate<'a>, stated: Vec<&'a Explicit>) -> Statement<'a> {
        Statement { certificate: Some(certificate), explicit: None, stated, is_muted: false, rivals: Vec::new() }
    }

    /// An explicit statement, with its certificate if that is there.
    pub(crate) fn explicit(explicit: &'a Explicit, certificate: Option<TrustCertificate<'a>>) -> Statement<'a> {
        Statement { certificate, explicit: Some(explicit), stated: Vec::new(), is_muted: false, rivals: Vec::new() }
    }

    /// The certificate that it is about: DER; None if the source does not have it.
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
        self.explicit.map(|explicit| &*explicit.issuer).or_else(|| Some(self.certificate.as_ref()?.key()?.0))
    }

    /// The certificate's serial number: DER of an INTEGER.
    pub fn serial(&self) -> Option<&'a [u8]> {
        self.explicit.map(|explicit| &*explicit.serial).or_else(|| Some(self.certificate.as_ref()?.key()?.1))
    }

    /// Whether this is the certificate's serial number, as DER of an INTEGER or as its content.
    pub fn has_serial(&self, serial: &[u8]) -> bool {
        self.serial().is_some_and(|own| own == serial || own == element(INTEGER, serial))
    }

    /// A display name.
    pub fn label(&self) -> Option<Cow<'a, str>> {
        let explicit = self.explicit.and_then(|explicit| explicit.label.as_deref());
        explicit.map(Cow::Borrowed).or_else(|| self.certificate.as_ref()?.label())
    }

    /// The certificate's identifier.
    pub fn id(&self) -> Option<Cow<'a, [u8]>> {
        let explicit = self.explicit.and_then(|explicit| explicit.id.as_deref());
        explicit.map(Cow::Borrowed).or_else(|| self.certificate.as_ref()?.id())
    }

    /// SHA-1 of the certificate. This and the other hashes are None for a statement about all certificates with this
    /// issuer and serial number.
    pub fn sha1(&self) -> Option<[u8; 20]> {
        if !self.rivals.is_empty() {
            return None;
        }
        let explicit = self.explicit.and_then(|explicit| explicit.sha1);
        explicit.or_else(|| self.certificate.as_ref()?.sha1())
    }

    /// MD5 of the certificate.
    pub fn md5(&self) -> Option<[u8; 16]> {
        if !self.rivals.is_empty() {
            return None;
        }
        let explicit = self.explicit.and_then(|explicit| explicit.md5);
        explicit.or_else(|| Some(Md5::digest(self.der()?).into()))
    }

    /// SHA-256 of the certificate.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        Some(Sha256::digest(self.der().filter(|_| self.rivals.is_empty())?).into())
    }

    /// The verdict for one purpose.
    pub fn verdict(&self, purpose: Purpose) -> Verdict {
        let said = |explicit: &Explicit| explicit.purposes.get(purpose as usize).copied().flatten();
        let own = match (self.explicit, &self.certificate) {
            (Some(explicit), _) => granted(explicit, said(explicit).unwrap_or_default()),
            (None, Some(certificate)) => lowered(certificate.verdict(purpose), self.stated.iter().map(|it| said(it))),
            (None, None) => Verdict::Unknown,
        };
        self.lowered_by_rivals(own, |rival| Some(rival.verdict(purpose)))
    }

    /// The verdict for one use of the key. None if the source has explicit statements and this one leaves the use out.
    pub fn key_use(&self, key_use: KeyUse) -> Option<Verdict> {
        let said = |explicit: &Explicit| explicit.key_uses.get(key_use as usize).copied().flatten();
        let own = match (self.explicit, &self.certificate) {
            (Some(explicit), _) => said(explicit).map(|said| granted(explicit, said)),
            (None, Some(certificate)) => {
                Some(lowered(certificate.key_use(key_use), self.stated.iter().map(|it| said(it))))
            }
            (None, None) => None,
        };
        let told = self.lowered_by_rivals(own.unwrap_or_default(), |rival| rival.key_use(key_use));
        (own.is_some() || told == Verdict::Distrusted).then_some(told)
    }

    fn lowered_by_rivals(&self, own: Verdict, of: impl Fn(&Statement<'_>) -> Option<Verdict>) -> Verdict {
        let own = if self.is_muted { lowered(own, [None].into_iter()) } else { own };
        lowered(own, self.rivals.iter().map(of))
    }

    /// Netscape's step-up, of historical interest.
    pub fn is_step_up_approved(&self) -> bool {
        self.explicit.is_some_and(|explicit| explicit.step_up_approved)
    }
}

/// Combines a verdict with others: distrust by anyone counts, trust only if nobody says anything else.
fn lowered(verdict: Verdict, others: impl Iterator<Item = Option<Verdict>>) -> Verdict {
    others.fold(verdict, |all, said| match (all, said) {
        (Verdict::Distrusted, _) | (_, Some(Verdict::Distrusted)) => Verdict::Distrusted,
        _ => Verdict::Unknown,
    })
}

/// Only authoritative statements of the source give trust.
fn granted(explicit: &Explicit, said: Verdict) -> Verdict {
    match said {
        Verdict::Anchor | Verdict::Trusted if !explicit.authoritative => Verdict::Unknown,
        said => said,
    }
}
