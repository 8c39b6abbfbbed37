//! Certificates that NSS databases additionally trust or refuse: Chromium's, Firefox's, Thunderbird's.

use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::read::Trust;
use windlass_machine::places::{Place, PlaceKind};

use super::budget::Budgets;
use super::compare::{System, entries};
use crate::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "nss-database",
    title: "a browser's database trusts or refuses other certificates than the system",
    severity: Severity::Warning,
    explanation: "\
        Firefox, Thunderbird, Chromium and other programs with NSS keep the decisions of their users in a database, \
        cert9.db, beside their built-in roots. A certificate that is trusted there is trusted by these programs \
        alone; one that is refused there may still be trusted by all others.\n\n\
        The databases of all profiles in homes, and of /etc/pki/nssdb, are read without locking them: what a running \
        browser has not written yet is not seen. Only decisions about servers count, not those about mail. An \
        intermediate that a browser has stored is not a decision. It is a warning if a trusted certificate has \
        expired or looks like a test certificate, or if one is refused that the system trusts; otherwise a note.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let system = System::of(machine, outcome);
    let mut budgets = Budgets::of(machine);
    for place in machine.places().iter().filter(|place| place.kind == PlaceKind::NssDatabase) {
        let Some((entries, _)) = entries(machine, place, &mut budgets, outcome) else { continue };
        let mut says = Says::default();
        let mut unknown = 0;
        for entry in entries.iter().filter(|entry| entry.trust != Trust::Nothing) {
            let Some(certificate) = entry.certificate() else {
                unknown += 1;
                continue;
            };
            let in_system = system.as_ref().is_some_and(|system| system.all.contains_key(&certificate.sha256));
            says.add(entry.trust, certificate, in_system, machine);
        }
        if unknown > 0 {
            outcome.not_seen(Unseen::new(
                &place.path,
                format!("{unknown} of the certificates that it decides on can't be decoded"),
            ));
        }
        outcome.findings.extend(says.finding(place));
    }
}

#[derive(Default)]
struct Says {
    facts: Vec<String>,
    trusted: usize,
    refused: usize,
    is_bad: bool,
}

impl Says {
    fn add(&mut self, trust: Trust, certificate: Certificate, in_system: bool, machine: &Machine<'_>) {
        let name = &certificate.name;
        match (trust, in_system) {
            (Trust::Anchor, false) => {
                self.trusted += 1;
                let mut fact = format!("trusted only here: {name}");
                if certificate.is_expired(machine.now) {
                    fact.push_str(&format!(", expired on {}", certificate.expiry_date()));
                    self.is_bad = true;
                } else if let Some(test) = certificate.test_like() {
                    fact.push_str(&format!(", {}", test.reason()));
                    self.is_bad = true;
                }
                self.facts.push(fact);
            }
            (Trust::Distrusted, true) => {
                self.refused += 1;
                self.is_bad = true;
                self.facts.push(format!("refused here, trusted by the system: {name}"));
            }
            (Trust::Distrusted, false) => {
                self.refused += 1;
                self.facts.push(format!("refused: {name}"));
            }
            (Trust::Anchor, true) | (Trust::Nothing, _) => {}
        }
    }

    fn finding(self, place: &Place) -> Option<Finding> {
        if self.facts.is_empty() {
            return None;
        }
        let severity = if self.is_bad { Severity::Warning } else { Severity::Note };
        let what = format!(
            "trusts certificates that the system does not trust ({}), or refuses certificates ({}); used by {}",
            self.trusted, self.refused, place.why
        );
        let finding = Finding::new(severity, &place.path, what).about(self.facts.iter().cloned()).facts(self.facts);
        let directory = place.path.parent().unwrap_or(&place.path).display();
        Some(
            finding
                .reason(
                    "a certificate that only one program trusts is easily forgotten, and stays trusted when its \
                             key is compromised",
                )
                .remedy(format!(
                    "if it is needed, add it to the system's trust instead; remove it in the browser's settings, or, \
                 while the browser does not \
                 run, with certutil -D -d sql:{directory} -n NAME"
                )),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::testing::Image;

    fn certutil(image: &Image, arguments: &[&str]) {
        let directory = image.path("etc/pki/nssdb");
        std::fs::create_dir_all(&directory).unwrap();
        let place = format!("sql:{}", directory.display());
        let output = Command::new("certutil").args(["-d", &place]).args(arguments).output().expect("certutil");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn add(image: &Image, trust: &str, name: &str) {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
        certutil(image, &["-A", "-n", name, "-t", trust, "-a", "-i", file.to_str().unwrap()]);
    }

    #[test]
    fn decisions_of_a_user() {
        let image = Image::healthy();
        certutil(&image, &["-N", "--empty-password"]);
        assert!(image.findings(&CHECK).is_empty(), "an empty database");
        add(&image, "C,,", "rsa.pem");
        add(&image, ",,", "future.pem");
        assert!(image.findings(&CHECK).is_empty(), "trusted by the system too, and no decision");
        add(&image, "C,,", "escape.pem");
        let finding = image.finding(&CHECK);
        assert_eq!((finding.severity, finding.facts.shown.len()), (Severity::Note, 1));
        add(&image, "p,p,p", "p384.pem");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Warning);
        let says = "trusts certificates that the system does not trust (1), or refuses certificates (1); \
                    used by NSS programs of all users";
        assert_eq!(finding.what, says);
        assert!(finding.facts.shown.iter().any(|fact| fact.starts_with("refused here, trusted by the system: ")));
    }

    #[test]
    fn an_expired_one_is_a_warning() {
        let image = Image::healthy();
        certutil(&image, &["-N", "--empty-password"]);
        add(&image, "C,,", "expired.pem");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.facts.shown[0].contains(", expired on "), "{:?}", finding.facts);
    }
}
