//! Certificates whose time has passed.

use windlass::Timestamp;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "expired",
    title: "expired certificates among the trusted ones",
    severity: Severity::Warning,
    explanation: "No chain that ends in an expired certificate is accepted, but each context that loads a bundle parses it all the \
        same. A CA of one's own in such a list means that its servers are refused.\n\nDistributions remove expired roots with an update \
        of their package ca-certificates.\n\nThe cost is that of decoding these certificates and adding them to a fresh store, as every \
        context does that loads the bundle. Those of a hashed directory cost nothing: they are only read when they are looked for.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources();
    sources.tell_unseen(outcome);
    for holding in sources.holdings() {
        let day = |time: Timestamp| time.to_string().split(' ').next().unwrap_or_default().to_owned();
        let since = |says: &crate::certificate::Says| format!(", expired on {}", day(says.not_after));
        let those = holding.those(
            machine,
            |certificate| certificate.is_expired(machine.now),
            |certificate| certificate.label() + &certificate.says.as_ref().map(since).unwrap_or_default(),
        );
        let Some(those) = those else { continue };
        let update = "of the distribution: update the package ca-certificates; one's own: remove the certificate from where it was \
             put (Debian: /usr/local/share/ca-certificates), then update-ca-certificates or update-ca-trust";
        let (reason, remedy) = if holding.is_bundle {
            let reason =
                "nothing that they signed is accepted, and each context that loads the file parses them in vain";
            (reason, update.to_owned())
        } else {
            let prune = machine.prune(holding.path);
            let remedy = format!(
                "`{prune}` takes them away, with a backup, where no package brings them back; {}{update}",
                machine.inside()
            );
            ("nothing that they signed is accepted", remedy)
        };
        outcome.found(
            Finding::new(Severity::Warning, holding.path, format!("{} expired", those.count()))
                .facts(those.facts)
                .reason(reason)
                .remedy(remedy)
                .cost(those.cost),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, assert_silent};

    #[test]
    fn a_healthy_machine_is_silent() {
        assert_silent(&CHECK);
    }

    #[test]
    fn an_expired_certificate_is_found_in_the_bundle() {
        let image = Image::healthy();
        // In both: told once.
        image.add("expired.pem");
        image.bundle(&["rsa.pem", "expired.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/etc/ssl/certs/ca-certificates.crt".as_ref()));
        assert_eq!(finding.what, "1 certificate expired");
        let fact = &finding.facts.shown[0];
        assert!(
            fact.starts_with("line ") && fact.contains("Expired Root") && fact.ends_with("expired on 2010-01-01"),
            "{fact}"
        );
    }

    #[test]
    fn an_expired_certificate_is_found_in_the_directory() {
        let image = Image::healthy();
        image.add("expired.pem");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/etc/ssl/certs".as_ref()));
        let prune = format!("`windlass prune --root {} /etc/ssl/certs` takes them away", image.root().display());
        assert!(finding.remedy.starts_with(&prune), "{}", finding.remedy);
        assert!(
            finding.facts.shown[0].starts_with(&format!("{}.0: Expired Root", crate::testing::hash("expired.pem")))
        );
    }
}
