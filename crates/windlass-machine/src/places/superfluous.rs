//! The superfluous certificates of a store. The doctor reports them, and `windlass prune` removes them.

use std::collections::{BTreeMap, BTreeSet};

use windlass::Timestamp;

use super::certificate::{Certificate, TestLike};

/// The reason why a certificate is superfluous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Superfluous {
    /// It has expired: no chain that ends in it is accepted.
    Expired,
    /// The same certificate is in the store under another name, at this index.
    Duplicate(usize),
    /// It was made for a test, and a newer one with the same subject is in the store.
    Superseded(TestLike),
}

/// Judges all certificates of one store. An entry that can't be decoded is never superfluous: its purpose is unknown.
pub fn judge(all: &[Option<Certificate>], now: Timestamp) -> Vec<Option<Superfluous>> {
    let mut first = BTreeMap::new();
    let mut newest: BTreeMap<&[u8], Timestamp> = BTreeMap::new();
    for certificate in all.iter().flatten().filter(|certificate| !certificate.is_expired(now)) {
        let time = newest.entry(&certificate.subject).or_insert(certificate.not_before);
        *time = (*time).max(certificate.not_before);
    }
    let judged = all.iter().enumerate().map(|(index, certificate)| {
        let certificate = certificate.as_ref()?;
        if let Some(first) = first.get(&certificate.sha256) {
            return Some(Superfluous::Duplicate(*first));
        }
        first.insert(certificate.sha256, index);
        if certificate.is_expired(now) {
            return Some(Superfluous::Expired);
        }
        let is_superseded = newest.get(&*certificate.subject).is_some_and(|newest| *newest > certificate.not_before);
        certificate.test_like().filter(|_| is_superseded).map(Superfluous::Superseded)
    });
    judged.collect()
}

/// The number of certificates that are not superfluous, each counted once.
pub fn kept(all: &[Option<Certificate>], judged: &[Option<Superfluous>]) -> usize {
    let kept = all.iter().zip(judged).filter(|(_, judgement)| judgement.is_none());
    kept.filter_map(|(certificate, _)| certificate.as_ref())
        .map(|certificate| certificate.sha256)
        .collect::<BTreeSet<_>>()
        .len()
}

impl Superfluous {
    /// The reason, as a clause.
    pub fn reason(&self, certificate: &Certificate) -> String {
        match self {
            Superfluous::Expired => format!("expired on {}", certificate.expiry_date()),
            Superfluous::Duplicate(_) => String::from("the same certificate is there under another name"),
            Superfluous::Superseded(test) => format!("{}, and a newer one of the same name is there", test.reason()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(number: u8, subject: &str, from: i64, until: i64, test: Option<TestLike>) -> Option<Certificate> {
        Some(Certificate {
            sha256: [number; 32],
            subject: subject.as_bytes().into(),
            name: subject.into(),
            not_before: Timestamp(from),
            not_after: Timestamp(until),
            is_self_issued: true,
            is_authority: true,
            is_ca: true,
            test,
        })
    }

    #[test]
    fn only_what_nobody_misses() {
        let test = Some(TestLike::ReservedName);
        let all = [
            certificate(1, "ca", 10, 200, None),
            certificate(2, "ca", 20, 200, None),
            certificate(3, "old", 10, 50, None),
            certificate(1, "ca", 10, 200, None),
            None,
            certificate(4, "localhost", 10, 200, test),
            certificate(5, "localhost", 20, 200, test),
            certificate(6, "localhost", 30, 50, test),
            certificate(7, "example.com", 10, 200, test),
        ];
        let judged = judge(&all, Timestamp(100));
        let superseded = Some(Superfluous::Superseded(TestLike::ReservedName));
        let expired = Some(Superfluous::Expired);
        let duplicate = Some(Superfluous::Duplicate(0));
        // Two CAs with one subject are both needed, and an expired test certificate supersedes nothing.
        assert_eq!(judged, [None, None, expired.clone(), duplicate, None, superseded, None, expired, None]);
        assert_eq!(kept(&all, &judged), 4);
    }
}
