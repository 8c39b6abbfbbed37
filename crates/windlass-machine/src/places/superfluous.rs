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
    /// It is valid or not yet valid, and looks like a test certificate.
    Test(TestLike),
}

/// Judges all certificates of one store. A certificate is superfluous if it has expired, if the same one comes before
/// it, or if `tests` is set and it looks like a test certificate; nothing else counts. An entry that can't be decoded
/// is never superfluous: its purpose is unknown.
///
/// No certificate is superseded by another of its name, not even by one with the same key: a leaf may name the serial
/// number of the older one (RFC 5280, 4.2.1.1), and is then refused without it.
pub fn judge(all: &[Option<Certificate>], now: Timestamp, tests: bool) -> Vec<Option<Superfluous>> {
    let mut first = BTreeMap::new();
    let judged = all.iter().enumerate().map(|(index, certificate)| {
        let certificate = certificate.as_ref()?;
        if let Some(first) = first.get(&certificate.sha256) {
            return Some(Superfluous::Duplicate(*first));
        }
        first.insert(certificate.sha256, index);
        if certificate.is_expired(now) {
            return Some(Superfluous::Expired);
        }
        certificate.test_like().filter(|_| tests).map(Superfluous::Test)
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
            Superfluous::Test(test) => test.reason().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(100);

    fn certificate(number: u8, subject: &str, (from, until): (i64, i64), test: Option<TestLike>) -> Certificate {
        Certificate {
            sha256: [number; 32],
            subject: subject.as_bytes().into(),
            name: subject.into(),
            key: [number; 20],
            not_before: Timestamp(from),
            not_after: Timestamp(until),
            is_self_issued: true,
            is_authority: true,
            is_ca: true,
            test,
        }
    }

    /// All stores of two certificates. docs/prune.md has the rule, as one sentence; here it is once more, for one
    /// certificate beside another, whatever that is.
    #[test]
    fn only_the_rule_of_the_documentation_counts() {
        let dates = [(10, 90), (10, 200), (20, 300), (150, 300)];
        let likes = [
            None,
            Some(TestLike::AspNet),
            Some(TestLike::ReservedName),
            Some(TestLike::Word),
            Some(TestLike::SelfSignedLeaf),
        ];
        let mut all = Vec::new();
        for subject in ["/CN=Acme Test CA", "/CN=Other"] {
            for key in [1, 2] {
                for date in dates {
                    for test in likes {
                        for is_authority in [true, false] {
                            let number = u8::try_from(all.len()).unwrap();
                            let one = certificate(number, subject, date, test);
                            all.push(Certificate { key: [key; 20], is_authority, is_ca: is_authority, ..one });
                        }
                    }
                }
            }
        }
        let alone = |one: &Certificate, tests: bool| match one.test {
            _ if one.not_after < NOW => Some(Superfluous::Expired),
            Some(test) if tests => Some(Superfluous::Test(test)),
            _ => None,
        };
        for one in &all {
            for other in &all {
                for tests in [false, true] {
                    let second = if one == other { Some(Superfluous::Duplicate(0)) } else { alone(other, tests) };
                    let judged = judge(&[Some(one.clone()), Some(other.clone())], NOW, tests);
                    assert_eq!(judged, [alone(one, tests), second], "{one:?} {other:?} {tests}");
                }
            }
        }
    }

    #[test]
    fn what_stays_is_counted_once() {
        let both = (10, 200);
        let all = [
            Some(certificate(1, "ca", both, None)),
            Some(certificate(2, "old", (10, 50), None)),
            Some(certificate(1, "ca", both, None)),
            None,
            Some(certificate(3, "localhost", both, Some(TestLike::ReservedName))),
        ];
        let judged = judge(&all, NOW, false);
        assert_eq!(judged, [None, Some(Superfluous::Expired), Some(Superfluous::Duplicate(0)), None, None]);
        assert_eq!((kept(&all, &judged), kept(&all, &judge(&all, NOW, true))), (2, 1));
    }
}
