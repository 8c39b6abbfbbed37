//! Certificates of all kinds, created with the command openssl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The extension of a CA.
pub const CA: &str = "basicConstraints=critical,CA:TRUE";

pub struct Pki {
    pub directory: tempfile::TempDir,
}

impl Pki {
    pub fn new() -> Pki {
        Pki { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A self-signed certificate with these extensions; PEM.
    pub fn certificate(&self, name: &str, subject: &str, extensions: &[&str]) -> String {
        let (key, out) = (self.path(&format!("{name}.key")), self.path(&format!("{name}.pem")));
        let config = self.path("openssl.cnf");
        fs::write(&config, "[req]\ndistinguished_name=dn\n[dn]\n").unwrap();
        let mut command = Command::new("openssl");
        command.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "3650",
        ]);
        command.args(["-utf8", "-config"]).arg(&config).arg("-subj").arg(subject);
        command.arg("-keyout").arg(key).arg("-out").arg(&out);
        for extension in extensions {
            command.arg("-addext").arg(extension);
        }
        run(&mut command);
        fs::read_to_string(out).unwrap()
    }

    /// As [`Pki::certificate`], with a serial number in hexadecimal.
    pub fn with_serial(&self, name: &str, subject: &str, extensions: &[&str], serial: &str) -> String {
        self.certificate(name, subject, extensions);
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-new", "-days", "3650", "-utf8", "-config"]).arg(self.path("openssl.cnf"));
        command
            .args(["-subj", subject, "-set_serial", &format!("0x{serial}"), "-key"])
            .arg(self.path(&format!("{name}.key")));
        for extension in extensions {
            command.arg("-addext").arg(extension);
        }
        let pem = run(&mut command);
        fs::write(self.path(&format!("{name}.pem")), &pem).unwrap();
        pem
    }

    /// The serial number of a certificate in hexadecimal.
    pub fn serial(&self, name: &str) -> String {
        let output = run(Command::new("openssl")
            .args(["x509", "-noout", "-serial", "-in"])
            .arg(self.path(&format!("{name}.pem"))));
        output.trim().trim_start_matches("serial=").to_owned()
    }

    /// The certificate as OpenSSL's TRUSTED CERTIFICATE with these options of `openssl x509`.
    pub fn trusted(&self, name: &str, options: &[&str]) -> String {
        let mut command = Command::new("openssl");
        command.args(["x509", "-trustout", "-in"]).arg(self.path(&format!("{name}.pem"))).args(options);
        run(&mut command)
    }
}

/// The DER of the first block.
pub fn der(pem: &str) -> Vec<u8> {
    let body: String = pem.split("-----").nth(2).unwrap().split_whitespace().collect();
    base64_simd::STANDARD.decode_to_vec(body).unwrap()
}

/// The parts of a certificate that it is looked up by; whole elements.
pub struct Parts<'a> {
    pub serial: &'a [u8],
    pub issuer: &'a [u8],
    pub subject: &'a [u8],
    pub spki: &'a [u8],
}

impl<'a> Parts<'a> {
    pub fn of(der: &'a [u8]) -> Parts<'a> {
        let tbs = &elements(content(der))[0];
        let parts = elements(content(tbs));
        Parts { serial: parts[1], issuer: parts[3], subject: parts[5], spki: parts[6] }
    }
}

fn content(der: &[u8]) -> &[u8] {
    &der[header(der).0..][..header(der).1]
}

pub fn elements(mut list: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !list.is_empty() {
        let (head, len) = header(list);
        all.push(&list[..head + len]);
        list = &list[head + len..];
    }
    all
}

/// The start and the length of the first element's content.
pub fn header(der: &[u8]) -> (usize, usize) {
    match der[1] {
        short @ 0..=0x7F => (2, usize::from(short)),
        long => {
            let count = usize::from(long & 0x7F);
            (2 + count, der[2..2 + count].iter().fold(0, |all, byte| all << 8 | usize::from(*byte)))
        }
    }
}

pub fn sha1(bytes: &[u8]) -> Vec<u8> {
    <sha1::Sha1 as sha1::Digest>::digest(bytes).to_vec()
}

pub fn sha256(bytes: &[u8]) -> Vec<u8> {
    <sha2::Sha256 as sha2::Digest>::digest(bytes).to_vec()
}

/// A string of a .p11-kit file.
pub fn octets(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// Octal, in the notation of certdata.txt.
pub fn octal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("MULTILINE_OCTAL\n{digits}\nEND")
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("openssl");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
