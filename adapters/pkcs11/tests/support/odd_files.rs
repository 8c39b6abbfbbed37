//! Files that a place of trust could hold, most of them odd in one or two ways.

use std::fs;
use std::path::Path;

use fastrand::Rng;

use crate::odd_der::{ber, certificate, element, extension, mutated, odd_der};
use crate::support::pki::{Parts, octets, sha1};

/// The material for files.
pub struct Material {
    /// Certificates in DER.
    pub good: Vec<Vec<u8>>,
    /// The bodies of TRUSTED CERTIFICATE blocks.
    trusted: Vec<Vec<u8>>,
}

/// A path below the place, and the contents of the file.
pub type Files = Vec<(String, Vec<u8>)>;

impl Material {
    pub fn new() -> Material {
        const SERVER: &[u8] = b"\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x01";
        const EMAIL: &[u8] = b"\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x04";
        const CA: &[u8] = b"\x30\x0F\x06\x03\x55\x1D\x13\x01\x01\xFF\x04\x05\x30\x03\x01\x01\xFF";
        let usage = extension(b"\x06\x03\x55\x1D\x0F", b"\x03\x02\x02\x04");
        let purpose = extension(b"\x06\x03\x55\x1D\x25", &element(0x30, &[SERVER]));
        let good = [
            ("Plain", &[CA][..]),
            ("Usage", &[CA, &usage, &purpose]),
            ("Leaf", &[&extension(b"\x06\x03\x55\x1D\x13", b"\x30\x00")]),
        ];
        let good: Vec<_> =
            good.into_iter().zip(1..).map(|((name, list), number)| certificate(name, number, list)).collect();
        // CertAux: trusted purposes, refused purposes, a name.
        let aux = [
            element(0x30, &[&element(0x30, &[SERVER]), b"\x0C\x08An alias"]),
            element(0x30, &[&element(0xA0, &[SERVER])]),
            element(0x30, &[&element(0x30, &[SERVER]), &element(0xA0, &[EMAIL])]),
            element(0x30, &[]),
            Vec::new(),
        ];
        let trusted = good.iter().flat_map(|der| aux.iter().map(|aux| [&der[..], aux].concat())).collect();
        Material { good, trusted }
    }

    /// One to three files, or one that is the place itself and has no name. Often one of them is an anchor, so that
    /// there is something to distrust.
    pub fn place(&self, rng: &mut Rng) -> Files {
        let mut files = Vec::new();
        if rng.u8(0..6) == 0 {
            return vec![(String::new(), self.file(rng))];
        }
        if rng.bool() {
            files.push(("anchors/0.pem".to_owned(), pem("CERTIFICATE", rng.choice(&self.good).unwrap())));
        }
        for number in 1..=rng.usize(1..=2) {
            let folder = rng.choice(["anchors/", "blocklist/", ""]).unwrap();
            files.push((format!("{folder}{number}"), self.file(rng)));
        }
        files
    }

    fn file(&self, rng: &mut Rng) -> Vec<u8> {
        let file = match rng.u8(0..8) {
            0 => self.der(rng),
            1..=3 => self.blocks(rng),
            _ => self.p11_kit(rng),
        };
        let file = if rng.u8(0..4) == 0 { mutated(file, rng) } else { file };
        if aborts_p11_kit(&file) { self.file(rng) } else { file }
    }

    fn der(&self, rng: &mut Rng) -> Vec<u8> {
        let mut file = odd_der(rng.choice(&self.good).unwrap(), rng);
        match rng.u8(0..8) {
            0 => file.push(b'\n'),
            1 => file.extend(pem("CERTIFICATE", rng.choice(&self.good).unwrap())),
            _ => {}
        }
        file
    }

    fn blocks(&self, rng: &mut Rng) -> Vec<u8> {
        let mut file = Vec::new();
        for _ in 0..rng.usize(1..=2) {
            let block = match rng.u8(0..4) {
                0 | 1 => pem("CERTIFICATE", &odd_der(rng.choice(&self.good).unwrap(), rng)),
                2 => pem("TRUSTED CERTIFICATE", &odd_der(rng.choice(&self.trusted).unwrap(), rng)),
                _ => pem("X509 CRL", b"\x30\x00"),
            };
            file.extend(odd_block(block, rng));
        }
        file
    }

    fn p11_kit(&self, rng: &mut Rng) -> Vec<u8> {
        let mut file = rng.choice([&b""[..], b"# comment\n", b"text\n", b"[other]\nx: y\n"]).unwrap().to_vec();
        let objects = rng.usize(1..=2);
        for number in 1..=objects {
            // How p11-kit treats a statement beside the certificate depends on its version.
            file.extend(self.object(rng, number == objects));
        }
        file
    }

