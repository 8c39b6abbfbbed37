//! `cert.pem` beside the hashed directory: OpenSSL reads the one for each context, and has the other.

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "double-load",
    title: "OpenSSL reads a whole bundle for each context, and has the hashed directory too",
    severity: Severity::Warning,
    explanation: "OpenSSL's default paths are a file, cert.pem, and a directory of files named by subject hash, certs. \
        X509_STORE_set_default_paths (and SSL_CTX_set_default_verify_paths, Ruby's set_default_paths, Python's create_default_context) \
        parses every certificate of the file, each time it is called, if the file exists; of the directory it reads nothing before a \
        verification asks for one subject. Where both hold the same certificates, the file adds only cost.\n\nDebian and Ubuntu have \
        this state since their package openssl or ca-certificates links cert.pem to the bundle. It is no fault of the machine's \
        administrator.\n\nThe cost is that of loading the file into a fresh store with this machine's libcrypto, without Windlass.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources();
    sources.tell_unseen(outcome);
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
        let whose = &pair.whose;
        outcome.found(
            Finding::new(Severity::Warning, &pair.file, format!("{whose} reads this file for each context, and has the directory too"))
                .facts(facts)
                .reason("programs that use the default paths parse the file anew for each TLS context, though the directory alone would do")
                .remedy(
                    "let Windlass serve it: `windlass run -- PROGRAM` for one program, `windlass install --service NAME` for a \
                     service, `windlass install --machine` for all; removing the link \
                     instead breaks programs that name the file, and the next update of the package may bring it back",
                )
                .cost(machine.measure.load_file(&bundle.file)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, assert_silent};

    #[test]
    fn a_healthy_machine_is_silent() {
        assert_silent(&CHECK);
    }

    #[test]
    fn both_with_the_same_certificates() {
        let image = Image::healthy();
        image.link_default_file();
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/usr/lib/ssl/cert.pem".as_ref()));
        assert_eq!(finding.facts.shown[0], "2 of its 2 certificates are in /usr/lib/ssl/certs as well");
        assert_eq!(finding.facts.shown[1], "it leads to /etc/ssl/certs/ca-certificates.crt");
    }

    #[test]
    fn a_file_alone_is_no_double_load() {
        let image = Image::empty();
        image.bundle(&["rsa.pem"]);
        image.link_default_file();
        assert!(image.findings(&CHECK).is_empty());
    }
}
