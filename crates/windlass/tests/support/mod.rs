//! What the tests share: libcrypto itself, an editor for DER, and compiled stores to break.
#![allow(dead_code)]

pub mod answers;
pub mod change;
pub mod child;
pub mod counts;
pub mod der;
pub mod judge;
pub mod libcrypto;
pub mod quiet;
pub mod stores;

/// Debian's own bundle, which the tests need to be installed.
pub const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

pub fn bundle() -> Vec<u8> {
    std::fs::read(BUNDLE).expect("package ca-certificates")
}

/// The certificates of a PEM text as DER, by libcrypto.
pub fn certificates(pem: &[u8]) -> Vec<Vec<u8>> {
    libcrypto::load(pem).expect("libcrypto reads it")
}

/// The smallest certificate of the bundle.
pub fn smallest() -> Vec<u8> {
    static SMALLEST: std::sync::LazyLock<Vec<u8>> =
        std::sync::LazyLock::new(|| certificates(&bundle()).into_iter().min_by_key(Vec::len).unwrap());
    SMALLEST.clone()
}

pub fn pem(der: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = base64_simd::STANDARD.encode_type(der);
    let mut out = b"-----BEGIN CERTIFICATE-----\n".to_vec();
    for line in text.chunks(64) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.extend_from_slice(b"-----END CERTIFICATE-----\n");
    out
}

/// How many times more than usual the random tests shall try: `WINDLASS_TEST_FACTOR=100`.
pub fn factor() -> u64 {
    std::env::var("WINDLASS_TEST_FACTOR").map_or(1, |text| text.parse().expect("a number"))
}

/// Where the random tests begin; another start is tried with `WINDLASS_TEST_SEED`.
pub fn seed() -> u64 {
    std::env::var("WINDLASS_TEST_SEED").map_or(20_240_531, |text| text.parse().expect("a number"))
}
