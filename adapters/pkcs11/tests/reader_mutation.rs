//! Places full of odd files: a certificate that p11-kit-trust distrusts must be neither trusted nor missing here, and
//! one that it does not trust must not be trusted here. If only p11-kit-trust can read something, nothing must be
//! trusted.

mod support;

#[path = "support/odd_der.rs"]
mod odd_der;
#[path = "support/odd_files.rs"]
mod odd_files;
#[path = "support/seen.rs"]
mod seen;

use odd_files::Material;
use seen::Seen;
use support::{ours, p11_kit};
use windlass::{Config, TrustCache};
use windlass_trust::TrustLocation;

/// The factor by which there are more places than usual: `WINDLASS_TEST_FACTOR=100`.
fn factor() -> u64 {
    std::env::var("WINDLASS_TEST_FACTOR").map_or(1, |text| text.parse().expect("a number"))
}

fn seed() -> u64 {
    std::env::var("WINDLASS_TEST_SEED").map_or(20_261_121, |text| text.parse().expect("a number"))
}

#[test]
fn nothing_is_trusted_that_p11_kit_does_not_trust() {
    let material = Material::new();
    let (theirs, ours) = (p11_kit(), ours());
    let (mut same, mut refused, mut stricter) = (0, 0, 0);
    let mut faults = Vec::new();
    for round in 0..1000 * factor() {
        let mut rng = fastrand::Rng::with_seed(seed() + round);
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        let files = material.place(&mut rng);
        odd_files::write(&place, &files);
        let (theirs, ours) = (seen::look(&theirs, &place), seen::look(&ours, &place));
        if ours == theirs {
            same += 1;
        } else if is_unread(&place) {
            refused += 1;
            let trusts = |trust: &seen::Trust| trust.verdicts.iter().any(|verdict| seen::rank(*verdict) > 0);
            if ours.certificates.iter().any(|certificate| certificate.trusted) || ours.trust.iter().any(trusts) {
                faults.push(format!(
                    "round {round}: trusted though something can't be read\n{}",
                    odd_files::print(&files)
                ));
            }
        } else {
            stricter += 1;
            let found = compare(&theirs, &ours, &material.good);
            if !found.is_empty() {
                faults.push(format!(
                    "round {round}: {found:#?}\nthere: {theirs:#?}\nhere: {ours:#?}\n{}",
                    odd_files::print(&files)
                ));
            }
        }
    }
    println!("{same} places the same, {refused} refused, {stricter} with less trust");
    assert!(faults.is_empty(), "{} places, among them\n{}", faults.len(), faults[..faults.len().min(5)].join("\n"));
    assert!(same > refused && refused > stricter && stricter > 0);
}

/// Whether something in the place can't be read here.
fn is_unread(place: &std::path::Path) -> bool {
    TrustLocation::new(place.to_owned()).load(&TrustCache::new(Config::default(), None)).fault().is_some()
}

/// The errors in our view of a place.
fn compare(theirs: &Seen, ours: &Seen, good: &[Vec<u8>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: &str, about: &dyn std::fmt::Debug| faults.push(format!("{what}: {about:?}"));
    for certificate in &theirs.certificates {
        let same = || ours.certificates.iter().filter(|other| other.is_same(certificate));
        if certificate.distrusted && !same().any(|other| other.distrusted) {
            fault("distrust unseen", certificate);
        }
        if good.contains(&certificate.value) && !same().any(|other| other == certificate) {
            fault("not seen as it is", certificate);
        }
    }
    for certificate in &ours.certificates {
        let same = || theirs.certificates.iter().filter(|other| other.is_same(certificate));
        if certificate.trusted && !same().any(|other| other.trusted) {
            fault("trusted here only", certificate);
        }
        if good.contains(&certificate.value) && !same().any(|other| other == certificate) {
            fault("seen here only", certificate);
        }
    }
    for trust in &theirs.trust {
        let same = || ours.trust.iter().filter(|other| other.speaks_of(trust));
        for (purpose, verdict) in trust.verdicts.iter().enumerate() {
            let distrusted = |other: &seen::Trust| other.verdicts[purpose] == seen::NOT_TRUSTED;
            if *verdict == seen::NOT_TRUSTED && !(same().any(distrusted) && same().all(distrusted)) {
                fault("distrust for a purpose unseen", &(purpose, trust));
            }
        }
    }
    for trust in &ours.trust {
        let same = || theirs.trust.iter().filter(|other| other.speaks_of(trust) && trust.speaks_of(other));
        // p11-kit 0.24 reads the files of a folder in no particular order, and the last one read counts.
        let about = |other: &&seen::Certificate| (&other.issuer, &other.serial) == (&trust.issuer, &trust.serial);
        let is_described_twice = theirs.certificates.iter().filter(about).count() > 1;
        for (purpose, verdict) in trust.verdicts.iter().enumerate() {
            let rank = seen::rank(*verdict);
            let as_much = |other: &seen::Trust| {
                let verdict = other.verdicts[purpose];
                seen::rank(verdict) >= rank || (is_described_twice && verdict != seen::NOT_TRUSTED)
            };
            if rank > 0 && !same().any(as_much) {
                fault("trusted for a purpose here only", &(purpose, trust));
            }
        }
    }
    faults
}
