//! Trusted certificates that are not CA certificates.

use crate::certificate::SourceCertificate;
use crate::check::{Check, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "not-ca",
    title: "trusted certificates that are not a CA",
    severity: Severity::Note,
    explanation: "\
        A certificate without CA:TRUE in its basic constraints can vouch only for itself: every program of the \
        machine trusts the one server that has its key. That may be intended, for example for the self-signed \
        certificate of a device.\n\n\
        Debian's package ssl-cert puts a certificate of this kind, ssl-cert-snakeoil.pem, into the hashed directory \
        of each machine that has it. CAs are recognized as by OpenSSL (X509_check_ca): by key usage, then by basic \
        constraints; self-signed certificates of version 1 count as CAs.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for holding in sources.holdings() {
        let is_none = |certificate: &SourceCertificate| certificate.says.as_ref().is_some_and(|says| !says.is_ca);
        let finding = holding.finding(machine, Severity::Note, "of no CA", is_none, SourceCertificate::label);
        let Some(finding) = finding else { continue };
        outcome.found(
            finding
                .reason("this certificate vouches only for itself: whoever has its key is trusted as that one server")
                .remedy("if that is not intended, remove them, and trust the CA that issued them instead"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn a_servers_certificate_is_found() {
        let image = Image::healthy();
        image.add("doctor/leaf.pem");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/etc/ssl/certs".as_ref()));
        assert!(finding.facts.shown[0].contains("Leaf"), "{:?}", finding.facts);
    }

    /// RFC 5280, 4.2.1.9, and the treatment of certificates without the extension by `X509_check_ca`.
    #[test]
    fn a_root_of_version_1_is_a_ca() {
        let image = Image::healthy();
        image.bundle(&["rsa.pem", "doctor/version1.pem"]);
        assert!(image.findings(&CHECK).is_empty());
    }
}
