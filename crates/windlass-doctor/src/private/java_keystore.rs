//! Java's cacerts.

use windlass_machine::places::PlaceKind;

use super::compare::{System, difference, stores};
use crate::check::{Check, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "java-keystore",
    title: "a Java's cacerts differ from the system's trust",
    severity: Severity::Warning,
    explanation: "\
        Each Java installation trusts the certificates of a keystore: lib/security/cacerts in its directory, or \
        jssecacerts beside it. Distributions link it to a keystore that they generate from the system's trust \
        (Debian: /etc/ssl/certs/java/cacerts, by ca-certificates-java). Other builds bring their own.\n\n\
        Keystores in the formats JKS and PKCS#12 are read, the latter if they have no password or the usual one. Java \
        is looked for below /usr/lib/jvm and /opt, and in homes (SDKMAN, .jdks, asdf, mise). It is a warning if the \
        keystore lacks a certificate that the administrator has added to the system's trust, or was changed more than \
        a year ago; otherwise a note.",
    run,
};

/// The keystores that distributions generate from the system's trust.
const DEBIAN: &str = "/etc/ssl/certs/java/cacerts";
const FEDORA: &str = "/etc/pki/ca-trust/extracted/java/cacerts";

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let Some(system) = System::of(machine, outcome) else { return };
    for store in stores(machine, &[PlaceKind::JavaKeystore], outcome) {
        let Some(finding) = difference(machine, &system, &store, outcome) else { continue };
        let remedy = match machine.real(&store.place.path).to_str() {
            Some(DEBIAN) => {
                "this is the keystore that ca-certificates-java keeps for all Javas: update-ca-certificates --fresh \
                 gives it the system's \
                 certificates; if it still differs, move the file away, and run that again"
            }
            Some(FEDORA) => {
                "this is the keystore that the distribution makes for all Javas: update-ca-trust regenerates it"
            }
            _ => {
                "where the distribution keeps one keystore for all Javas, link to it (Debian: install \
                 ca-certificates-java, then ln -sf /etc/ssl/certs/java/cacerts …/lib/security/cacerts); else update \
                 that Java, and add missing certificates with keytool -importcert -cacerts"
            }
        };
        outcome.found(
            finding
                .reason(
                    "Java programs trust different certificates than other programs here, and changes to the \
                         system's trust do not affect them",
                )
                .remedy(remedy),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::testing::{HEALTHY, Image};

    fn import(image: &Image, keystore: &str, names: &[&str], password: &str) {
        let path = image.path(keystore);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        for name in names {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
            let mut keytool = Command::new("keytool");
            keytool.args(["-importcert", "-noprompt", "-storetype", "PKCS12", "-storepass", password, "-alias", name]);
            let output = keytool.arg("-keystore").arg(&path).arg("-file").arg(file).output().expect("keytool");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
    }

    #[test]
    fn the_distributions_own_keystore_is_not_to_be_linked_to_itself() {
        let image = Image::healthy();
        import(&image, "etc/ssl/certs/java/cacerts", &HEALTHY[..1], "changeit");
        image.write("usr/lib/jvm/java-17/release", "");
        std::fs::create_dir_all(image.path("usr/lib/jvm/java-17/lib/security")).unwrap();
        image.link("usr/lib/jvm/java-17/lib/security/cacerts", "/etc/ssl/certs/java/cacerts");
        let remedy = image.finding(&CHECK).remedy;
        assert!(remedy.contains("update-ca-certificates --fresh") && !remedy.contains("ln -sf"), "{remedy}");
    }

    #[test]
    fn a_java_of_its_own() {
        let image = Image::healthy();
        import(&image, "etc/ssl/certs/java/cacerts", &HEALTHY, "changeit");
        image.write("usr/lib/jvm/java-17/release", "");
        std::fs::create_dir_all(image.path("usr/lib/jvm/java-17/lib/security")).unwrap();
        image.link("usr/lib/jvm/java-17/lib/security/cacerts", "/etc/ssl/certs/java/cacerts");
        assert!(image.findings(&CHECK).is_empty(), "the distribution's");

        import(&image, "opt/jdk-25/lib/security/cacerts", &["rsa.pem", "ed25519.pem"], "changeit");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/opt/jdk-25/lib/security/cacerts".as_ref()));
        assert!(finding.what.ends_with("(used by Java in /opt/jdk-25)"), "{}", finding.what);
        assert_eq!(
            finding.facts.shown[0],
            "2 anchors, 2 of the system; 1 only here, 1 only in the system's trust, 0 expired"
        );

        import(&image, "opt/jdk-21/lib/security/cacerts", &["rsa.pem"], "secret");
        let outcome = image.outcome(&CHECK);
        assert_eq!((outcome.findings.len(), outcome.unseen.count()), (1, 1));
        assert!(
            outcome.unseen.shown()[0].why.starts_with("encrypted with a password of its own"),
            "{:?}",
            outcome.unseen
        );
    }
}
