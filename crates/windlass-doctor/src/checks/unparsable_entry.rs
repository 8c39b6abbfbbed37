//! Files of a hashed directory that OpenSSL can't read.

use windlass_machine::places::hash_name::HashName;

use super::warn_of_directories;
use crate::check::{Check, Outcome, Severity};
use crate::directory::{Item, Leads};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "unparsable-entry",
    title: "hash links to files that are not PEM certificates",
    severity: Severity::Warning,
    explanation: "\
        OpenSSL expects PEM certificates in the files that it finds by hash. A file that is empty, damaged, in DER \
        or a key gives no certificate, and leaves errors that show up in unrelated messages; OpenSSL 3.5 then \
        ignores the higher numbers of the same hash.\n\n\
        In a hashed directory certificates are loaded one by one: certificates before a bad block of a file are \
        trusted. In a bundle the bad block is worse, see bundle-dropped. CRLs (5ad8a5d6.r0) are not examined.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    warn_of_directories(
        machine,
        outcome,
        |directory| directory.items.iter().filter_map(|item| unparsable(item, item.name?)).collect(),
        [
            "hash link leads to a file that is not a PEM certificate",
            "hash links lead to files that are not PEM certificates",
        ],
        "the intended certificate is not trusted",
        |_| {
            String::from(
                "replace the file with the certificate in PEM (from DER: openssl x509 -inform DER -in FILE -out \
                 FILE.pem), or remove the link",
            )
        },
    );
}

fn unparsable(item: &Item, name: HashName) -> Option<String> {
    if name.is_crl {
        return None;
    }
    let file = match &item.leads {
        Leads::To(file) => file,
        // Reported by another check, or as unexamined.
        Leads::Nowhere | Leads::Elsewhere => return None,
    };
    match file.contents.bad.first() {
        Some(bad) => Some(format!("{}, line {}: {}", item.name(), bad.line, bad.why)),
        None if file.contents.certificates.is_empty() => Some(format!("{}: no certificate in it", item.name())),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture, hash};

    #[test]
    fn empty_and_damaged_files() {
        let image = Image::healthy();
        image.write("etc/ssl/certs/01234567.0", "");
        image.write("usr/share/ca-certificates/rsa.pem", &fixture("rsa.pem").replacen("MII", "M?I", 1));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.facts.shown[0], "01234567.0: no certificate in it");
        assert_eq!(finding.facts.shown[1], format!("{}.0, line 1: the block is not base64 (line 2)", hash("rsa.pem")));
    }
}
