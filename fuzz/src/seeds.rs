//! Where fuzzing starts: small sources made of this machine's certificates.

use std::fs;
use std::path::PathBuf;

use windlass::RootStore;

const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Into this directory, if it is set, a target writes its seeds before it starts.
const VARIABLE: &str = "WINDLASS_FUZZ_SEEDS";

/// Lists of certificates: one, several, duplicates, one subject that several have.
pub fn collections() -> Vec<Vec<Vec<u8>>> {
    let bundle = fs::read(BUNDLE).expect("package ca-certificates");
    let store = RootStore::from_pem(&bundle).expect("a bundle that is supported");
    let mut all: Vec<Vec<u8>> = store.anchors().map(|anchor| anchor.der().to_vec()).collect();
    all.sort_by_key(Vec::len);
    let twin = |der: &[u8]| {
        let serial = store.anchors().find(|anchor| anchor.der() == der).expect("it is from there").serial();
        let at = serial.as_ptr() as usize;
        let start = store.anchors().find(|anchor| anchor.der() == der).expect("as above").der().as_ptr() as usize;
        let mut other = der.to_vec();
        other[at - start + serial.len() - 1] ^= 1;
        other
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|place| all[place].clone());
    let (e, f) = (twin(&a), twin(&b));
    vec![
        vec![a.clone()],
        vec![b.clone(), a.clone()],
        vec![c.clone(), a.clone(), d],
        vec![a.clone(), b.clone(), a.clone(), a.clone()],
        vec![e.clone(), a.clone()],
        vec![a.clone(), f.clone(), e.clone(), b, a, c, e, f],
    ]
}

/// A PEM file of these certificates.
pub fn pem<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = String::new();
    for der in certificates {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in base64_simd::STANDARD.encode_to_string(der).as_bytes().chunks(64) {
            text.push_str(str::from_utf8(line).expect("base64"));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text.into_bytes()
}

/// Writes the seeds, if that is wanted.
pub fn write(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(directory) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return };
    fs::create_dir_all(&directory).expect("a directory for the seeds");
    for (number, seed) in seeds().into_iter().enumerate() {
        fs::write(directory.join(format!("seed-{number:02}")), seed).expect("a file for the seed");
    }
}
