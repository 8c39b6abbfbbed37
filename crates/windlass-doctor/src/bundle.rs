//! A file of PEM certificates, block by block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use windlass_libcrypto::Libcrypto;

use super::certificate::{Fingerprint, SourceCertificate};
use super::check::Unseen;
use super::machine::{MAX_FILE, Machine};
use super::pem::{self, Block};

/// The content of a PEM file.
#[derive(Debug, Default)]
pub struct Contents {
    /// The certificates, in file order.
    pub certificates: Vec<Placed>,
    /// Blocks that claim to be certificates, and are not valid ones.
    pub bad: Vec<Bad>,
    /// Blocks of other labels: keys, CRLs.
    pub others: usize,
    /// The private keys among them: line (from 1) and label.
    pub keys: Vec<(u64, String)>,
    /// Certificates that OpenSSL does not see, because a marker is not alone on its line.
    pub skipped: Vec<Bad>,
    /// A byte order mark precedes the first block: OpenSSL does not see that block, and neither does this reader.
    pub has_mark: bool,
}

/// A certificate, and its position.
#[derive(Debug)]
pub struct Placed {
    /// The line of its BEGIN, from 1.
    pub line: u64,
    /// The parsed certificate.
    pub certificate: SourceCertificate,
}

/// A block that claims to be a certificate, but is not a valid one.
#[derive(Debug)]
pub struct Bad {
    /// The line of its BEGIN, from 1.
    pub line: u64,
    /// What is wrong, as a clause: "the block is not base64".
    pub why: String,
}

/// A file of trusted certificates that TLS libraries read.
#[derive(Debug)]
pub struct Bundle {
    /// Its role, such as "default file of OpenSSL 3.0.22".
    pub reason: String,
    /// Its path without links, as programs of the machine name it.
    pub real: PathBuf,
    /// The file that was read.
    pub file: File,
    /// Its owner is root or the doctor's user: libcrypto may parse it.
    pub is_ours: bool,
    /// The blocks of the file.
    pub contents: Contents,
}

impl Contents {
    /// Reads the bytes of a PEM file. `libcrypto` decides which blocks are certificates, if it may parse these bytes.
    pub fn of(bytes: &[u8], libcrypto: Option<&Libcrypto>) -> Contents {
        let mut contents = Contents { has_mark: bytes.starts_with(b"\xEF\xBB\xBF-----BEGIN "), ..Contents::default() };
        let skipped = pem::skipped(bytes);
        // To OpenSSL, the rest of a block whose END it does not see is not a bad block, but no block at all.
        let is_skipped = |line: u64| skipped.iter().any(|(other, _)| *other == line);
        for block in pem::blocks(bytes).into_iter().filter(|block| !is_skipped(block.line)) {
            contents.add(block, libcrypto);
        }
        contents.skipped = skipped.into_iter().map(|(line, why)| Bad { line, why: why.to_owned() }).collect();
        contents
    }

    fn add(&mut self, block: Block, libcrypto: Option<&Libcrypto>) {
        if !block.is_certificate() {
            self.others += 1;
            if block.label.ends_with("PRIVATE KEY") {
                self.keys.push((block.line, block.label));
            }
            return;
        }
        let line = block.line;
        let der = match block.content {
            Ok(der) => der,
            Err(fault) => return self.bad.push(Bad { line, why: format!("the block {fault}") }),
        };
        let certificate = if block.label == "TRUSTED CERTIFICATE" {
            SourceCertificate::of_trusted(der)
        } else {
            SourceCertificate::of(der)
        };
        // OpenSSL decides: it reads certificates that are too unusual for the reader here.
        let is_one =
            certificate.says.is_some() || libcrypto.is_some_and(|libcrypto| libcrypto.decodes(&certificate.der));
        if is_one {
            self.certificates.push(Placed { line, certificate });
        } else {
            self.bad.push(Bad { line, why: String::from("the block is base64, but not an X.509 certificate") });
        }
    }

    /// It holds certificates, and no bad block: OpenSSL loads such a file completely, and any other not at all.
    pub fn is_whole(&self) -> bool {
        self.bad.is_empty() && !self.certificates.is_empty()
    }

    /// The trusted certificates, in file order.
    pub fn trusted(&self) -> impl Iterator<Item = &Placed> {
        let trusted = self.fingerprints();
        self.certificates.iter().filter(move |placed| trusted.contains(&placed.certificate.fingerprint))
    }

    /// The fingerprint of every trusted certificate, once.
    pub fn fingerprints(&self) -> BTreeSet<Fingerprint> {
        self.standing().0
    }

    /// The fingerprints of the trusted and of the refused certificates.
    pub fn standing(&self) -> (BTreeSet<Fingerprint>, BTreeSet<Fingerprint>) {
        standing(self.certificates.iter().map(|placed| &placed.certificate))
    }
}

/// The fingerprints of the trusted and of the refused certificates. Of several with the same bytes, the first counts: a
/// store does not accept the others (`X509_STORE_add_cert`).
pub fn standing<'c>(
    certificates: impl Iterator<Item = &'c SourceCertificate>,
) -> (BTreeSet<Fingerprint>, BTreeSet<Fingerprint>) {
    let mut first = BTreeMap::new();
    for certificate in certificates {
        first.entry(certificate.fingerprint).or_insert(certificate.is_refused);
    }
    let of = |is_refused| {
        let those = first.iter().filter(move |(_, refused)| **refused == is_refused);
        those.map(|(fingerprint, _)| *fingerprint).collect()
    };
    (of(false), of(true))
}

impl Bundle {
    /// Reads the file at `path`.
    pub fn read(machine: &Machine<'_>, path: &Path, reason: &str) -> Result<Bundle, Unseen> {
        let content = machine.read(path, MAX_FILE)?;
        let is_ours = content.is_ours();
        let libcrypto = machine.libcryptos.first().filter(|_| is_ours);
        Ok(Bundle {
            reason: reason.to_owned(),
            real: machine.real(path),
            is_ours,
            contents: Contents::of(&content.bytes, libcrypto),
            file: content.file,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn good_and_bad_blocks_are_told_apart() {
        let rsa = testing::fixture("rsa.pem");
        let text = format!(
            "{rsa}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN X509 \
             CRL-----\nAAAA\n-----END X509 CRL-----\n"
        );
        let contents = Contents::of(text.as_bytes(), None);
        assert_eq!(contents.certificates.len(), 1);
        assert_eq!(contents.certificates[0].certificate.says.as_ref().unwrap().name, "Rsa Root");
        assert_eq!((contents.bad.len(), contents.bad[0].line, contents.others), (1, rsa.lines().count() as u64 + 1, 1));
    }

    #[test]
    fn trust_settings_do_not_change_a_certificate() {
        let rsa = testing::fixture("rsa.pem");
        let plain = Contents::of(rsa.as_bytes(), None);
        let mut der = plain.certificates[0].certificate.der.to_vec();
        der.extend_from_slice(&[0x30, 0]);
        let trusted = SourceCertificate::of_trusted(der);
        assert_eq!(trusted.fingerprint, plain.certificates[0].certificate.fingerprint);
    }
}
