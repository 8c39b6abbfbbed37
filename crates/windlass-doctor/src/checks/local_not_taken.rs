//! Certificates that an administrator added, but that are not trusted.

use std::path::{Path, PathBuf};

use crate::bundle::Contents;
use crate::certificate::SourceCertificate;
use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "local-not-taken",
    title: "certificates in /usr/local/share/ca-certificates that are not trusted",
    severity: Severity::Warning,
    explanation: "\
        On Debian and Ubuntu an administrator adds a CA by putting it into /usr/local/share/ca-certificates, and \
        running update-ca-certificates, which adds it to the bundle and the hashed directory. It takes only files \
        whose names end in .crt, in lower case, in this directory and those below it. It silently ignores files \
        named .pem or .cer.\n\n\
        The files must be PEM: one in DER is copied into the bundle as it is, where no program finds it. The check \
        compares files that hold a certificate with the bundle /etc/ssl/certs/ca-certificates.crt.",
    run,
};

const DIRECTORY: &str = "/usr/local/share/ca-certificates";
const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
/// In bytes. A file there holds one certificate, or a few.
const MAX_FILE: u64 = 4 << 20;
/// update-ca-certificates has no limit on depth; real directories are not deeper than this.
const DEPTH: usize = 8;
const MAX_FILES: usize = 2000;

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    // A file that could not be read may hold all of them.
    let trusted = match (machine.look(Path::new(BUNDLE)), sources.bundle(machine, Path::new(BUNDLE))) {
        (_, Some(bundle)) => bundle.contents.fingerprints(),
        (Ok(Target::Nothing | Target::Dangling), None) => Default::default(),
        (_, None) => return,
    };
    let mut files = Vec::new();
    add_files(machine, Path::new(DIRECTORY), DEPTH, &mut files, outcome);
    let (mut misnamed, mut in_der, mut not_taken) = (Vec::new(), Vec::new(), Vec::new());
    for path in files {
        let Some(content) = outcome.seen(machine.read(&path, MAX_FILE)) else { continue };
        let label = |certificate: &SourceCertificate| format!("{}: {}", path.display(), certificate.label());
        let is_taken = |certificate: &SourceCertificate| trusted.contains(&certificate.fingerprint);
        let contents = Contents::of(&content.bytes, None);
        let missing: Vec<_> =
            contents.certificates.iter().map(|placed| &placed.certificate).filter(|one| !is_taken(one)).collect();
        let is_read = path.extension().is_some_and(|extension| extension == "crt");
        if contents.certificates.is_empty() {
            let der = SourceCertificate::of(content.bytes);
            if der.says.is_some() && !is_taken(&der) {
                in_der.push(label(&der));
            }
        } else if is_read {
            not_taken.extend(missing.into_iter().map(label));
        } else {
            misnamed.extend(missing.into_iter().map(label));
        }
    }
    let all = [
        (
            misnamed,
            "not trusted, as the names of their files do not end in .crt",
            "rename the files to NAME.crt, then run update-ca-certificates",
        ),
        (
            in_der,
            "not trusted, as they are in DER",
            "convert them to PEM (openssl x509 -inform DER -in FILE -out NAME.crt), then run update-ca-certificates",
        ),
        (not_taken, "not trusted yet", "run update-ca-certificates"),
    ];
    for (facts, why, remedy) in all {
        if facts.is_empty() {
            continue;
        }
        let what = match facts.len() {
            1 => format!(
                "1 certificate is {}",
                why.replace("the names of their files do", "the name of its file does").replace("they are", "it is")
            ),
            count => format!("{count} certificates are {why}"),
        };
        outcome.found(
            Finding::new(Severity::Warning, DIRECTORY, what)
                .about(facts.iter().cloned())
                .facts(facts)
                .reason("programs refuse servers with certificates of this CA, which was meant to be added")
                .remedy(remedy),
        );
    }
}

fn add_files(machine: &Machine<'_>, directory: &Path, depth: usize, files: &mut Vec<PathBuf>, outcome: &mut Outcome) {
    if !matches!(machine.look(directory), Ok(Target::Directory)) {
        return;
    }
    let Some((entries, more)) = outcome.seen(machine.entries(directory)) else { return };
    more.into_iter().for_each(|unseen| outcome.not_seen(unseen));
    for entry in entries {
        // Follows links, like `find -L`.
        match outcome.seen(machine.look(&entry.path)) {
            Some(Target::File(_)) if files.len() < MAX_FILES => files.push(entry.path),
            Some(Target::Directory) if depth > 1 => add_files(machine, &entry.path, depth - 1, files, outcome),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture};

    fn put(image: &Image, name: &str, certificate: &str) {
        image.write(&format!("usr/local/share/ca-certificates/{name}"), &fixture(certificate));
    }

    #[test]
    fn what_was_taken_up_is_silent() {
        let image = Image::healthy();
        put(&image, "corp/own.crt", "rsa.pem");
        put(&image, "copy.pem", "rsa.pem");
        image.write("usr/local/share/ca-certificates/README", "nothing of interest\n");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn what_was_not_taken_up_yet() {
        let image = Image::healthy();
        put(&image, "corp/own.crt", "ed25519.pem");
        let finding = image.finding(&CHECK);
        assert_eq!(
            (&*finding.what, &*finding.remedy),
            ("1 certificate is not trusted yet", "run update-ca-certificates")
        );
        let fact = &finding.facts.shown[0];
        assert!(fact.starts_with("/usr/local/share/ca-certificates/corp/own.crt: Unit Without Common Name"), "{fact}");
    }

    #[test]
    fn names_that_are_not_read_and_forms_that_are_not_understood() {
        let image = Image::healthy();
        put(&image, "own.pem", "ed25519.pem");
        put(&image, "OWN.CRT", "ed25519.pem");
        let pem = fixture("ed25519.pem");
        let der = crate::pem::blocks(pem.as_bytes()).remove(0).content.unwrap();
        std::fs::write(image.path("usr/local/share/ca-certificates/der.crt"), der).unwrap();
        let whats: Vec<_> = image.findings(&CHECK).into_iter().map(|finding| finding.what).collect();
        assert_eq!(
            whats,
            [
                "2 certificates are not trusted, as the names of their files do not end in .crt",
                "1 certificate is not trusted, as it is in DER"
            ]
        );
    }

    #[test]
    fn nothing_is_said_of_a_bundle_that_was_not_seen() {
        let image = Image::healthy();
        put(&image, "own.crt", "ed25519.pem");
        std::fs::File::create(image.path("etc/ssl/certs/ca-certificates.crt")).unwrap().set_len(1 << 30).unwrap();
        assert!(image.outcome(&CHECK).findings.is_empty());
    }
}
