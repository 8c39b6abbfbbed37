//! An OpenSSL whose default paths hold no certificate.

use std::path::Path;

use windlass_machine::places::known_paths::USUAL_DIRECTORIES;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "no-default-source",
    title: "OpenSSL's default paths lead to no certificate",
    severity: Severity::Error,
    explanation: "\
        OpenSSL looks for trusted certificates in the file cert.pem and in the directory certs of its OPENSSLDIR, \
        both built in (`openssl version -d`). If neither gives any, every program that relies on the defaults \
        refuses every server with \"unable to get local issuer certificate\".\n\n\
        This is usual in container images without the package ca-certificates, and with an OpenSSL that was built \
        from source with another --openssldir. In an image, whose libcrypto can't be run, the usual directories are \
        examined.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    // A path that can't be examined may hold certificates.
    if outcome.unseen.count() > 0 {
        return;
    }
    if let Some(libcrypto) = &sources.lonely {
        let none = format!("there is neither cert.pem nor certs in any of {}", USUAL_DIRECTORIES.join(", "));
        outcome.found(finding(libcrypto, "OpenSSL").facts([none]));
    }
    for pair in &sources.pairs {
        let in_file = sources.bundle(machine, &pair.file).map_or(0, |bundle| bundle.contents.fingerprints().len());
        let in_directory = sources.directory(machine, &pair.directory).map_or(0, |directory| directory.found().count());
        if in_file + in_directory > 0 {
            continue;
        }
        let state = |path: &Path| {
            let state = match machine.look(path) {
                Ok(Target::Nothing) => "does not exist",
                Ok(Target::Dangling) => "is a dangling link",
                Ok(Target::File(_)) => "holds no certificate",
                Ok(Target::Directory) => "has no certificate named by hash",
                Ok(Target::Other) | Err(_) => "can't be used",
            };
            format!("{} {state}", path.display())
        };
        outcome.found(finding(&pair.file, &pair.whose).facts([state(&pair.file), state(&pair.directory)]));
    }
}

fn finding(path: &Path, whose: &str) -> Finding {
    Finding::new(Severity::Error, path, format!("{whose} has no trusted certificate by default"))
        .reason("programs that rely on the defaults refuse every server")
        .remedy(
            "install the package ca-certificates; with your own build of OpenSSL, link the two names to the system's",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn the_default_file_is_enough() {
        let image = Image::empty();
        image.bundle(&["rsa.pem"]);
        image.link_default_file();
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn nothing_there() {
        let image = Image::empty();
        image.link_default_file();
        let finding = image.finding(&CHECK);
        let facts = ["/usr/lib/ssl/cert.pem is a dangling link", "/usr/lib/ssl/certs has no certificate named by hash"];
        assert_eq!(finding.facts.shown, facts);
    }

    #[test]
    fn not_even_a_directory() {
        let image = Image::bare();
        image.write("usr/lib/x86_64-linux-gnu/libcrypto.so.3", "");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some("/usr/lib/x86_64-linux-gnu/libcrypto.so.3".as_ref()));
        assert!(finding.facts.shown[0].contains(" in any of /usr/lib/ssl, /etc/ssl, "), "{:?}", finding.facts);
    }

    #[test]
    fn an_image_with_nothing_in_it_is_not_healthy() {
        let outcome = Image::bare().outcome(&CHECK);
        let unseen = outcome.unseen.shown();
        assert!(outcome.findings.is_empty() && unseen[0].why.starts_with("nothing was found to examine"), "{unseen:?}");
    }

    /// A source that does not exist is no source of this machine either.
    #[test]
    fn a_libcrypto_whose_openssldir_is_gone() {
        let mut libcryptos = windlass_libcrypto::Libcrypto::all();
        libcryptos.truncate(1);
        let image = Image::bare();
        let mut machine = Machine::new(Some(image.root()), &libcryptos, false);
        machine.asks_libcryptos = true;
        let mut outcome = Outcome::default();
        run(&machine, &mut outcome);
        assert_eq!(outcome.findings.len(), 1, "{outcome:?}");
        assert!(outcome.findings[0].facts.shown.iter().all(|fact| fact.ends_with(" does not exist")), "{outcome:?}");
    }
}
