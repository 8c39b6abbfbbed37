//! `cert.pem` beside the hashed directory: OpenSSL reads the file for each context, although it has the directory.

use std::path::Path;

use windlass::{Config, LoadError, Source, TrustCache};
use windlass_machine::anchors::line;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "double-load",
    title: "OpenSSL reads a whole bundle for each context, although it has the hashed directory",
    severity: Severity::Warning,
    explanation: "\
        OpenSSL's default paths are a file, cert.pem, and a directory of files named by subject hash, certs. \
        X509_STORE_set_default_paths (and SSL_CTX_set_default_verify_paths, Ruby's set_default_paths, Python's \
        create_default_context) parses every certificate of the file on each call, if the file exists; it reads \
        nothing from the directory before a verification asks for a subject. If both hold the same certificates, the \
        file only adds cost.\n\n\
        This is the default on Debian, Ubuntu, Fedora and Arch: a package links cert.pem to the bundle that the \
        distribution generates. It costs time but is not a fault, so it is a note. Any other file at this path was \
        put there locally, and is a warning.\n\n\
        The cost is that of loading the file into a fresh store with this machine's libcrypto, without Windlass.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for pair in &sources.pairs {
        let (Some(bundle), Some(directory)) =
            (sources.bundle(machine, &pair.file), sources.directory(machine, &pair.directory))
        else {
            continue;
        };
        let (in_file, in_directory) = (bundle.contents.fingerprints(), directory.fingerprints());
        let both = in_file.intersection(&in_directory).count();
        if both == 0 {
            continue;
        }
        let mut facts =
            vec![format!("{both} of its {} certificates are in {} as well", in_file.len(), pair.directory.display())];
        if machine.real(&pair.file) != pair.file {
            facts.push(format!("it leads to {}", machine.real(&pair.file).display()));
        }
        let left_to_openssl = refused(machine, &pair.file);
        let remedy = match &left_to_openssl {
            None => {
                "let Windlass serve it: `windlass run -- PROGRAM` for one program, `windlass install --service NAME` \
                 for a \
                 service, `windlass install --machine` for all; removing the link \
                 instead breaks programs that name the file, and the next update of the package may bring it back"
            }
            Some(_) => {
                "regenerate the file with plain CERTIFICATE blocks only (update-ca-certificates, update-ca-trust): \
                 Windlass does not serve it as it is"
            }
        };
        facts.extend(left_to_openssl.map(|why| format!("Windlass leaves it to OpenSSL: {why}")));
        let whose = &pair.whose;
        let severity = if is_as_shipped(&machine.real(&pair.file)) { Severity::Note } else { Severity::Warning };
        outcome.found(
            Finding::new(
                severity,
                &pair.file,
                format!(
                    "{whose} reads this file for each context, although it has \
                                                        the directory"
                ),
            )
            .facts(facts)
            .reason(
                "programs that use the default paths parse the file again for each TLS context, though the \
                         directory would suffice",
            )
            .remedy(remedy)
            .cost(machine.measure.load_file(&bundle.file)),
        );
    }
}

/// Why Windlass does not serve this file, by its own reader; None if it does.
fn refused(machine: &Machine<'_>, file: &Path) -> Option<String> {
    let reached = machine.reach(file).ok()?;
    match TrustCache::new(Config::default(), None).load(&Source::Cafile(reached)) {
        Err(LoadError::Unsupported { path, what }) => {
            let (line, fault) = line::of(&path, &what);
            Some(line.map(|line| format!("line {line}: ")).unwrap_or_default() + &fault)
        }
        // It was readable a moment ago.
        _ => None,
    }
}

/// The bundles that distributions generate, and link cert.pem to: Debian, Ubuntu and Alpine; Fedora; Arch; openSUSE.
const GENERATED: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
    "/var/lib/ca-certificates/ca-bundle.pem",
];

fn is_as_shipped(bundle: &Path) -> bool {
    GENERATED.iter().any(|generated| bundle == Path::new(generated))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture, trusted};

    #[test]
    fn both_with_the_same_certificates() {
        let image = Image::healthy();
        image.link_default_file();
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/usr/lib/ssl/cert.pem".as_ref()));
        assert_eq!(finding.facts.shown[0], "2 of its 2 certificates are in /usr/lib/ssl/certs as well");
        assert_eq!(finding.facts.shown[1], "it leads to /etc/ssl/certs/ca-certificates.crt");
        assert_eq!(finding.severity, Severity::Note, "so distributions ship it");
    }

    #[test]
    fn a_file_of_ones_own_is_a_warning() {
        let image = Image::healthy();
        image.write("usr/lib/ssl/cert.pem", &fixture("rsa.pem"));
        let finding = image.finding(&CHECK);
        assert_eq!((finding.severity, finding.facts.shown.len()), (Severity::Warning, 1));
    }

    #[test]
    fn what_windlass_does_not_serve_is_not_promised() {
        let image = Image::healthy();
        image.link_default_file();
        let serves = |finding: &Finding| finding.remedy.contains("let Windlass serve it");
        assert!(serves(&image.finding(&CHECK)));
        let crl = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let damage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let rsa = fixture("rsa.pem");
        let line = rsa.lines().count() + 1;
        for more in [crl, key, damage, &trusted("p384.pem", &["-addtrust", "serverAuth"])] {
            image.write("etc/ssl/certs/ca-certificates.crt", &(rsa.clone() + more));
            let finding = image.finding(&CHECK);
            let fact = finding.facts.shown.last().unwrap();
            assert!(!serves(&finding), "{more}: {finding:?}");
            assert!(fact.starts_with(&format!("Windlass leaves it to OpenSSL: line {line}: ")), "{fact}");
        }
    }

    #[test]
    fn a_file_alone_is_no_double_load() {
        let image = Image::empty();
        image.bundle(&["rsa.pem"]);
        image.link_default_file();
        assert!(image.findings(&CHECK).is_empty());
    }
}
