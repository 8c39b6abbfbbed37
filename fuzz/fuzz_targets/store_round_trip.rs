//! Any collection of certificates, compiled and read back: the same answers as from PEM, and the same bytes each time.
//!
//! The input is a list of certificates, each behind its length in two bytes; a length with its highest bit set begins
//! another file of a hashed directory. An input that begins with 0xFFFF is PEM as it stands.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass::RootStore;
use windlass::compiled::fuzzing;
use windlass_fuzz::answers::assert_same;
use windlass_fuzz::seeds;

const NEXT_FILE: u16 = 0x8000;
const PEM: &[u8] = &[0xFF, 0xFF];

fuzz_target!(
    init: seeds::write(seeds),
    |data: &[u8]| {
        let files = match data.strip_prefix(PEM) {
            Some(text) => vec![text.to_vec()],
            None => files(data),
        };
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let Ok(bytes) = fuzzing::compile(&files) else { return };
        assert_eq!(fuzzing::compile(&files).as_ref(), Ok(&bytes));
        // Reading one file after the other, and both as one, is the same.
        let built = RootStore::from_pem(&files.concat()).expect("it was compiled");
        assert_same(&fuzzing::read(bytes).expect("it was just written"), &built);
    }
);

fn files(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<&[u8]>> = vec![Vec::new()];
    while let Some((length, rest)) = data.split_first_chunk() {
        let length = u16::from_be_bytes(*length);
        let (der, rest) = rest.split_at(usize::from(length & !NEXT_FILE).min(rest.len()));
        if length & NEXT_FILE != 0 {
            files.push(Vec::new());
        }
        files.last_mut().expect("there is one").push(der);
        data = rest;
    }
    files.into_iter().map(seeds::pem).collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for certificates in seeds::collections() {
        all.push([PEM, &seeds::pem(certificates.iter().map(Vec::as_slice))].concat());
        for flags in [0, NEXT_FILE] {
            let mut seed = Vec::new();
            for (number, der) in certificates.iter().enumerate() {
                let flag = if number == 0 { 0 } else { flags };
                seed.extend_from_slice(&(der.len() as u16 | flag).to_be_bytes());
                seed.extend_from_slice(der);
            }
            all.push(seed);
        }
    }
    all
}
