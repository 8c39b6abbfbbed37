//! A bundle and a hashed directory that belong together, and disagree.

use crate::doctor::bundle::Bundle;
use crate::doctor::check::{Check, Finding, Outcome, Severity};
use crate::doctor::directory::Directory;
use crate::doctor::machine::Machine;

pub const CHECK: Check = Check {
    id: "bundle-differs",
    title: "a bundle and the hashed directory beside it hold different certificates",
    severity: Severity::Warning,
    explanation: "A distribution keeps the same certificates in two forms: a bundle for programs that load all of them, and a hashed \
        directory for OpenSSL. If the two disagree, what is trusted depends on the program: curl and GnuTLS' programs on Debian use the \
        bundle, git the directory, and OpenSSL's default paths the directory and, where cert.pem exists, the bundle too.\n\nIt comes about when a \
        certificate is copied into the directory, or appended to the bundle, instead of being given to update-ca-certificates or \
        update-ca-trust. A directory without any hash link is not looked at: nobody uses it as a hashed one.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources();
    sources.tell_unseen(outcome);
    for directory in sources.directories.iter().filter(|directory| directory.is_hashed()) {
        for bundle in sources.bundles.iter().filter(|bundle| belong_together(machine, bundle, directory)) {
            outcome.findings.extend(compare(bundle, directory));
        }
    }
}

/// One lies in the other, or they are the two default paths of an OpenSSL.
fn belong_together(machine: &Machine<'_>, bundle: &Bundle, directory: &Directory) -> bool {
    let is_pair = |pair: &crate::doctor::sources::Pair| {
        machine.real(&pair.file) == bundle.real && machine.real(&pair.directory) == directory.real
    };
    bundle.real.parent() == Some(&directory.real) || machine.sources().pairs.iter().any(is_pair)
}

fn compare(bundle: &Bundle, directory: &Directory) -> Option<Finding> {
    let (in_bundle, in_directory) = (bundle.contents.fingerprints(), directory.fingerprints());
    let mut only_bundle: Vec<_> = bundle.contents.certificates.iter().collect();
    only_bundle.retain(|placed| !in_directory.contains(&placed.certificate.fingerprint));
    only_bundle.dedup_by_key(|placed| placed.certificate.fingerprint);
    let mut only_directory: Vec<_> = directory.found().collect();
    only_directory.retain(|(_, placed)| !in_bundle.contains(&placed.certificate.fingerprint));
    let path = bundle.real.display();
    let facts =
        only_bundle
            .iter()
            .map(|placed| format!("only in the bundle, line {}: {}", placed.line, placed.certificate.label()))
            .chain(only_directory.iter().map(|(item, placed)| {
                format!("only in the directory, {}: {}", item.name(), placed.certificate.label())
            }));
    let what = match (only_bundle.len(), only_directory.len()) {
        (0, 0) => return None,
        (0, more) => format!("the directory has {more} that {path} has not"),
        (more, 0) => format!("{path} has {more} that the directory has not"),
        (more, others) => {
            format!("{path} has {more} that the directory has not, and the directory {others} that it has not")
        }
    };
    Some(
        Finding::new(Severity::Warning, &directory.real, format!("bundle and directory disagree: {what}"))
            .facts(facts)
            .reason("what is trusted depends on which of the two a program uses")
            .remedy(
                "to be trusted by all: put the certificate into /usr/local/share/ca-certificates, as a file .crt, and run \
                 update-ca-certificates (Fedora: /etc/pki/ca-trust/source/anchors, update-ca-trust); by none: remove it from \
                 where it is",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{Image, assert_silent};

    #[test]
    fn a_healthy_machine_is_silent() {
        assert_silent(&CHECK);
    }

    #[test]
    fn each_has_one_that_the_other_has_not() {
        let image = Image::healthy();
        image.bundle(&["rsa.pem", "ed25519.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.facts.shown.len(), 2, "{:?}", finding.facts);
        assert!(
            finding.facts.shown[0].contains("only in the bundle")
                && finding.facts.shown[0].contains("Unit Without Common Name")
        );
        assert!(
            finding.facts.shown[1].contains("only in the directory")
                && finding.facts.shown[1].contains("Würzelzertifikat")
        );
    }

    #[test]
    fn a_bundle_elsewhere_counts_if_openssl_uses_both() {
        let image = Image::healthy();
        image.write("usr/lib/ssl/cert.pem", &crate::doctor::testing::fixture("rsa.pem"));
        let finding = image.finding(&CHECK);
        assert!(finding.what.ends_with("the directory has 1 that /usr/lib/ssl/cert.pem has not"), "{}", finding.what);
    }

    #[test]
    fn what_openssl_can_not_find_is_not_in_the_directory() {
        let image = Image::healthy();
        image.remove(&format!("etc/ssl/certs/{}.0", crate::doctor::testing::hash("rsa.pem")));
        assert!(image.finding(&CHECK).facts.shown[0].contains("only in the bundle, line 1: Rsa Root"));
    }
}
