//! Expired certificates.

use std::cell::OnceCell;

use windlass_machine::places::certificate::Certificate;

use crate::certificate::SourceCertificate;
use crate::check::{Check, Finding, Outcome, Severity};
use crate::distribution;
use crate::machine::Machine;
use crate::sources::Holding;

pub const CHECK: Check = Check {
    id: "expired",
    title: "expired certificates among the trusted certificates",
    severity: Severity::Warning,
    explanation: "\
        A chain that ends in an expired certificate is refused, but each context that loads the bundle still parses \
        it. If your own CA is in the list, its servers are refused.\n\n\
        Distributions remove expired roots with an update of their package ca-certificates, and often have some \
        until then. They are a note, since the administrator is not at fault. The distribution's certificates are \
        those in /usr/share/ca-certificates, /usr/share/pki/ca-trust-source or /usr/share/pki/trust; if dpkg lists \
        the content of its package ca-certificates, only the listed ones. All others are a warning.\n\n\
        The cost is that of decoding these certificates and adding them to a fresh store, as every context does that \
        loads the bundle. Those of a hashed directory cost nothing: they are only read when they are looked for.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    let shipped = OnceCell::new();
    let is_shipped = |certificate: &SourceCertificate| {
        shipped.get_or_init(|| distribution::certificates(machine)).contains(&certificate.fingerprint)
    };
    for holding in sources.holdings() {
        for is_of_distribution in [false, true] {
            let (severity, what) = match is_of_distribution {
                true => (Severity::Note, "of the distribution expired"),
                false => (Severity::Warning, "expired"),
            };
            let finding = holding.finding(
                machine,
                severity,
                what,
                |certificate| certificate.is_expired(machine.now) && is_shipped(certificate) == is_of_distribution,
                |certificate| certificate.label() + &certificate.says.as_ref().map(since).unwrap_or_default(),
            );
            let Some(finding) = finding else { continue };
            outcome.found(advised(finding, machine, &holding, is_of_distribution));
        }
    }
}

fn since(says: &Certificate) -> String {
    format!(", expired on {}", says.expiry_date())
}

fn advised(finding: Finding, machine: &Machine<'_>, holding: &Holding<'_>, is_of_distribution: bool) -> Finding {
    let update = "remove the certificate from the directory that it was added to (Debian: \
                  /usr/local/share/ca-certificates), then run update-ca-certificates or update-ca-trust";
    let remedy = if is_of_distribution {
        String::from("nothing needs to be done: an update of the package ca-certificates removes them")
    } else if holding.is_bundle {
        update.to_owned()
    } else {
        let prune = machine.prune(holding.path);
        format!(
            "`{prune}` removes them, with a backup, unless a package would bring them back; {}{update}",
            machine.inside()
        )
    };
    let reason = if holding.is_bundle {
        "certificates that they signed are refused, and each context that loads the file parses them in vain"
    } else {
        "certificates that they signed are refused"
    };
    finding.reason(reason).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    /// Adds a hashed certificate, and a dpkg that does not list it.
    fn add_own(image: &Image) {
        image.add("expired.pem");
        image.write("var/lib/dpkg/info/ca-certificates.list", "/usr/share/ca-certificates/rsa.pem\n");
    }

    #[test]
    fn those_of_the_distribution_are_a_note() {
        let image = Image::healthy();
        image.add("expired.pem");
        image.bundle(&["rsa.pem", "expired.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Note);
        assert_eq!(finding.what, "1 certificate of the distribution expired");
        assert!(
            finding.remedy.ends_with("an update of the package ca-certificates removes them"),
            "{}",
            finding.remedy
        );
    }

    #[test]
    fn an_expired_certificate_is_found_in_the_bundle() {
        let image = Image::healthy();
        // In both sources: reported once.
        add_own(&image);
        image.bundle(&["rsa.pem", "expired.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Warning);
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
        add_own(&image);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/etc/ssl/certs".as_ref()));
        let prune = format!("`windlass prune --root {} /etc/ssl/certs` removes them", image.root().display());
        assert!(finding.remedy.starts_with(&prune), "{}", finding.remedy);
        assert!(
            finding.facts.shown[0].starts_with(&format!("{}.0: Expired Root", crate::testing::hash("expired.pem")))
        );
    }
}
