//! PEM bundles that packages bring along: certifi and similar packages, gems, conda.

use windlass_machine::places::PlaceKind;

use super::compare::{System, difference, stores};
use crate::check::{Check, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "private-bundle",
    title: "a language's or package's own bundle differs from the system's trust",
    severity: Severity::Warning,
    explanation: "\
        Python's certifi (and the copies in pip, botocore, gRPC and httplib2), several gems, and conda's OpenSSL \
        bring a PEM file of roots of their own. Programs that use it don't see what the administrator adds to the \
        system's trust or removes from it, and the file is as old as its package.\n\n\
        Bundles are looked for where Python, Ruby and conda install packages, and in virtual environments below \
        homes, to a limited depth. A bundle that is a link to the system's does not count. Nor does a certifi whose \
        core.py names the system's bundle, as on Debian and Fedora: nobody uses its file. Bundles that hold the same \
        certificates are one finding. The roots of Node.js are compiled into it and can't be listed. Go uses the \
        system's places.\n\n\
        It is a warning if the bundle lacks a certificate of /usr/local/share/ca-certificates (or the corresponding \
        directory elsewhere) that the system trusts, or was changed more than a year ago; otherwise a note.\n\n\
        The cost is that of loading the file into a fresh store with this machine's libcrypto: programs pay it for \
        each TLS context.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let Some(system) = System::of(machine, outcome) else { return };
    for store in stores(machine, &[PlaceKind::CertifiBundle, PlaceKind::PrivateBundle], outcome) {
        let Some(finding) = difference(machine, &system, &store, outcome) else { continue };
        let cost = machine.open(&store.place.path).ok().and_then(|file| machine.measure.load_file(&file));
        outcome.found(
            finding
                .reason(
                    "programs here trust different certificates; changes to the system's trust do not affect \
                         this bundle",
                )
                .remedy(
                    "let its programs use the system's trust: REQUESTS_CA_BUNDLE or SSL_CERT_FILE for Python (or the \
                     package \
                     truststore), PIP_CERT for pip, AWS_CA_BUNDLE for botocore; else keep the package up to date",
                )
                .cost(cost),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::testing::{HEALTHY, Image, fixture, trusted};

    const CERTIFI: &str = "usr/lib/python3/dist-packages/certifi/cacert.pem";

    fn text(names: &[&str]) -> String {
        names.iter().map(|name| fixture(name)).collect()
    }

    #[test]
    fn the_same_certificates_or_the_same_file_are_no_finding() {
        let image = Image::healthy();
        image.write(CERTIFI, &text(&[HEALTHY[1], HEALTHY[0]]));
        let link = "usr/local/lib/python3.11/dist-packages/certifi/cacert.pem";
        image.write(link, "");
        image.remove(link);
        image.link(link, "/etc/ssl/certs/ca-certificates.crt");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn what_differs_is_named() {
        let image = Image::healthy();
        image.write(CERTIFI, &text(&["rsa.pem", "ed25519.pem", "expired.pem"]));
        image.write(
            "usr/local/lib/python3.11/dist-packages/certifi/cacert.pem",
            &text(&["expired.pem", "ed25519.pem", "rsa.pem"]),
        );
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Note);
        let facts = finding.facts.shown;
        assert_eq!(facts[0], "3 anchors, 2 of the system; 2 only here, 1 only in the system's trust, 1 expired");
        assert!(facts[2].starts_with("the same: /usr/local/lib/python3.11/"), "{facts:?}");
        assert!(facts.iter().any(|fact| fact.starts_with("expired: Expired")), "{facts:?}");
        assert_eq!(facts.iter().filter(|fact| fact.starts_with("only ")).count(), 3, "{facts:?}");
    }

    #[test]
    fn trust_settings_add_and_refuse() {
        let image = Image::healthy();
        let with = |more: &str| image.write(CERTIFI, &(text(&HEALTHY) + more));
        with(&trusted("ed25519.pem", &["-addtrust", "serverAuth"]));
        let facts = image.finding(&CHECK).facts.shown;
        assert_eq!(facts[0], "3 anchors, 2 of the system; 1 only here, 0 only in the system's trust, 0 expired");
        with(&trusted("ed25519.pem", &["-addreject", "serverAuth"]));
        assert!(image.findings(&CHECK).is_empty());
        image.write(CERTIFI, &(trusted("rsa.pem", &["-addreject", "serverAuth"]) + &text(&HEALTHY)));
        let facts = image.finding(&CHECK).facts.shown;
        assert_eq!(facts[0], "1 anchors, 2 of the system; 0 only here, 1 only in the system's trust, 0 expired");
    }

    #[test]
    fn what_can_not_be_decoded_is_never_equal() {
        let image = Image::healthy();
        let odd = |byte: &str| format!("-----BEGIN CERTIFICATE-----\nMAMCAQ{byte}=\n-----END CERTIFICATE-----\n");
        image.write(CERTIFI, &(text(&HEALTHY) + &odd("E")));
        // The same certificates with other content: not a twin.
        let other = "usr/local/lib/python3.11/dist-packages/certifi/cacert.pem";
        image.write(other, &(text(&HEALTHY) + &odd("I")));
        let outcome = image.outcome(&CHECK);
        assert_eq!((outcome.findings.len(), outcome.unseen.count()), (2, 2), "{outcome:?}");
        let (unseen, finding) = (&outcome.unseen.shown()[0], &outcome.findings[0]);
        assert!(unseen.why.starts_with("1 of its certificates can't be decoded"), "{unseen:?}");
        assert_eq!(finding.facts.shown[1], "of those only here, 1 can't be decoded");
        assert!(
            finding.facts.shown.last().unwrap().starts_with("only here: a certificate that can't be decoded (SHA-256 ")
        );
    }

    #[test]
    fn what_the_administrator_added_and_age_make_it_worse() {
        let image = Image::healthy();
        image.write(CERTIFI, &text(&["rsa.pem"]));
        assert_eq!(image.finding(&CHECK).severity, Severity::Note);
        image.write("usr/local/share/ca-certificates/own.crt", &fixture("p384.pem"));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.what.starts_with("lacks certificates that the administrator has added"), "{}", finding.what);
        image.remove("usr/local/share/ca-certificates/own.crt");
        let old = SystemTime::now() - Duration::from_secs(400 * 86_400);
        File::options().write(true).open(image.path(CERTIFI)).unwrap().set_modified(old).unwrap();
        let finding = image.finding(&CHECK);
        assert_eq!(
            (finding.severity, finding.facts.shown[1].as_str()),
            (Severity::Warning, "the file was changed 400 days ago")
        );
    }
}
