//! What is said about one certificate, for each purpose.

use std::borrow::Cow;

use md5::Md5;
use sha2::{Digest, Sha256};
use windlass::der::INTEGER;

use super::description::Explicit;
use super::element;
use super::verdict::{KeyUse, Purpose, Verdict};
use super::view::TrustCertificate;

/// What a source says about one certificate, for each purpose: what NSS calls a trust object.
#[derive(Clone)]
pub struct Statement<'a> {
    certificate: Option<TrustCertificate<'a>>,
    explicit: Option<&'a Explicit>,
    /// What the source states besides about this certificate, which can only take trust away.
    stated: Vec<&'a Explicit>,
    /// Whether only what it takes away is told.
    pub(super) is_muted: bool,
    /// Other statements of the same issuer and serial number. This one stands for all, and gives no trust if there are
    /// any.
    pub(super) rivals: Vec<Statement<'a>>,
}

impl<'a> Statement<'a> {
    /// What follows from a description, and from what is stated about the same certificate.
    pub(crate) fn implied(certificate: TrustCertificate<'a>, stated: Vec<&'a Explicit>) -> Statement<'a> {
        Statement { certificate: Some(certificate), explicit: None, stated, is_muted: false, rivals: Vec::new() }
    }

    /// What the source says, and the certificate if it is there.
    pub(crate) fn explicit(explicit: &'a Explicit, certificate: Option<TrustCertificate<'a>>) -> Statement<'a> {
        Statement { certificate, explicit: Some(explicit), stated: Vec::new(), is_muted: false, rivals: Vec::new() }
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
        self.explicit.map(|explicit| &*explicit.issuer).or_else(|| Some(self.certificate.as_ref()?.key()?.0))
    }

    /// The certificate's serial number: DER of an INTEGER.
    pub fn serial(&self) -> Option<&'a [u8]> {
        self.explicit.map(|explicit| &*explicit.serial).or_else(|| Some(self.certificate.as_ref()?.key()?.1))
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

    /// SHA-1 of the certificate. None, as of the other hashes, if it is about all with this issuer and serial number.
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

    /// What is said for one purpose.
    pub fn verdict(&self, purpose: Purpose) -> Verdict {
        let said = |explicit: &Explicit| explicit.purposes.get(purpose as usize).copied().flatten();
        let own = match (self.explicit, &self.certificate) {
            (Some(explicit), _) => granted(explicit, said(explicit).unwrap_or_default()),
            (None, Some(certificate)) => lowered(certificate.verdict(purpose), self.stated.iter().map(|it| said(it))),
            (None, None) => Verdict::Unknown,
        };
        self.lowered_by_rivals(own, |rival| Some(rival.verdict(purpose)))
    }

    /// What is said for one use of the key. None if the source makes statements and leaves this one out.
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

/// A verdict after what else is said: distrust counts whoever says it, trust if nobody says anything else.
fn lowered(verdict: Verdict, others: impl Iterator<Item = Option<Verdict>>) -> Verdict {
    others.fold(verdict, |all, said| match (all, said) {
        (Verdict::Distrusted, _) | (_, Some(Verdict::Distrusted)) => Verdict::Distrusted,
        _ => Verdict::Unknown,
    })
}

/// Only what the source says with authority gives trust.
fn granted(explicit: &Explicit, said: Verdict) -> Verdict {
    match said {
        Verdict::Anchor | Verdict::Trusted if !explicit.authoritative => Verdict::Unknown,
        said => said,
    }
}
