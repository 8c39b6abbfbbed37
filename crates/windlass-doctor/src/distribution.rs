//! The distribution's own certificates: those of its package ca-certificates.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::bundle::Contents;
use super::certificate::Fingerprint;
use super::machine::{MAX_FILE, Machine, Target};

/// The directories of the package: Debian, Ubuntu, Alpine and Arch; Fedora; openSUSE.
const PLACES: [&str; 3] = ["/usr/share/ca-certificates", "/usr/share/pki/ca-trust-source", "/usr/share/pki/trust"];
/// dpkg's list for the package. On Debian, administrators may put certificates beside those of the package.
const LIST: &str = "/var/lib/dpkg/info/ca-certificates.list";
/// Directories below a place: mozilla/ on Debian, anchors/ on openSUSE.
const DEPTH: usize = 2;
/// The most files read in all places. Mozilla's list has about 150 certificates.
const MAX_FILES: usize = 5000;

/// The certificates of the package, trusted or not. A certificate that can't be read does not count as the
/// distribution's.
pub fn certificates(machine: &Machine<'_>) -> BTreeSet<Fingerprint> {
    let list = machine.read(Path::new(LIST), MAX_FILE).ok();
    let listed: Option<BTreeSet<&[u8]>> = list.as_ref().map(|list| list.bytes.split(|byte| *byte == b'\n').collect());
    let mut files = Vec::new();
    PLACES.iter().for_each(|place| add_files(machine, Path::new(place), DEPTH, &mut files));
    let is_of_package =
        |file: &&PathBuf| listed.as_ref().is_none_or(|listed| listed.contains(file.as_os_str().as_bytes()));
    let contents = files.iter().filter(is_of_package).filter_map(|file| machine.read(file, MAX_FILE).ok());
    // p11-kit's files hold PEM blocks too.
    contents
        .flat_map(|content| Contents::of(&content.bytes, None).certificates)
        .map(|placed| placed.certificate.fingerprint)
        .collect()
}

fn add_files(machine: &Machine<'_>, directory: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok((entries, _)) = machine.entries(directory) else { return };
    for entry in entries.into_iter().filter(|entry| !entry.is_link) {
        match machine.look(&entry.path) {
            Ok(Target::File(_)) if files.len() < MAX_FILES => files.push(entry.path),
            Ok(Target::Directory) if depth > 1 => add_files(machine, &entry.path, depth - 1, files),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture};

    #[test]
    fn what_dpkg_does_not_list_is_somebody_elses() {
        let image = Image::bare();
        image.write("usr/share/ca-certificates/mozilla/rsa.crt", &fixture("rsa.pem"));
        image.write("usr/share/ca-certificates/corp/p384.crt", &fixture("p384.pem"));
        let count = || certificates(&Machine::new(Some(image.root()), &[], false)).len();
        assert_eq!(count(), 2, "without dpkg the place decides");
        image.write("var/lib/dpkg/info/ca-certificates.list", "/.\n/usr/share/ca-certificates/mozilla/rsa.crt\n");
        assert_eq!(count(), 1);
    }

    #[test]
    fn fedora_keeps_all_in_one_file_of_p11_kit() {
        let image = Image::bare();
        let object = |name| format!("[p11-kit-object-v1]\nlabel: \"x\"\ntrusted: true\n{}\n", fixture(name));
        let text = object("rsa.pem") + &object("p384.pem");
        image.write("usr/share/pki/ca-trust-source/ca-bundle.trust.p11-kit", &text);
        assert_eq!(certificates(&Machine::new(Some(image.root()), &[], false)).len(), 2);
    }
}
