//! Small machines with faults, for the tests of the checks.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_libcrypto::Libcrypto;

use super::bundle::Contents;
use super::check::{Check, Finding, Outcome};
use super::machine::Machine;

/// The certificates of a healthy machine: two valid CAs.
pub const HEALTHY: [&str; 2] = ["rsa.pem", "p384.pem"];

/// A certificate of tests/fixtures.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    std::fs::read_to_string(path).expect("fixture")
}

/// The same as a TRUSTED CERTIFICATE, with these settings of `openssl x509`.
pub fn trusted(name: &str, settings: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    let mut command = std::process::Command::new("openssl");
    let output = command.args(["x509", "-trustout", "-in"]).arg(path).args(settings).output().expect("openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("PEM")
}

/// The subject hash of a fixture, as a hashed directory names it.
pub fn hash(name: &str) -> String {
    let contents = Contents::of(fixture(name).as_bytes(), None);
    let says = contents.certificates[0].certificate.says.clone().expect("a certificate");
    format!("{:08x}", says.subject_hash().expect("a usual name").0)
}

/// A root directory laid out like Debian's.
pub struct Image {
    directory: TempDir,
}

impl Image {
    /// An entirely empty root directory.
    pub fn bare() -> Image {
        Image { directory: tempfile::tempdir().expect("a directory") }
    }

    /// Only directories.
    pub fn empty() -> Image {
        let image = Image::bare();
        for directory in ["etc/ssl/certs", "usr/lib/ssl", "usr/share/ca-certificates"] {
            std::fs::create_dir_all(image.path(directory)).expect("a directory");
        }
        image.write("usr/lib/ssl/openssl.cnf", "");
        image.link("usr/lib/ssl/certs", "/etc/ssl/certs");
        image
    }

    /// A hashed directory and a bundle with the same certificates, and no link that makes OpenSSL read both.
    pub fn healthy() -> Image {
        let image = Image::empty();
        for name in HEALTHY {
            image.add(name);
        }
        image.bundle(&HEALTHY);
        image
    }

    /// Writes the bundle.
    pub fn bundle(&self, names: &[&str]) {
        let text: String = names.iter().map(|name| fixture(name)).collect();
        self.write("etc/ssl/certs/ca-certificates.crt", &text);
    }

    /// Adds a certificate to the directory as Debian does: a file elsewhere, a link to it, and a link by hash to that.
    pub fn add(&self, name: &str) {
        let base = name.rsplit('/').next().unwrap_or(name);
        let file = format!("usr/share/ca-certificates/{base}");
        self.write(&file, &fixture(name));
        self.link(&format!("etc/ssl/certs/{base}"), &format!("/{file}"));
        let number = (0..)
            .find(|number| self.path(&format!("etc/ssl/certs/{}.{number}", hash(name))).symlink_metadata().is_err());
        self.link(&format!("etc/ssl/certs/{}.{}", hash(name), number.expect("a number")), base);
    }

    /// Makes OpenSSL read the bundle.
    pub fn link_default_file(&self) {
        self.link("usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt");
    }

    /// Its root directory.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The path by which this process reaches a path of the image.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.directory.path().join(inside)
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, text).expect("a file");
    }

    /// Makes a link. Its target is a path in the image.
    pub fn link(&self, inside: &str, target: &str) {
        symlink(target, self.path(inside)).expect("a link");
    }

    /// Removes a file or a link.
    pub fn remove(&self, inside: &str) {
        std::fs::remove_file(self.path(inside)).expect("a file");
    }

    /// The outcome of a check here, without measured costs.
    pub fn outcome(&self, check: &Check) -> Outcome {
        let libcryptos = Libcrypto::all();
        let machine = Machine::new(Some(self.directory.path()), &libcryptos, false);
        let mut outcome = Outcome::default();
        (check.run)(&machine, &mut outcome);
        let within = |finding: &Finding| {
            finding.severity <= check.severity && !finding.reason.is_empty() && !finding.remedy.is_empty()
        };
        assert!(outcome.findings.iter().all(within), "{:?}", outcome.findings);
        outcome
    }

    /// The findings of a check that could look at everything.
    pub fn findings(&self, check: &Check) -> Vec<Finding> {
        let outcome = self.outcome(check);
        assert_eq!(outcome.unseen.shown(), []);
        outcome.findings
    }

    /// The one finding of a check.
    pub fn finding(&self, check: &Check) -> Finding {
        let mut findings = self.findings(check);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }
}
