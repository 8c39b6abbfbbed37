//! Any collection of certificates, compiled and read back: the same answers as from PEM, and the same bytes each time.
//!
//! The input is a list of certificates, each behind its length in two bytes; a length with its highest bit set begins
//! another file of a hashed directory. An input that begins with 0xFFFF is PEM as it stands. One that begins with
//! 0xFFFE is a list of serial numbers and common names, each behind its length in one byte: lengths within a
//! certificate all depend on each other, and no chance gets them right.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use windlass::RootStore;
use windlass::compiled::fuzzing;
use windlass_fuzz::answers::assert_same;
use windlass_fuzz::der::{self, Node};
use windlass_fuzz::seeds;

const NEXT_FILE: u16 = 0x8000;
const PEM: &[u8] = &[0xFF, 0xFF];
const FIELDS: &[u8] = &[0xFF, 0xFE];
/// Certificates of an input of fields: more take time and show nothing new.
const MOST: usize = 24;

fuzz_target!(
    init: seeds::write(seeds),
    |data: &[u8]| {
        let files = match (data.strip_prefix(PEM), data.strip_prefix(FIELDS)) {
            (Some(text), _) => vec![text.to_vec()],
            (_, Some(fields)) => vec![seeds::pem(made_of(fields).iter().map(Vec::as_slice))],
            _ => files(data),
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

/// Certificates with these serial numbers and common names.
fn made_of(mut fields: &[u8]) -> Vec<Vec<u8>> {
    static TEMPLATE: LazyLock<Vec<u8>> = LazyLock::new(|| seeds::collections().remove(0).remove(0));
    let mut next = || {
        let (&len, rest) = fields.split_first()?;
        let (field, rest) = rest.split_at(usize::from(len).min(rest.len()));
        fields = rest;
        Some(field)
    };
    let mut all = Vec::new();
    while let (true, Some(serial), Some(name)) = (all.len() < MOST, next(), next()) {
        let mut root = Node::parse(&TEMPLATE);
        let tbs = root.children()[0].children();
        tbs[1] = Node::bytes(der::INTEGER, serial);
        tbs[5] = Node::parse(&der::name(&[vec![(vec![0x55, 4, 3], 0x0C, name.to_vec())]]));
        all.push(root.encode());
    }
    all
}

fn seeds() -> Vec<Vec<u8>> {
    let fields = b"\x01\x01\x02CA\x02\x01\x00\x02CA\x01\x01\x02CA\x04\x01\x02\x03\x04\x01B";
    let mut all = vec![[FIELDS, fields].concat()];
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
