//! Which descriptions make a statement for NSS, when several are about one certificate.
//!
//! p11-kit makes one trust object for each description in turn, and each replaces the objects that its own search
//! finds: those with its issuer, its serial number and its hash, as far as it has them (`replace_nss_trust_object`,
//! trust/builder.c). Within one file, the order depends on a hash table. Here only distrust can replace distrust, and
//! within one file the least trusting description counts: there is never more trust than in p11-kit.

use super::certificate::Parts;
use super::description::{Description, Explicit, Sayings};

/// An issuer and a serial number.
pub(super) type Key<'a> = (&'a [u8], &'a [u8]);

/// Finds the descriptions and statements of a source by key.
pub(super) struct Finder<'a> {
    pub said: &'a Sayings,
    /// Numbers of all descriptions with this issuer and serial number.
    pub descriptions: &'a dyn Fn(Key<'_>) -> Vec<u32>,
    /// The same for statements that the source itself contains.
    pub explicit: &'a dyn Fn(Key<'_>) -> Vec<u32>,
}

impl Finder<'_> {
    /// For each description, whether it makes no statement.
    pub fn silent_descriptions(&self) -> Box<[bool]> {
        (0u32..).zip(&self.said.certificates).map(|(number, this)| self.is_silent(number, this)).collect()
    }

    /// For each description, whether only its distrust is reported, because p11-kit may report nothing of it.
    pub fn muted_descriptions(&self) -> Box<[bool]> {
        let partial: Vec<&Description> = self.said.certificates.iter().filter(|said| is_partial(said)).collect();
        let is_muted = |this| {
            is_said_to_be_nobodys(this)
                || issuer_and_serial(this).is_some_and(|key| partial.iter().any(|it| covers_as_partial(it, key)))
        };
        self.said.certificates.iter().map(is_muted).collect()
    }

    /// For each explicit statement, whether it is reported together with a description.
    pub fn silent_explicit(&self, silent: &[bool]) -> Box<[bool]> {
        let told = |explicit: &Explicit| {
            let found = (self.descriptions)((&explicit.issuer, &explicit.serial));
            found.into_iter().any(|number| {
                let description = self.said.certificates.get(number as usize);
                let is_told = !silent.get(number as usize).copied().unwrap_or(true);
                // A statement about all certificates with its number is not covered by a description of one of them.
                is_told
                    && description
                        .is_some_and(|it| speaks_of(explicit, it) && (explicit.sha1.is_some() || it.der.is_none()))
            })
        };
        self.said.explicit.iter().map(|explicit| !explicit.authoritative && told(explicit)).collect()
    }

    fn is_silent(&self, number: u32, this: &Description) -> bool {
        // Nobody finds a statement without both.
        let known = issuer_and_serial(this).filter(|(issuer, serial)| !issuer.is_empty() && !serial.is_empty());
        let Some(key) = known else { return true };
        let mut stated = (self.explicit)(key).into_iter().filter_map(|n| self.said.explicit.get(n as usize));
        if stated.any(|explicit| explicit.authoritative && speaks_of(explicit, this)) {
            return true;
        }
        (self.descriptions)(key).into_iter().filter(|other| *other != number).any(|other| {
            let there = self.said.certificates.get(other as usize);
            there.is_some_and(|it| it.der == this.der && self.counts_before(other, it, number, this))
        })
    }

    /// Whether the first of two descriptions of one certificate takes precedence.
    fn counts_before(&self, one: u32, it: &Description, other: u32, this: &Description) -> bool {
        if it.distrusted != this.distrusted {
            return it.distrusted;
        }
        if self.said.is_same_file(one, other) && it.trusted != this.trusted {
            return !it.trusted;
        }
        one > other
    }
}

/// Whether a statement is about this certificate, given equal issuer and serial number.
pub(super) fn speaks_of(explicit: &Explicit, description: &Description) -> bool {
    let sha1 = || description.der.as_deref().map(|der| <[u8; 20]>::from(<sha1::Sha1 as sha1::Digest>::digest(der)));
    explicit.sha1.is_none_or(|wanted| sha1().is_none_or(|sha1| sha1 == wanted))
}

/// The key for lookups by issuer and serial number. None if either is unknown. A field that is stated to be empty is
/// taken from the certificate, if there is one: in p11-kit nobody finds it then.
pub(super) fn issuer_and_serial(description: &Description) -> Option<Key<'_>> {
    let said = |bytes: &'_ Option<Box<[u8]>>| bytes.as_deref().is_some_and(|bytes| !bytes.is_empty());
    match (&description.issuer, &description.serial) {
        (Some(issuer), Some(serial)) if description.der.is_none() || !issuer.is_empty() && !serial.is_empty() => {
            Some((issuer, serial))
        }
        (issuer, serial) => {
            let parts = Parts::read(description.der.as_deref()?).ok()?;
            let issuer_said = issuer.as_deref().filter(|_| said(issuer));
            let serial_said = serial.as_deref().filter(|_| said(serial));
            Some((issuer_said.unwrap_or(parts.issuer), serial_said.unwrap_or(parts.serial)))
        }
    }
}

/// Whether the certificate is there, and its issuer or serial number is stated to be empty.
fn is_said_to_be_nobodys(description: &Description) -> bool {
    let is_empty = |bytes: &Option<Box<[u8]>>| bytes.as_deref().is_some_and(<[u8]>::is_empty);
    description.der.is_some() && (is_empty(&description.issuer) || is_empty(&description.serial))
}

/// Whether only an issuer or only a serial number is known.
fn is_partial(description: &Description) -> bool {
    let has = |bytes: &Option<Box<[u8]>>| bytes.as_deref().is_some_and(|bytes| !bytes.is_empty());
    description.der.is_none() && has(&description.issuer) != has(&description.serial)
}

/// p11-kit removes the trust objects of all earlier entries that have the one known value.
fn covers_as_partial(stub: &Description, (issuer, serial): Key<'_>) -> bool {
    let is = |known: &Option<Box<[u8]>>, value: &[u8]| {
        known.as_deref().filter(|known| !known.is_empty()).is_none_or(|known| known == value)
    };
    is(&stub.issuer, issuer) && is(&stub.serial, serial)
}
