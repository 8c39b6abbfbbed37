//! Missing numbers among the names of one hash.

use windlass_machine::places::hash_name::HashName;

use super::warn_of_directories;
use crate::check::{Check, Outcome, Severity};
use crate::directory::Directory;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "hash-gap",
    title: "hash links after a missing number, which OpenSSL never reads",
    severity: Severity::Warning,
    explanation: "\
        OpenSSL asks a hashed directory for 5ad8a5d6.0, 5ad8a5d6.1 and so on, until one does not exist (by_dir.c). \
        It never finds names after a missing number: a certificate there is not trusted, a CRL (5ad8a5d6.r0) is \
        ignored.\n\n\
        This happens when a link is removed by hand. A link that is there but leads nowhere is no gap in the \
        numbers: see dangling-links.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    warn_of_directories(
        machine,
        outcome,
        behind_gaps,
        ["name that OpenSSL never reads", "names that OpenSSL never reads"],
        "OpenSSL stops at the first missing number: certificates after it are not trusted, and CRLs after it are \
         ignored",
        |directory| format!("renumber the links: openssl rehash {directory}"),
    );
}

fn behind_gaps(directory: &Directory) -> Vec<String> {
    let mut facts = Vec::new();
    for ((hash, is_crl), row) in directory.rows() {
        let gap = (0..).zip(&row).find(|(expected, (number, _))| expected != number).map(|(expected, _)| expected);
        let Some(gap) = gap else { continue };
        let missing = HashName { hash, is_crl, number: gap };
        for (_, item) in row.iter().filter(|(number, _)| *number > gap) {
            let label = item.certificates().first().map(|placed| format!(" ({})", placed.certificate.label()));
            facts.push(format!("{}{}: there is no {missing}", item.name(), label.unwrap_or_default()));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, hash};

    #[test]
    fn certificates_with_one_hash_are_numbered_without_a_gap() {
        let image = Image::healthy();
        image.add("twin.pem");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn a_name_behind_a_gap() {
        let image = Image::healthy();
        image.add("twin.pem");
        let hash = hash("rsa.pem");
        image.remove(&format!("etc/ssl/certs/{hash}.0"));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "1 name that OpenSSL never reads");
        let fact = &finding.facts.shown[0];
        assert!(
            fact.starts_with(&format!("{hash}.1 (Rsa Root")) && fact.ends_with(&format!("there is no {hash}.0")),
            "{fact}"
        );
    }

    #[test]
    fn revocation_lists_are_numbered_too() {
        let image = Image::healthy();
        image.write("etc/ssl/certs/01234567.r1", "");
        assert_eq!(image.finding(&CHECK).facts.shown, ["01234567.r1: there is no 01234567.r0"]);
    }
}
