//! The same certificate several times in one source.

use std::collections::HashMap;

use windlass_machine::anchors::name::hex;

use crate::certificate::{Fingerprint, SourceCertificate};
use crate::check::{Check, Finding, Outcome, Severity, counted};
use crate::machine::Machine;
use crate::sources::Holding;

pub const CHECK: Check = Check {
    id: "duplicates",
    title: "the same certificate several times in one source",
    severity: Severity::Warning,
    explanation: "\
        Each context parses a certificate that is twice in a bundle twice, and then discards one. In a hashed \
        directory it has two names, as 5ad8a5d6.0 and 5ad8a5d6.1, and a search for its subject reads both.\n\n\
        This happens when bundles are joined with cat, or when a CA is added that the distribution already has. \
        Certificates count as the same if all their bytes are the same; two certificates with the same subject are \
        not duplicates.\n\n\
        The cost is that of decoding the repetitions and adding them to a fresh store.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for holding in sources.holdings() {
        let repeated = repeated(&holding);
        if repeated.is_empty() {
            continue;
        }
        let ders: Vec<&[u8]> = repeated.iter().map(|(_, _, certificate)| &*certificate.der).collect();
        let words = ["certificate repeats an earlier one", "certificates repeat earlier ones"];
        let (reason, remedy) = if holding.is_bundle {
            (
                "each context that loads the file also parses the repetitions, and discards them",
                String::from(
                    "remove the repetitions from the files that the bundle is made from; if a tool generates the \
                     bundle, run it again",
                ),
            )
        } else {
            (
                "each search for this subject reads the certificate once more",
                format!("`{}` removes the repetitions, with a backup", machine.prune(holding.path)),
            )
        };
        let is_measured = holding.is_bundle && holding.is_ours;
        outcome.found(
            Finding::new(Severity::Warning, holding.path, counted(repeated.len(), words))
                .about(repeated.iter().map(|(_, _, certificate)| hex(&certificate.fingerprint)))
                .facts(
                    repeated
                        .iter()
                        .map(|(place, first, certificate)| format!("{place} repeats {first}: {}", certificate.label())),
                )
                .reason(reason)
                .remedy(remedy)
                .cost(if is_measured { machine.measure.load_certificates(&ders) } else { None }),
        );
    }
}

/// Repetitions, each with its position and the position of the first occurrence.
fn repeated<'h>(holding: &'h Holding<'_>) -> Vec<(&'h str, &'h str, &'h SourceCertificate)> {
    let mut first: HashMap<Fingerprint, &str> = HashMap::new();
    let mut repeated = Vec::new();
    for (place, certificate) in &holding.certificates {
        match first.get(&certificate.fingerprint) {
            Some(first) => repeated.push((&**place, *first, *certificate)),
            None => drop(first.insert(certificate.fingerprint, place)),
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, hash};

    #[test]
    fn certificates_with_one_subject_are_no_repetition() {
        let image = Image::healthy();
        image.add("twin.pem");
        image.bundle(&["rsa.pem", "twin.pem"]);
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn a_repetition_in_the_bundle() {
        let image = Image::healthy();
        image.bundle(&["rsa.pem", "p384.pem", "rsa.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "1 certificate repeats an earlier one");
        assert!(finding.facts.shown[0].contains(" repeats line 1: Rsa Root"), "{:?}", finding.facts);
    }

    #[test]
    fn two_names_in_the_directory() {
        let image = Image::healthy();
        image.link(&format!("etc/ssl/certs/{}.1", hash("rsa.pem")), "rsa.pem");
        let finding = image.finding(&CHECK);
        assert!(finding.remedy.contains(" /etc/ssl/certs` removes the repetitions"), "{}", finding.remedy);
        let hash = hash("rsa.pem");
        assert!(finding.facts.shown[0].starts_with(&format!("{hash}.1 repeats {hash}.0: ")), "{:?}", finding.facts);
    }
}
