//! Distinguished names as text.

use std::fmt::Write;

use windlass::RawName;
use x509_parser::asn1_rs::{Any, FromDer, Tag};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// Short names of attribute types: those of RFC 4514, section 3, and those of the LDAP registry that CAs use.
const TYPES: [(&str, &str); 16] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.12", "title"),
    ("2.5.4.42", "givenName"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.97", "organizationIdentifier"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A name as readable text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The RFC 4514 form: the last, most specific part first.
    pub full: String,
    /// The common name, or else the organizational unit, the organization, or the whole name.
    pub short: String,
}

impl Name {
    /// Decodes a name. Values that can't be decoded are shown in hexadecimal, as RFC 4514 does for unknown types.
    pub fn of(raw: RawName<'_>) -> Name {
        let Ok((_, name)) = X509Name::from_der(raw.as_bytes()) else {
            let full = format!("#{}", hex(raw.as_bytes()));
            return Name { short: full.clone(), full };
        };
        let mut full = String::new();
        let parts: Vec<_> = name.iter_rdn().collect();
        for part in parts.iter().rev() {
            for (index, attribute) in part.iter().enumerate() {
                let separator = if full.is_empty() {
                    ""
                } else if index > 0 {
                    "+"
                } else {
                    ","
                };
                full.push_str(separator);
                write_attribute(&mut full, attribute);
            }
        }
        let value_of = |wanted: &str| {
            // The last attribute of a type is the most specific one.
            let found =
                name.iter_attributes().filter(|attribute| attribute.attr_type().to_id_string() == wanted).last();
            found.and_then(|attribute| decode(attribute.attr_value())).filter(|text| !text.trim().is_empty())
        };
        let short = ["2.5.4.3", "2.5.4.11", "2.5.4.10"].into_iter().find_map(value_of);
        Name { short: short.unwrap_or_else(|| full.clone()), full }
    }
}

fn write_attribute(text: &mut String, attribute: &AttributeTypeAndValue<'_>) {
    let oid = attribute.attr_type().to_id_string();
    let known = TYPES.iter().find(|(known, _)| *known == oid);
    match (known, decode(attribute.attr_value())) {
        (Some((_, name)), Some(value)) => {
            text.push_str(name);
            text.push('=');
            push_escaped(text, &value);
        }
        _ => {
            // RFC 4514, section 2.4, requires the BER encoding with its header. All lengths here fit the forms below.
            let value = attribute.attr_value();
            let _ =
                write!(text, "{oid}=#{}{}{}", hex(&[tag_byte(value)]), hex(&length(value.data.len())), hex(value.data));
        }
    }
}

/// RFC 4514 section 2.4.
fn push_escaped(text: &mut String, value: &str) {
    let last = value.chars().count().saturating_sub(1);
    for (index, character) in value.chars().enumerate() {
        match character {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => text.extend(['\\', character]),
            ' ' if index == 0 || index == last => text.push_str("\\ "),
            '#' if index == 0 => text.push_str("\\#"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                let _ = write!(text, "\\{:02X}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
}

fn decode(value: &Any<'_>) -> Option<String> {
    let bytes: &[u8] = value.data;
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            String::from_utf8(bytes.to_vec()).ok()
        }
        // OpenSSL reads T61String as Latin-1 too (ASN1_STRING_to_UTF8, tag2nbyte in crypto/asn1/a_strex.c).
        Tag::T61String => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let units: Vec<u16> =
                bytes.chunks(2).map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte))).collect();
            String::from_utf16(&units).ok()
        }
        Tag::UniversalString => {
            let number = |unit: &[u8]| unit.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            bytes.chunks(4).map(|unit| char::from_u32(number(unit))).collect()
        }
        _ => None,
    }
}

fn tag_byte(value: &Any<'_>) -> u8 {
    let constructed = if value.header.is_constructed() { 0x20 } else { 0 };
    (value.class() as u8) << 6 | constructed | value.tag().0 as u8
}

fn length(length: usize) -> Vec<u8> {
    if length < 0x80 {
        return vec![length as u8];
    }
    let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    [vec![0x80 | bytes.len() as u8], bytes].concat()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        [vec![tag], length(content.len()), content.to_vec()].concat()
    }

    fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        tlv(0x30, &[tlv(6, oid), tlv(tag, value)].concat())
    }

    fn name(rdns: &[Vec<u8>]) -> Name {
        let der = tlv(0x30, &rdns.iter().map(|rdn| tlv(0x31, rdn)).collect::<Vec<_>>().concat());
        Name::of(RawName::from_der(&der).unwrap())
    }

    const CN: &[u8] = &[0x55, 4, 3];
    const O: &[u8] = &[0x55, 4, 10];
    const OU: &[u8] = &[0x55, 4, 11];

    #[test]
    fn the_most_specific_part_comes_first() {
        let name = name(&[attribute(O, 0x13, b"Org"), attribute(CN, 0x0c, "Würzel".as_bytes())]);
        assert_eq!(name.full, "CN=Würzel,O=Org");
        assert_eq!(name.short, "Würzel");
    }

    #[test]
    fn without_a_common_name_the_unit_then_the_organization_is_shown() {
        assert_eq!(name(&[attribute(O, 0x13, b"Org"), attribute(OU, 0x13, b"Unit")]).short, "Unit");
        assert_eq!(name(&[attribute(O, 0x13, b"Org")]).short, "Org");
    }

    #[test]
    fn special_characters_are_escaped() {
        let name = name(&[attribute(CN, 0x0c, b" #a,b+c\"d\\e;f<g>\n ")]);
        assert_eq!(name.full, r#"CN=\ #a\,b\+c\"d\\e\;f\<g\>\0A\ "#);
    }

    #[test]
    fn other_string_types_are_decoded() {
        assert_eq!(name(&[attribute(CN, 0x14, b"Caf\xe9")]).short, "Café");
        assert_eq!(name(&[attribute(CN, 0x1e, b"\0C\0A\x20\xac")]).short, "CA€");
        assert_eq!(name(&[attribute(CN, 0x1c, b"\0\0\0C\0\x01\xf5\x11")]).short, "C\u{1f511}");
    }

    #[test]
    fn an_unknown_type_is_hexadecimal() {
        let name = name(&[attribute(&[0x2a, 3, 4], 0x13, b"x")]);
        assert_eq!(name.full, "1.2.3.4=#130178");
        assert_eq!(name.short, name.full);
    }

    #[test]
    fn several_attributes_in_one_part_are_joined_by_plus() {
        let both = [attribute(CN, 0x13, b"a"), attribute(OU, 0x13, b"b")].concat();
        assert_eq!(name(&[attribute(O, 0x13, b"o"), both]).full, "CN=a+OU=b,O=o");
    }
}
