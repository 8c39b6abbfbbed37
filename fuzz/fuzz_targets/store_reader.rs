//! Any bytes as a compiled store: no panic, no endless loop, and memory that follows the size of the file.
//!
//! The first byte says how much of the file is put right before it is read, as nothing gets past a wrong checksum:
//! nothing; the checksum and all before it; also the offsets of the sections, of which the last takes what is left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass::compiled::{VERSION, fuzzing};
use windlass_fuzz::answers::ask_everything;
use windlass_fuzz::{memory, seeds};
use xxhash_rust::xxh3::xxh3_128;

const CHECKED_FROM: usize = 40;
const TABLE: usize = 64;
const SECTIONS: usize = 9;
const HEADER: usize = TABLE + 16 * SECTIONS;

fuzz_target!(
    init: seeds::write(seeds),
    |data: &[u8]| {
        let Some((&how, file)) = data.split_first() else { return };
        let mut file = file.to_vec();
        if how % 4 > 1 {
            lay_sections_out(&mut file);
        }
        if how % 4 > 0 {
            seal(&mut file);
        }
        let len = file.len();
        let ((), peak) = memory::peak_of(|| {
            if let Ok(store) = fuzzing::read(file) {
                ask_everything(&store);
            }
        });
        assert!(peak <= 16 * len + 8192, "{peak} bytes for a file of {len}");
    }
);

fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for certificates in seeds::collections() {
        let one = seeds::pem(certificates.iter().map(Vec::as_slice));
        let each: Vec<Vec<u8>> = certificates.iter().map(|der| seeds::pem([der.as_slice()])).collect();
        let each: Vec<&[u8]> = each.iter().map(Vec::as_slice).collect();
        for files in [&[one.as_slice()][..], &each] {
            let file = fuzzing::compile(files).expect("it is supported");
            all.extend([1, 2].map(|how| [&[how], file.as_slice()].concat()));
        }
    }
    all
}

fn lay_sections_out(file: &mut [u8]) {
    let len = file.len() as u64;
    let Some(table) = file.get_mut(TABLE..HEADER) else { return };
    let mut at = HEADER as u64;
    for (number, entry) in table.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (offset, length) = entry.split_at_mut(8);
        offset.copy_from_slice(&at.to_le_bytes());
        let left = len - at;
        let wanted = u64::from_le_bytes(length.try_into().expect("eight bytes")).min(left);
        let taken = if number + 1 == SECTIONS { left } else { wanted };
        length.copy_from_slice(&taken.to_le_bytes());
        at += taken;
    }
}

fn seal(file: &mut [u8]) {
    let len = file.len() as u64;
    let Some((head, checked)) = file.split_at_mut_checked(CHECKED_FROM) else { return };
    head[..8].copy_from_slice(b"WINDLASS");
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
    head[16..24].copy_from_slice(&len.to_le_bytes());
    head[24..].copy_from_slice(&xxh3_128(checked).to_le_bytes());
}