    fn object(&self, rng: &mut Rng, may_be_a_statement: bool) -> Vec<u8> {
        let certificate = rng.choice(&self.good).unwrap();
        let parts = Parts::of(certificate);
        let named = format!("issuer: {}\nserial-number: {}\n", octets(parts.issuer), octets(parts.serial));
        let mut lines = b"[p11-kit-object-v1]\n".to_vec();
        let kind = rng.u8(0..10);
        let text = match kind {
            0 if may_be_a_statement => {
                let hash = octets(&sha1(certificate));
                // By its number, or by a name that means different attributes in different versions; and the number of
                // the hash.
                let attribute = rng.choice(["trust-server-auth", "3461571416"]).unwrap();
                format!("class: nss-trust\n{named}3461571508: {hash}\n{attribute}: nss-not-trusted\n")
            }
            1 => {
                let extension = b"\x30\x13\x06\x03\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x04";
                let extension = if rng.bool() { ber(extension, rng, 2) } else { odd_der(extension, rng) };
                let id = rng.choice(["", "object-id: 2.5.29.37\n"]).unwrap();
                let (value, key) = (octets(&extension), octets(parts.spki));
                let staple = format!("class: x-certificate-extension\n{id}value: {value}\npublic-key-info: {key}\n");
                // Often with a certificate that it limits.
                match rng.u8(0..4) {
                    0 => staple,
                    _ => {
                        let block = String::from_utf8(pem("CERTIFICATE", certificate)).unwrap();
                        format!("trusted: true\n{block}[p11-kit-object-v1]\n{staple}")
                    }
                }
            }
            2 => format!("class: certificate\ncertificate-type: x-509\n{named}x-distrusted: true\n"),
            3 => {
                let value = octets(&odd_der(certificate, rng));
                format!("class: certificate\ncertificate-type: x-509\nvalue: {value}\n{named}")
            }
            4 => rng
                .choice(["class: data\nvalue: \"x\"\n", "class: nss-crl\n", "class: nss-builtin-root-list\n", ""])
                .unwrap()
                .to_owned(),
            _ => String::new(),
        };
        lines.extend(text.into_bytes());
        // Hardly any of these belongs to an extension.
        if kind == 1 && rng.u8(0..4) > 0 {
            return lines;
        }
        for _ in 0..rng.usize(0..3) {
            lines.extend(format!("{}: {}\n", rng.choice(NAMES).unwrap(), rng.choice(VALUES).unwrap()).into_bytes());
        }
        if rng.u8(0..3) > 0 {
            lines.extend(rng.choice(SAID).unwrap().as_bytes());
        }
        if kind > 4 {
            lines.extend(odd_block(pem("CERTIFICATE", &odd_der(certificate, rng)), rng));
        }
        lines
    }
}

/// p11-kit 0.24 aborts the process at a value that consists of one quotation mark (`p11_url_decode`, common/url.c).
fn aborts_p11_kit(file: &[u8]) -> bool {
    let value = |line: &[u8]| line.splitn(2, |byte| *byte == b':').nth(1).map(|value| value.trim_ascii().to_vec());
    file.split(|byte| *byte == b'\n')
        .any(|line| value(line).is_some_and(|value| value.starts_with(b"\"\0") || value == b"\""))
}

const SAID: &[&str] = &[
    "x-distrusted: true\n",
    "trusted: true\n",
    "trusted: false\n",
    "nss-server-distrust-after: \"240731000000Z\"\n",
    "nss-email-distrust-after: \"240230000000Z\"\n",
    "nss-server-distrust-after: false\n",
];

const NAMES: &[&str] = &[
    "label",
    "id",
    "url",
    "trusted",
    "x-distrusted",
    "certificate-category",
    "java-midp-security-domain",
    "check-value",
    "start-date",
    "modifiable",
    "private",
    "token",
    "class",
    "certificate-type",
    "modulus-bits",
    "application",
    "nss-mozilla-ca-policy",
    "subject",
    "134",
    "3628353380",
    "",
    "-1",
    "x-critical",
    "key-type",
    "nonsense",
    "Name",
    "with space",
    "3628361280",
    "certificate",
];

const VALUES: &[&str] = &[
    "",
    "true",
    "false",
    "-1",
    "0",
    "1",
    "2",
    "+1",
    "-",
    "99999999999999999999",
    "\"\"",
    "\"x\"",
    "\"%01\"",
    "\"%00\"",
    "\"%gg\"",
    "\"\u{e9}\"",
    "certificate",
    "x-509",
    "authority",
    "nss-not-trusted",
    "2.5.29.37",
    "2.5.29.38",
    "1.2",
    "aes",
    "nonsense",
    "Nonsense",
    "\"20200101\"",
];

fn pem(kind: &str, der: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = base64_simd::STANDARD.encode_type(der);
    let mut out = format!("-----BEGIN {kind}-----\n").into_bytes();
    for line in text.chunks(64) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.extend(format!("-----END {kind}-----\n").into_bytes());
    out
}

/// A block that p11-kit may or may not accept.
fn odd_block(block: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let text = String::from_utf8(block).unwrap();
    match rng.u8(0..20) {
        0 | 15 => text.trim_end_matches("-----\n").to_owned(),
        1 => text.trim_end().to_owned(),
        2 => text.replace("\n-----END", "\nX-----END"),
        3 => text.replace("\n-----END", "-----END"),
        4 => text.replace('\n', "\r\n"),
        5 => text.replacen('\n', "\nKey: value\n\n", 1),
        6 => text.replacen('\n', "\n \n", 1),
        7 => text.replace("\n-----END", "\n\n-----END"),
        8 => text.replace("=\n", "\n"),
        9 => text.replace("\n-----END", "=\n-----END"),
        10 => text.replacen('\n', "", 1),
        11 => format!("text {text}"),
        12 => text.replace("\n-----END", "\n\0-----END"),
        13 => format!("\0{text}"),
        14 => text.replace("END ", "END X"),
        _ => text,
    }
    .into_bytes()
}

pub fn write(place: &Path, files: &Files) {
    if let [(name, bytes)] = files.as_slice()
        && name.is_empty()
    {
        return fs::write(place, bytes).unwrap();
    }
    for folder in ["anchors", "blocklist"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    for (name, bytes) in files {
        fs::write(place.join(name), bytes).unwrap();
    }
}

/// Prints the files for the report of a failure.
pub fn print(files: &Files) -> String {
    files
        .iter()
        .map(|(name, bytes)| format!("--- {name}\n{}\n", bytes.escape_ascii().to_string().replace("\\n", "\n")))
        .collect()
}
