//! Random changes to bytes and trees.

use fastrand::Rng;

use super::der::{Content, Node};

pub fn byte(rng: &mut Rng) -> u8 {
    match rng.u8(0..4) {
        0 => *rng.choice(b"\0\n\r\t -=:+/\x7f\x80\xff").unwrap(),
        1 => *rng.choice(b"-----BEGIN CERTIFICATE-----\n").unwrap(),
        _ => rng.u8(..),
    }
}

/// One to three edits: replace, flip a bit, insert, remove, repeat.
pub fn edit(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.usize(1..=3) {
        if bytes.is_empty() {
            break;
        }
        let place = rng.usize(0..bytes.len());
        match rng.u8(0..6) {
            0 | 1 => bytes[place] = byte(rng),
            2 => bytes[place] ^= 1 << rng.u8(0..8),
            3 => bytes.insert(place, byte(rng)),
            4 => drop(bytes.remove(place)),
            _ => {
                let end = (place + rng.usize(1..100)).min(bytes.len());
                let part = bytes[place..end].to_vec();
                bytes.splice(place..place, part);
            }
        }
    }
}

pub const TAGS: [u8; 40] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
    0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1E, 0x1F, 0x23, 0x24, 0x2C, 0x30, 0x31, 0x33, 0x3F, 0x80, 0x81, 0x82, 0xA0, 0xA1,
    0xA2, 0xA3,
];

pub const CONTENTS: [&[u8]; 30] = [
    b"",
    b"\0",
    b"\x01",
    b"\x02",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\0\0",
    b"\0\x01",
    b"\0\x80",
    b"\xff\0",
    b"\xff\x7f",
    b"\xff\x80",
    b"\x07\x80",
    b"\x07\x81",
    b"\x08\x80",
    b"\x80\x01",
    b"\x55\x80\x01",
    b"\x55\x04\x83",
    b"\x55\x04\x03",
    b"A b",
    b"\xe9",
    b"\xc3\xa9",
    b"\xd8\0\xdc\0",
    b"490101000000Z",
    b"500101000000Z",
    b"20500101000000Z",
    b"20500101000000.5Z",
    b"5001010000Z",
    b"500101000000+0100",
];

/// Changes one node; everything around it stays well formed, so that the change itself is judged.
pub fn change_node(rng: &mut Rng, root: &mut Node) {
    let place = rng.usize(0..root.count());
    let node = root.at(place);
    match (rng.u8(0..10), &mut node.content) {
        (0, _) => node.tag = rng.choice(TAGS).unwrap(),
        (1, _) => node.length_padding = 1,
        (2 | 3, Content::Bytes(bytes)) => *bytes = rng.choice(CONTENTS).unwrap().to_vec(),
        (4, Content::Bytes(bytes)) => bytes.truncate(rng.usize(0..=bytes.len())),
        (5, Content::Bytes(bytes)) => bytes.insert(rng.usize(0..=bytes.len()), byte(rng)),
        (6, Content::Bytes(bytes)) => *bytes = bytes.repeat(rng.usize(2..100)),
        (_, Content::Bytes(bytes)) => {
            if !bytes.is_empty() {
                let place = rng.usize(0..bytes.len());
                bytes[place] = byte(rng);
            }
        }
        (2 | 3, Content::Nodes(nodes)) => {
            if !nodes.is_empty() {
                nodes.remove(rng.usize(0..nodes.len()));
            }
        }
        (4 | 5, Content::Nodes(nodes)) => {
            if !nodes.is_empty() {
                let copy = nodes[rng.usize(0..nodes.len())].clone();
                nodes.insert(rng.usize(0..=nodes.len()), copy);
            }
        }
        (6, Content::Nodes(nodes)) => rng.shuffle(nodes),
        (7, Content::Nodes(nodes)) => nodes.clear(),
        (_, Content::Nodes(nodes)) => {
            let new = Node::bytes(rng.choice(TAGS).unwrap(), rng.choice(CONTENTS).unwrap());
            nodes.insert(rng.usize(0..=nodes.len()), new);
        }
    }
}
