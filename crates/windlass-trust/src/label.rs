//! A display name from the subject of a certificate, chosen as by p11-kit's `p11_x509_lookup_dn_name`.

use windlass::der::{OBJECT_IDENTIFIER, Reader, SEQUENCE, SET};

const UTF8_STRING: u8 = 0x0C;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const T61_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const UNIVERSAL_STRING: u8 = 0x1C;
const BMP_STRING: u8 = 0x1E;

/// commonName, organizationalUnitName, organizationName: content of 2.5.4.x.
const NAMES: [[u8; 3]; 3] = [[0x55, 0x04, 0x03], [0x55, 0x04, 0x0B], [0x55, 0x04, 0x0A]];

/// The common name, or else the unit, or the organisation; the last one of several. None if none of them is text.
pub(crate) fn label(subject: &[u8]) -> Option<String> {
    let pairs = pairs(subject).unwrap_or_default();
    NAMES.iter().find_map(|wanted| {
        let (_, tag, value) = pairs.iter().find(|(oid, ..)| oid == wanted)?;
        // C strings end at the first NUL.
        let text = text(*tag, value)?;
        Some(text.split('\0').next().unwrap_or_default().to_owned())
    })
}

/// Type, tag and value of an attribute.
type Pair<'a> = (&'a [u8], u8, &'a [u8]);

/// All attributes: the last RDN first, within an RDN in order.
fn pairs(name: &[u8]) -> Option<Vec<Pair<'_>>> {
    let mut sequence = Reader::new(name).enter(SEQUENCE).ok()?;
    let mut rdns = Vec::new();
    while !sequence.is_empty() {
        rdns.push(sequence.enter(SET).ok()?);
    }
    let mut all = Vec::new();
    for mut rdn in rdns.into_iter().rev() {
        while !rdn.is_empty() {
            let mut pair = rdn.enter(SEQUENCE).ok()?;
            let oid = pair.content_of(OBJECT_IDENTIFIER).ok()?;
            let (tag, _, value) = pair.element().ok()?;
            all.push((oid, tag, pair.bytes(value)));
        }
    }
    Some(all)
}

fn text(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        UTF8_STRING | NUMERIC_STRING | IA5_STRING | T61_STRING | PRINTABLE_STRING => {
            String::from_utf8(value.to_vec()).ok()
        }
        UNIVERSAL_STRING => {
            let (units, rest) = value.as_chunks::<4>();
            if !rest.is_empty() {
                return None;
            }
            units.iter().map(|unit| char::from_u32(u32::from_be_bytes(*unit))).collect()
        }
        BMP_STRING => {
            let (units, rest) = value.as_chunks::<2>();
            if !rest.is_empty() {
                return None;
            }
            units.iter().map(|unit| char::from_u32(u32::from(u16::from_be_bytes(*unit)))).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element;

    fn name(pairs: &[(u8, u8, &[u8])]) -> Vec<u8> {
        let rdns = pairs.iter().flat_map(|(kind, tag, value)| {
            let pair = [element(OBJECT_IDENTIFIER, &[0x55, 0x04, *kind]), element(*tag, value)].concat();
            element(SET, &element(SEQUENCE, &pair))
        });
        element(SEQUENCE, &rdns.collect::<Vec<u8>>())
    }

    #[test]
    fn the_last_common_name_then_unit_then_organisation() {
        let of = |pairs: &[(u8, u8, &[u8])]| label(&name(pairs));
        assert_eq!(of(&[(3, 0x13, b"one"), (3, 0x13, b"two"), (10, 0x13, b"org")]).as_deref(), Some("two"));
        assert_eq!(of(&[(10, 0x0C, b"org"), (11, 0x0C, b"unit")]).as_deref(), Some("unit"));
        assert_eq!(of(&[(10, 0x1E, b"\x00o\x01\x51")]).as_deref(), Some("o\u{151}"));
        assert_eq!(of(&[(10, 0x1C, b"\x00\x00\x00o")]).as_deref(), Some("o"));
        assert_eq!(of(&[(3, 0x0C, b"\xFF"), (10, 0x0C, b"org")]).as_deref(), Some("org"));
        assert_eq!(of(&[(3, 0x0C, b"a\0b")]).as_deref(), Some("a"));
        assert_eq!(of(&[(6, 0x13, b"DE")]), None);
        assert_eq!(label(b"\x30\x03\x31\x01"), None);
    }
}
