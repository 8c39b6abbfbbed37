//! All statements of a source, with the indexes to find them.

use windlass::Index;
use windlass::Unsupported;

use super::certificate::Parts;
use super::description::{Explicit, Sayings};
use super::standing::{Finder, issuer_and_serial, speaks_of};

/// All statements of a source, indexed.
#[derive(Default)]
pub(super) struct Indexed {
    pub said: Sayings,
    pub subjects: Index,
    pub issuers_and_serials: Index,
    pub explicit: Index,
    pub stapled: Index,
    /// Descriptions and explicit statements that are not reported, because another one speaks for their certificates.
    pub silent_descriptions: Box<[bool]>,
    pub silent_explicit: Box<[bool]>,
    /// Descriptions of which only the distrust is reported.
    pub muted_descriptions: Box<[bool]>,
    pub has_distrust: bool,
}

impl Indexed {
    pub fn new(said: Sayings) -> Result<Indexed, Unsupported> {
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
        Ok(Indexed {
            said,
            subjects,
            issuers_and_serials,
            explicit,
            stapled,
            silent_descriptions,
            silent_explicit,
            muted_descriptions,
            has_distrust,
        })
    }

    /// The source's statements about a certificate that it also describes, if they do not replace that description.
    pub fn stated_about(&self, number: usize) -> Vec<&Explicit> {
        let Some(description) = self.said.certificates.get(number) else { return Vec::new() };
        let Some(key) = issuer_and_serial(description) else { return Vec::new() };
        let found = self.explicit.find(&key, |n| explicit_key(&self.said, n));
        let stated = found.iter().filter_map(|n| self.said.explicit.get(*n as usize));
        stated.filter(|explicit| !explicit.authoritative && speaks_of(explicit, description)).collect()
    }
}

pub(super) fn subject_of(said: &Sayings, number: u32) -> Option<&[u8]> {
    let certificate = said.certificates.get(number as usize)?;
    match &certificate.subject {
        Some(subject) => Some(subject),
        None => Some(Parts::read(certificate.der.as_deref()?).ok()?.subject),
    }
}

pub(super) fn issuer_and_serial_of(said: &Sayings, number: u32) -> Option<(&[u8], &[u8])> {
    issuer_and_serial(said.certificates.get(number as usize)?)
}

pub(super) fn explicit_key(said: &Sayings, number: u32) -> Option<(&[u8], &[u8])> {
    let explicit = said.explicit.get(number as usize)?;
    Some((&explicit.issuer, &explicit.serial))
}

pub(super) fn stapled_key(said: &Sayings, number: u32) -> Option<&[u8]> {
    Some(&said.extensions.get(number as usize)?.spki)
}
