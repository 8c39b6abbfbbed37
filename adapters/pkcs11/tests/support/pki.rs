//! Certificates of all kinds, made with the command openssl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    /// As OpenSSL's TRUSTED CERTIFICATE with these options of `openssl x509`.
    pub fn trusted(&self, name: &str, options: &[&str]) -> String {
        let mut command = Command::new("openssl");
        command.args(["x509", "-trustout", "-in"]).arg(self.path(&format!("{name}.pem"))).args(options);
        run(&mut command)
    }
}

/// The DER of the first block.
pub fn der(pem: &str) -> Vec<u8> {
    let body = pem.split("-----").nth(2).unwrap();
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').map(digit).collect();
    let mut out = Vec::new();
    for group in digits.chunks(4) {
        let number = group.iter().fold(0u32, |all, digit| all << 6 | u32::from(*digit)) << (6 * (4 - group.len()));
        out.extend_from_slice(&number.to_be_bytes()[1..group.len()]);
    }
    out
}

/// Octal, as certdata.txt has it.
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
