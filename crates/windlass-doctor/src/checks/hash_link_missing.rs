//! CA certificates in a hashed directory that no hash link leads to.

use super::warn_of_directories;
use crate::check::{Check, Outcome, Severity};
use crate::directory::Directory;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "hash-link-missing",
    title: "CA certificates in a hashed directory that no hash link leads to",
    severity: Severity::Warning,
    explanation: "\
        In a hashed directory OpenSSL finds a certificate only by a name made of its subject's hash, as 5ad8a5d6.0. \
        A file that was only copied there is not trusted by programs that use the directory. GnuTLS reads every file \
        of the directory, and trusts it.\n\n\
        Only files .pem, .crt and .cer with exactly one certificate count, as with `openssl rehash`, and only those \
        of CAs: Debian keeps servers' own certificates in this directory, too. A directory without any hash link is \
        ignored: no program uses it as a hashed directory.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    warn_of_directories(
        machine,
        outcome,
        unlinked,
        ["CA certificate has no hash link", "CA certificates have no hash link"],
        "OpenSSL does not find it there, so its programs refuse certificates that it signed, while programs with \
         GnuTLS accept them",
        |directory| {
            format!("if it should be trusted: openssl rehash {directory}; else remove the file from the directory")
        },
    );
}

fn unlinked(directory: &Directory) -> Vec<String> {
    if !directory.is_hashed() {
        return Vec::new();
    }
    let (trusted, refused) = directory.standing();
    let mut facts = Vec::new();
    for item in directory.items.iter().filter(|item| item.name.is_none()) {
        let [only] = item.certificates() else { continue };
        let Some(says) = &only.certificate.says else { continue };
        let (certificate, fingerprint) = (&only.certificate, &only.certificate.fingerprint);
        let is_found = trusted.contains(fingerprint) || refused.contains(fingerprint);
        if says.is_ca && !is_found && !certificate.is_refused {
            let hash = says.subject_hash().map(|hash| format!("; its hash is {:08x}", hash.0)).unwrap_or_default();
            facts.push(format!("{}: {}{hash}", item.name(), certificate.label()));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture, hash};

    #[test]
    fn a_copied_file_without_a_link() {
        let image = Image::healthy();
        image.write("etc/ssl/certs/mine.crt", &fixture("ed25519.pem"));
        let finding = image.finding(&CHECK);
        let fact = &finding.facts.shown[0];
        assert!(
            fact.starts_with("mine.crt: ") && fact.ends_with(&format!("its hash is {}", hash("ed25519.pem"))),
            "{fact}"
        );
    }

    #[test]
    fn copies_of_what_has_a_link_bundles_and_servers_are_not_meant() {
        let image = Image::healthy();
        image.write("etc/ssl/certs/copy.pem", &fixture("rsa.pem"));
        image.write("etc/ssl/certs/two.pem", &(fixture("ed25519.pem") + &fixture("twin.pem")));
        image.write("etc/ssl/certs/server.pem", &fixture("doctor/leaf.pem"));
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn behind_a_gap_a_link_is_of_no_use() {
        let image = Image::healthy();
        let hash = hash("rsa.pem");
        image.remove(&format!("etc/ssl/certs/{hash}.0"));
        image.link(&format!("etc/ssl/certs/{hash}.1"), "rsa.pem");
        assert!(image.finding(&CHECK).facts.shown[0].starts_with("rsa.pem: Rsa Root"));
    }
}
