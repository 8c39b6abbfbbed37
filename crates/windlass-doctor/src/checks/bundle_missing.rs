//! A missing bundle that programs read by default.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_machine::places::known_paths::{DEBIAN_BUNDLE, DEBIAN_CONFIGURATION};

use crate::check::{Check, Finding, Outcome, Severity};
use crate::directory::Directory;
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "bundle-missing",
    title: "a bundle that programs read by default is missing, beside a hashed directory",
    severity: Severity::Error,
    explanation: "\
        OpenSSL may find enough in its hashed directory. But programs with GnuTLS on Debian, and all programs that \
        name the bundle themselves, read only that file, and curl fails with error 77 if it is missing.\n\n\
        It is reported if OpenSSL's cert.pem is a dangling link, and on a machine with /etc/ca-certificates.conf \
        (Debian, Alpine) but without the file /etc/ssl/certs/ca-certificates.crt. If there is no certificate at all, \
        no-default-source reports it instead.",
    run,
};

/// The bundle that update-ca-certificates of Debian and Alpine writes, and its configuration.
const DEBIAN: [&str; 2] = [DEBIAN_BUNDLE, DEBIAN_CONFIGURATION];

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    if sources.directories.iter().flat_map(Directory::found).next().is_none() {
        return;
    }
    // Each missing file, with the links to it.
    let mut missing: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for pair in &sources.pairs {
        if let Some(target) = machine.root.target(&pair.file).filter(|_| !is_file(machine, &pair.file)) {
            missing.entry(target).or_default().push(format!("{} is a link to it", pair.file.display()));
        }
    }
    let [bundle, list] = DEBIAN.map(Path::new);
    if is_file(machine, list) && !is_file(machine, bundle) {
        missing.entry(bundle.to_owned()).or_default();
    }
    for (path, facts) in missing {
        let what = match machine.look(&path) {
            Ok(Target::Directory) => "is a directory, where programs look for a bundle",
            _ => "programs look for a bundle here, but it is missing",
        };
        outcome.found(
            Finding::new(Severity::Error, path, what)
                .facts(facts)
                .reason(
                    "curl fails without it (error 77), and programs that read only this file, for example those \
                         with GnuTLS on Debian, refuse every server",
                )
                .remedy(
                    "generate it: update-ca-certificates (Fedora: update-ca-trust); if there is a directory of \
                         that name, remove it first",
                ),
        );
    }
}

/// Whether there is a file. A path that can't be examined counts as one.
fn is_file(machine: &Machine<'_>, path: &Path) -> bool {
    matches!(machine.look(path), Ok(Target::File(_)) | Err(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn a_bundle_that_is_there_is_silent() {
        let image = Image::healthy();
        image.link_default_file();
        image.write("etc/ca-certificates.conf", "");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn a_bundle_that_is_gone() {
        let image = Image::healthy();
        image.remove("etc/ssl/certs/ca-certificates.crt");
        assert!(image.findings(&CHECK).is_empty(), "nothing says that there should be one");
        image.write("etc/ca-certificates.conf", "");
        assert_eq!(image.finding(&CHECK).facts.shown.len(), 0);
        image.link_default_file();
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/ssl/certs/ca-certificates.crt")));
        assert_eq!(finding.facts.shown, ["/usr/lib/ssl/cert.pem is a link to it"]);
        image.remove("etc/ca-certificates.conf");
        assert_eq!(image.findings(&CHECK).len(), 1, "the link is enough");
        std::fs::create_dir(image.path("etc/ssl/certs/ca-certificates.crt")).unwrap();
        assert!(image.finding(&CHECK).what.starts_with("is a directory, "));
    }

    #[test]
    fn where_there_is_nothing_at_all_another_check_tells() {
        let image = Image::empty();
        image.link_default_file();
        image.write("etc/ca-certificates.conf", "");
        assert!(image.findings(&CHECK).is_empty());
    }
}
