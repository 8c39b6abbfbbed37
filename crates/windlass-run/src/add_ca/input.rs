//! Reading the certificates of `--add-ca`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass::RawName;
use windlass_machine::anchors::der::{is_der, pem};
use windlass_machine::anchors::name::{Name, hex};
use windlass_machine::{Failure, FailureKind};
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Version;

/// More than any collection of certificates needs; a device or a pipe may have no end.
const MAX_BYTES: u64 = 16 << 20;

/// All certificates to add.
#[derive(Debug, Default)]
pub struct Input {
    /// Each certificate once, in the order of the files.
    pub anchors: Vec<Anchor>,
    /// Warnings about certificates that may not be the intended ones, for display.
    pub warnings: Vec<String>,
}

/// One certificate to add.
#[derive(Debug)]
pub struct Anchor {
    /// The certificate, DER.
    pub der: Vec<u8>,
    /// Its subject as readable text.
    pub subject: Name,
    /// The file it was read from.
    pub file: PathBuf,
}

/// Reads all files. Anything other than certificates is ignored; a file without any certificate is an error.
pub fn read(files: &[PathBuf]) -> Result<Input, Failure> {
    let mut input = Input::default();
    for file in files {
        let bytes = bytes_of(file).map_err(|error| unusable(file, error).advise(EXPECTED))?;
        for der in certificates(file, &bytes)? {
            input.add(file, der)?;
        }
    }
    Ok(input)
}

impl Input {
    /// Puts the certificates of an outer run first.
    pub fn put_first(&mut self, mut outer: Input) {
        for anchor in std::mem::take(&mut self.anchors) {
            if outer.anchors.iter().all(|other| other.der != anchor.der) {
                outer.anchors.push(anchor);
            }
        }
        self.anchors = outer.anchors;
    }

    /// Each certificate as a block of PEM. The blocks hold nothing else from the files, above all no private key.
    pub fn blocks(&self) -> Vec<String> {
        self.anchors.iter().map(|anchor| pem(&anchor.der)).collect()
    }

    fn add(&mut self, file: &Path, der: Vec<u8>) -> Result<(), Failure> {
        let parsed = X509Certificate::from_der(&der);
        let Some(certificate) = parsed.ok().filter(|(rest, _)| rest.is_empty()).map(|(_, certificate)| certificate)
        else {
            return Err(unusable(file, "a certificate in it is damaged")
                .advise(format!("OpenSSL's view: openssl storeutl -noout -text {}", file.display())));
        };
        if self.anchors.iter().any(|known| known.der == der) {
            return Ok(());
        }
        let subject = RawName::from_der(certificate.subject().as_raw()).map(Name::of).unwrap_or_default();
        for fault in faults(&certificate) {
            self.warnings.push(format!("{}: {}: {fault}", file.display(), subject.short));
        }
        self.anchors.push(Anchor { subject, file: file.to_owned(), der });
        Ok(())
    }
}

impl Anchor {
    /// SHA-256 of the whole certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        hex(&Sha256::digest(&self.der))
    }
}

/// At most [`MAX_BYTES`] of a file, which may be a pipe (`<(command)` in a shell).
pub fn bytes_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "larger than 16 MiB"));
    }
    Ok(bytes)
}

const EXPECTED: &str = "--add-ca takes a file with the certificate of a CA, in PEM or DER";

fn certificates(file: &Path, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    if is_der(bytes) {
        return Ok(vec![bytes.to_vec()]);
    }
    let mut found = Vec::new();
    let mut others = Vec::new();
    for block in Pem::iter_from_buffer(bytes) {
        let Ok(block) = block else {
            return Err(unusable(file, "a PEM block in it is damaged").advise(EXPECTED));
        };
        match block.label.as_str() {
            // OpenSSL calls the second label PEM_STRING_X509_OLD.
            "CERTIFICATE" | "X509 CERTIFICATE" => found.push(block.contents),
            "TRUSTED CERTIFICATE" => {
                let why = "it holds a TRUSTED CERTIFICATE, whose settings only OpenSSL knows";
                let plain = format!("make it a plain one: openssl x509 -in {} -out ca.pem", file.display());
                return Err(unusable(file, why).advise(plain));
            }
            other => others.push(other.to_owned()),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let has = |what: &str| others.iter().any(|label| label.ends_with(what));
    let why = if has("PRIVATE KEY") {
        "it holds a private key, and no certificate"
    } else if has("CERTIFICATE REQUEST") {
        "it holds a request for a certificate, and no certificate"
    } else {
        "it holds no certificate"
    };
    Err(unusable(file, why).advise(EXPECTED))
}

/// The reasons why libraries may not accept a certificate as an anchor.
fn faults(certificate: &X509Certificate<'_>) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let constraints = certificate.basic_constraints().ok().flatten();
    // RFC 5280, 4.2.1.9 requires version 3; libraries still accept a self-signed certificate of version 1 as a CA.
    let is_old_root = certificate.version() == X509Version::V1 && certificate.subject() == certificate.issuer();
    if !constraints.is_some_and(|constraints| constraints.value.ca) && !is_old_root {
        faults.push(
            "not the certificate of a CA (no basicConstraints CA:TRUE); some libraries trust it for itself alone, \
             others refuse it",
        );
    } else if certificate.key_usage().ok().flatten().is_some_and(|usage| !usage.value.key_cert_sign()) {
        faults.push("its key may not sign certificates (keyUsage without keyCertSign)");
    }
    if !certificate.validity().is_valid() {
        let now = x509_parser::time::ASN1Time::now();
        let expired = certificate.validity().not_after < now;
        faults.push(if expired { "it has expired" } else { "it is not valid yet" });
    }
    faults
}

fn unusable(file: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::RunFailed, format!("cannot use {} for --add-ca", file.display()), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
    }

    #[test]
    fn a_certificate_comes_out_as_it_went_in() {
        let input = read(&[fixture("rsa.pem"), fixture("rsa.pem"), fixture("p384.pem")]).unwrap();
        assert_eq!(input.anchors.len(), 2, "the same certificate twice is one");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), input.blocks().concat()).unwrap();
        let again = read(&[file.path().to_owned()]).unwrap();
        let der = |input: &Input| input.anchors.iter().map(|anchor| anchor.der.clone()).collect::<Vec<_>>();
        assert_eq!(der(&again), der(&input));
    }

    #[test]
    fn der_is_read_as_well() {
        let input = read(&[fixture("rsa.pem")]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &input.anchors[0].der).unwrap();
        assert_eq!(read(&[file.path().to_owned()]).unwrap().anchors[0].der, input.anchors[0].der);
    }

    #[test]
    fn text_before_the_blocks_can_begin_with_a_digit() {
        let text = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("0 s:CN = test\n{text}")).unwrap();
        assert_eq!(read(&[file.path().to_owned()]).unwrap().anchors.len(), 1);
    }

    #[test]
    fn only_certificates_are_taken_over() {
        let mut text = std::fs::read_to_string(fixture("rsa.pem")).unwrap();
        text.push_str("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        assert!(!read(&[file.path().to_owned()]).unwrap().blocks().concat().contains("PRIVATE"));
    }

    #[test]
    fn an_expired_certificate_is_warned_of() {
        let input = read(&[fixture("expired.pem")]).unwrap();
        assert!(input.warnings.iter().any(|warning| warning.ends_with("it has expired")), "{:?}", input.warnings);
    }
}
