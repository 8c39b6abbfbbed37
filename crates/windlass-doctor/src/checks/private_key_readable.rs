//! Private keys beside trusted certificates, readable by everybody.

use std::path::Path;

use crate::bundle::Contents;
use crate::check::{Check, Finding, Outcome, Severity};
use crate::directory::Leads;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "private-key-readable",
    title: "a private key that every user can read, in a source of trust",
    severity: Severity::Error,
    explanation: "\
        Everybody can read a bundle or a hashed directory, and therefore a private key in it. Whoever reads the key \
        can impersonate the server that it belongs to or, if it belongs to a trusted CA, any server.\n\n\
        This happens when a PEM file that holds a certificate with its key is copied there. The check looks for \
        blocks whose label ends in PRIVATE KEY, in each bundle and in each file of a hashed directory. Files that \
        others can't read are ignored (see not-readable), and keys that can't be reached because of a directory \
        above them.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for bundle in &sources.bundles {
        outcome.findings.extend(finding(machine, &bundle.real, &bundle.contents));
    }
    let mut told: Vec<_> = sources.bundles.iter().map(|bundle| bundle.real.clone()).collect();
    for item in sources.directories.iter().flat_map(|directory| &directory.items) {
        let Leads::To(file) = &item.leads else { continue };
        // Several names lead to one file.
        let real = machine.real(&item.path);
        if !file.contents.keys.is_empty() && !told.contains(&real) {
            outcome.findings.extend(finding(machine, &real, &file.contents));
            told.push(real);
        }
    }
}

fn finding(machine: &Machine<'_>, path: &Path, contents: &Contents) -> Option<Finding> {
    let (line, _) = contents.keys.first()?;
    if machine.shuts_out(path).is_some() {
        return None;
    }
    let what = match contents.keys.len() {
        1 => String::from("every user can read the private key in this file"),
        count => format!("every user can read the {count} private keys in this file"),
    };
    let facts = contents.keys.iter().map(|(line, label)| format!("line {line}: {label}"));
    Some(
        Finding::new(Severity::Error, path, what)
            .at_line(Some(*line))
            .about(contents.keys.iter().map(|(_, label)| label.clone()))
            .facts(facts)
            .reason("whoever has the key can impersonate its server, or any server if it belongs to a trusted CA")
            .remedy(
                "consider the key compromised: have its certificate revoked, and create a new one; keep only \
                 certificates in sources of trust, and the key in a file with mode 600",
            ),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::{Image, fixture};

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

    fn close(image: &Image, inside: &str, mode: u32) {
        std::fs::set_permissions(image.path(inside), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn in_a_bundle() {
        let image = Image::healthy();
        let bundle = "etc/ssl/certs/ca-certificates.crt";
        let rsa = fixture("rsa.pem");
        image.write(bundle, &(rsa.clone() + KEY));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.line, Some(rsa.lines().count() as u64 + 1));
        assert_eq!(finding.facts.shown[0], format!("line {}: PRIVATE KEY", rsa.lines().count() + 1));
        close(&image, bundle, 0o640);
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn in_a_directory_once_for_all_names_of_the_file() {
        let image = Image::healthy();
        let encrypted = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE");
        image.write("usr/share/ca-certificates/p384.pem", &(fixture("p384.pem") + &encrypted));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/usr/share/ca-certificates/p384.pem")));
        close(&image, "usr/share/ca-certificates", 0o700);
        assert!(image.findings(&CHECK).is_empty(), "nobody else gets there");
        close(&image, "usr/share/ca-certificates", 0o755);
    }
}
