//! Sources that not everybody can read.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_machine::places::sources::defaults;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::directory::Directory;
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "not-readable",
    title: "trusted certificates that only some users can read",
    severity: Severity::Error,
    explanation: "\
        Certificates are no secret, and each program reads them with its own rights. If the bundle, a file of the \
        hashed directory or a directory above them is closed to others, verification works in root's programs and \
        fails in those of all other users, often without a reason: OpenSSL's default paths skip files that can't be \
        opened.\n\n\
        This happens with a umask such as 077, or when a file is copied into an image with its mode. The check looks \
        at the permissions for others, not at access control lists.",
    run,
};

/// Closed paths, each with its mode and the sources that it blocks.
type Closed = BTreeMap<PathBuf, (u32, BTreeSet<PathBuf>)>;

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let mut closed = Closed::new();
    let mut of_directories = Vec::new();
    for candidate in defaults(machine.libcryptos, machine.root) {
        add(machine, &mut closed, candidate.source.path());
    }
    let sources = machine.sources_for(outcome);
    for directory in &sources.directories {
        of_directories.extend(linked(machine, &mut closed, directory));
    }
    for (path, (mode, behind)) in closed {
        let paths = behind.iter().filter(|other| **other != path);
        let facts = paths.map(|other| format!("it is on the path to {}", other.display()));
        outcome.found(finding(&path, format!("is closed to other users (mode {mode:03o})"), facts, &path));
    }
    outcome.findings.extend(of_directories);
}

fn add(machine: &Machine<'_>, closed: &mut Closed, path: &Path) {
    if let Some((step, mode)) = machine.shuts_out(path) {
        closed.entry(step).or_insert((mode, BTreeSet::new())).1.insert(path.to_owned());
    }
}

/// The files that hash links lead to. Each directory on the path is checked only once.
fn linked(machine: &Machine<'_>, closed: &mut Closed, directory: &Directory) -> Option<Finding> {
    let mut parents = BTreeSet::new();
    let mut files = BTreeMap::new();
    for item in directory.reached() {
        let real = machine.real(&item.path);
        let Some(parent) = real.parent() else { continue };
        if parents.insert(parent.to_owned()) {
            add(machine, closed, parent);
        }
        match machine.look(&real) {
            Ok(Target::File(metadata)) if metadata.mode() & 0o004 == 0 => files.insert(real, metadata.mode() & 0o777),
            _ => None,
        };
    }
    let (first, _) = files.first_key_value()?;
    let what = match files.len() {
        1 => String::from("a hash link leads to a file that is closed to other users"),
        count => format!("hash links lead to {count} files that are closed to other users"),
    };
    let facts = files.iter().map(|(path, mode)| format!("{} has mode {mode:03o}", path.display()));
    Some(finding(&directory.real, what, facts, first))
}

fn finding(path: &Path, what: String, facts: impl Iterator<Item = String>, first: &Path) -> Finding {
    Finding::new(Severity::Error, path, what)
        .facts(facts)
        .reason(
            "programs of users who are neither its owner nor in its group lack these certificates, and refuse \
                 servers that root's programs accept",
        )
        .remedy(format!("let everybody read it, since certificates are not secret: chmod a+rX {}", first.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    fn close(image: &Image, inside: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(image.path(inside), PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_bundle_for_root_alone() {
        let image = Image::healthy();
        image.link_default_file();
        close(&image, "etc/ssl/certs/ca-certificates.crt", 0o600);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/ssl/certs/ca-certificates.crt")));
        assert_eq!(finding.what, "is closed to other users (mode 600)");
        assert_eq!(finding.facts.shown, ["it is on the path to /usr/lib/ssl/cert.pem"]);
    }

    #[test]
    fn a_directory_above() {
        let image = Image::healthy();
        close(&image, "etc/ssl", 0o750);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.remedy, "let everybody read it, since certificates are not secret: chmod a+rX /etc/ssl");
        close(&image, "etc/ssl", 0o755);
        close(&image, "usr/share/ca-certificates", 0o700);
        assert_eq!(image.finding(&CHECK).path.as_deref(), Some(Path::new("/usr/share/ca-certificates")));
    }

    #[test]
    fn files_of_the_directory() {
        let image = Image::healthy();
        // No hash link leads to it, as with a server's key.
        image.write("etc/ssl/certs/own.pem", "");
        close(&image, "etc/ssl/certs/own.pem", 0o600);
        assert!(image.findings(&CHECK).is_empty());
        close(&image, "usr/share/ca-certificates/rsa.pem", 0o640);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/ssl/certs")));
        assert_eq!(finding.facts.shown, ["/usr/share/ca-certificates/rsa.pem has mode 640"]);
        close(&image, "usr/share/ca-certificates/p384.pem", 0o600);
        assert_eq!(image.finding(&CHECK).what, "hash links lead to 2 files that are closed to other users");
    }
}
