//! Hand-made certificates, and odd DER: BER, another structure, small changes anywhere.

use fastrand::Rng;

use crate::support::pki::{elements, header};

/// Sometimes in BER, or with bytes appended.
pub fn odd_der(der: &[u8], rng: &mut Rng) -> Vec<u8> {
    match rng.u8(0..10) {
        0..=1 => elements(der).iter().flat_map(|element| ber(element, rng, 12)).collect(),
        2 => elements(der).iter().flat_map(|element| ber(element, rng, 1)).collect(),
        3 => mutated(der.to_vec(), rng),
        4 => elements(der).iter().flat_map(|element| reshaped(element, rng)).collect(),
        _ => der.to_vec(),
    }
}

/// One element, with a few inner elements that get another tag, or other content.
fn reshaped(whole: &[u8], rng: &mut Rng) -> Vec<u8> {
    let (tag, start) = (whole[0], header(whole).0);
    if rng.u8(0..40) == 0 {
        return match rng.u8(0..4) {
            0 => element(rng.choice([2, 3, 4, 5, 0x0C, 0x30, 0x31, 0xA3]).unwrap(), &[&whole[start..]]),
            1 => element(tag, &[]),
            2 => Vec::new(),
            _ => element(tag, &[&whole[start..], b"\x05\x00"]),
        };
    }
    match tag & 0x20 {
        0 => whole.to_vec(),
        _ => {
            let inner: Vec<u8> = elements(&whole[start..]).iter().flat_map(|inner| reshaped(inner, rng)).collect();
            element(tag, &[&inner])
        }
    }
}

/// One element, with one in `rarely` lengths in another form.
pub fn ber(element: &[u8], rng: &mut Rng, rarely: u32) -> Vec<u8> {
    let (tag, start) = (element[0], header(element).0);
    let is_list = tag & 0x20 != 0;
    let content = match is_list {
        true => elements(&element[start..]).iter().flat_map(|inner| ber(inner, rng, rarely)).collect(),
        false => element[start..].to_vec(),
    };
    let len = (content.len() as u64).to_be_bytes();
    let least = len.iter().position(|byte| *byte != 0).map_or(1, |zeros| 8 - zeros);
    let form = if rng.u32(0..rarely) == 0 { rng.usize(0..8) } else { 8 };
    match form {
        0 if is_list => return [&[tag, 0x80][..], &content, &[0, 0]].concat(),
        8 | 0 if content.len() < 0x80 => return [&[tag, content.len() as u8][..], &content].concat(),
        _ => {}
    }
    let octets = if form == 8 { least } else { (least + form).min(8) };
    [&[tag, 0x80 | octets as u8][..], &len[8 - octets..], &content].concat()
}

/// DER of one element.
pub fn element(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let len = content.len();
    let header = match len {
        0..=0x7F => vec![tag, len as u8],
        0x80..=0xFF => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [header, content].concat()
}

pub fn extension(oid: &[u8], value: &[u8]) -> Vec<u8> {
    element(0x30, &[oid, &element(4, &[value])])
}

/// A certificate with arbitrary key and signature, which nobody checks.
pub fn certificate(name: &str, number: u8, extensions: &[&[u8]]) -> Vec<u8> {
    let algorithm = element(0x30, &[b"\x06\x08\x2A\x86\x48\xCE\x3D\x04\x03\x02"]);
    let name = element(
        0x30,
        &[&element(0x31, &[&element(0x30, &[b"\x06\x03\x55\x04\x03", &element(0x0C, &[name.as_bytes()])])])],
    );
    let validity = element(0x30, &[b"\x17\x0D250101000000Z", b"\x18\x0F20550101000000Z"]);
    let key = element(0x30, &[&algorithm, &element(3, &[b"\0", &[number; 65]])]);
    let extensions = element(0xA3, &[&element(0x30, extensions)]);
    let serial = [2, 1, number];
    let tbs =
        element(0x30, &[b"\xA0\x03\x02\x01\x02", &serial, &algorithm, &name, &validity, &name, &key, &extensions]);
    element(0x30, &[&tbs, &algorithm, &element(3, &[b"\0", &[number; 70]])])
}

/// Makes one to three small changes anywhere.
pub fn mutated(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    for _ in 0..rng.usize(1..=3) {
        let at = rng.usize(0..bytes.len().max(1));
        match rng.u8(0..6) {
            _ if bytes.is_empty() => {}
            0 => bytes[at] = rng.u8(..),
            1 => bytes[at] ^= 1 << rng.u8(0..8),
            2 => drop(bytes.drain(at..(at + rng.usize(1..40)).min(bytes.len()))),
            3 => bytes.insert(at, rng.u8(..)),
            4 => bytes.insert(at, *rng.choice(b"\n\0 :-[]\"").unwrap()),
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}
