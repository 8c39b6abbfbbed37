//! Names in a hashed directory that differ from the hash of the certificate they lead to.

use windlass_machine::places::hash_name::HashName;

use super::warn_of_directories;
use crate::check::{Check, Outcome, Severity};
use crate::directory::Item;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "hash-link-stale",
    title: "hash links to a certificate of another subject",
    severity: Severity::Warning,
    explanation: "\
        A name such as 5ad8a5d6.0 says that the certificate behind it has a subject with that hash. If the file was \
        replaced by a certificate of another subject, OpenSSL reads it when it looks for the old one, and does not \
        find the new one at all.\n\n\
        Names by the hash of OpenSSL before 1.0.0 (MD5) are ignored: `openssl rehash -compat` and older tools make \
        both.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    warn_of_directories(
        machine,
        outcome,
        |directory| directory.items.iter().filter_map(|item| stale(item, item.name?)).collect(),
        ["hash link leads to a certificate of another subject", "hash links lead to certificates of another subject"],
        "OpenSSL looks for a certificate by the hash of its subject: under this name it reads a wrong one",
        |directory| format!("recreate the links: openssl rehash {directory}"),
    );
}

fn stale(item: &Item, name: HashName) -> Option<String> {
    let certificates = item.certificates();
    if name.is_crl || certificates.iter().any(|placed| item.is_hash_of(placed)) {
        return None;
    }
    let certificate = &certificates.first()?.certificate;
    let is_old = |says: &windlass_machine::places::certificate::Certificate| says.subject_hash_old() == Some(name.hash);
    if certificates.iter().any(|placed| placed.certificate.says.as_ref().is_some_and(is_old)) {
        return None;
    }
    let right = certificate.says.as_ref()?.subject_hash()?;
    Some(format!("{} leads to {}, whose hash is {:08x}", item.name(), certificate.label(), right.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Contents;
    use crate::testing::{Image, fixture, hash};

    #[test]
    fn the_file_became_another_certificate() {
        let image = Image::healthy();
        image.write("usr/share/ca-certificates/rsa.pem", &fixture("ed25519.pem"));
        let finding = image.finding(&CHECK);
        let (old, new) = (hash("rsa.pem"), hash("ed25519.pem"));
        let fact = &finding.facts.shown[0];
        assert!(
            fact.starts_with(&format!("{old}.0 leads to ")) && fact.ends_with(&format!("whose hash is {new}")),
            "{fact}"
        );
    }

    #[test]
    fn names_by_the_old_hash_are_well() {
        let image = Image::healthy();
        let contents = Contents::of(fixture("rsa.pem").as_bytes(), None);
        let old = contents.certificates[0].certificate.says.as_ref().unwrap().subject_hash_old().unwrap();
        image.link(&format!("etc/ssl/certs/{:08x}.0", old.0), "rsa.pem");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn a_file_of_several_needs_one_that_fits() {
        let image = Image::healthy();
        image.write("usr/share/ca-certificates/rsa.pem", &(fixture("ed25519.pem") + &fixture("rsa.pem")));
        assert!(image.findings(&CHECK).is_empty());
    }
}
