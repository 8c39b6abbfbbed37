//! p11-kit's own format, `[p11-kit-object-v1]` (common/persist.c, common/lexer.c): sections of `name: value` lines and PEM
//! blocks, one section an object.

use super::attributes::{self, Field};
use super::{pem, tree};
use crate::der::OBJECT_IDENTIFIER;
use crate::trust::{element, oid_of};

const HEADER: &[u8] = b"p11-kit-object-v1";
const MAGIC: &[u8] = b"[p11-kit-object-v1]";
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";

/// What one section says: each attribute once.
#[derive(Default)]
pub(super) struct Fields(Vec<(Field, Vec<u8>)>);

impl Fields {
    /// The value of an attribute.
    pub fn get(&self, field: Field) -> Option<&[u8]> {
        self.0.iter().find(|(other, _)| *other == field).map(|(_, value)| value.as_slice())
    }

    /// A number.
    pub fn number(&self, field: Field) -> Option<u64> {
        Some(u64::from_ne_bytes(self.get(field)?.try_into().ok()?))
    }

    /// A boolean, of one byte.
    pub fn truth(&self, field: Field) -> Option<bool> {
        match self.get(field)? {
            [byte] => Some(*byte != 0),
            _ => None,
        }
    }

    fn set(&mut self, field: Field, value: Vec<u8>) {
        self.0.retain(|(other, _)| *other != field);
        self.0.push((field, value));
    }

    fn set_if_absent(&mut self, field: Field, value: Vec<u8>) {
        if self.get(field).is_none() {
            self.0.push((field, value));
        }
    }
}

/// Whether it looks as if it were of this format: its mark stands anywhere in it.
pub(crate) fn is_persist(bytes: &[u8]) -> bool {
    tree::contains(bytes, MAGIC)
}

/// All sections. None if the file is damaged anywhere.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Fields>> {
    let mut objects: Vec<Fields> = Vec::new();
    // In a section of another kind nothing is looked at.
    let mut skip = false;
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(BEGIN) {
            let end = memchr::memmem::find(rest, END)? + 1;
            let len = memchr::memchr(b'\n', rest.get(end..)?).map_or(rest.len(), |line| end + line + 1);
            let (block, after) = rest.split_at_checked(len)?;
            rest = after;
            if !skip {
                pem_block(block, objects.last_mut()?)?;
            }
            continue;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = trim(rest.get(..end)?);
        rest = rest.get(end + 1..).unwrap_or(&[]);
        match line {
            [] | [b'#', ..] => {}
            [b'[', name @ .., b']'] => {
                skip = name != HEADER;
                if !skip {
                    objects.push(Fields::default());
                }
            }
            [b'[', ..] => return None,
            line => {
                let colon = memchr::memchr(b':', line)?;
                if !skip {
                    let (name, value) = (trim(line.get(..colon)?), trim(line.get(colon + 1..)?));
                    let (name, value) = (std::str::from_utf8(name).ok()?, value);
                    objects.last_mut()?.set(attributes::field(name)?, parse(value)?);
                }
            }
        }
    }
    Some(objects)
}

fn pem_block(block: &[u8], fields: &mut Fields) -> Option<()> {
    let [block] = <[pem::Block<'_>; 1]>::try_from(pem::blocks(block)).ok()?;
    match block.kind {
        b"CERTIFICATE" => {
            fields.set_if_absent(attributes::CLASS, attributes::CERTIFICATE.to_ne_bytes().into());
            fields.set_if_absent(attributes::CERTIFICATE_TYPE, attributes::X_509.to_ne_bytes().into());
            fields.set_if_absent(attributes::VALUE, block.content);
        }
        b"PUBLIC KEY" => fields.set_if_absent(attributes::PUBLIC_KEY_INFO, block.content),
        _ => return None,
    }
    Some(())
}

/// A constant, a string in quotes with %-escapes, true or false, a number, or an object identifier.
fn parse(value: &[u8]) -> Option<Vec<u8>> {
    if let Ok(text) = std::str::from_utf8(value) {
        if let Some(number) = attributes::constant(text) {
            return Some(number.to_ne_bytes().into());
        }
        match text {
            "true" => return Some(vec![1]),
            "false" => return Some(vec![0]),
            _ => {}
        }
        if let Ok(number) = text.parse::<u64>() {
            return Some(number.to_ne_bytes().into());
        }
        if let Some(oid) = oid_of(text) {
            return Some(element(OBJECT_IDENTIFIER, &oid));
        }
    }
    match value {
        [b'"', quoted @ .., b'"'] => unescape(quoted),
        _ => None,
    }
}

fn unescape(mut text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut out = Vec::with_capacity(text.len());
    loop {
        text = match *text {
            [] => return Some(out),
            [b'%', high, low, ref rest @ ..] => {
                out.push((digit(high)? << 4 | digit(low)?) as u8);
                rest
            }
            [b'%', ..] => return None,
            [byte, ref rest @ ..] => {
                out.push(byte);
                rest
            }
        };
    }
}

fn trim(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| !pem::is_space(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !pem::is_space(byte)).map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_kind() {
        assert_eq!(parse(b"certificate"), Some(1u64.to_ne_bytes().into()));
        assert_eq!(parse(b"true"), Some(vec![1]));
        assert_eq!(parse(b"17"), Some(17u64.to_ne_bytes().into()));
        assert_eq!(parse(b"2.5.29.37"), Some(b"\x06\x03\x55\x1D\x25".to_vec()));
        assert_eq!(parse(b"\"a%20%fFb\""), Some(b"a \xFFb".to_vec()));
        assert_eq!(parse(b"\"\""), Some(Vec::new()));
        for other in [&b""[..], b"\"", b"\"%2\"", b"\"%gg\"", b"nonsense", b"-1", b"1.2.x"] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn sections_with_fields_comments_and_blocks() {
        let text = b"# c\n[p11-kit-object-v1]\nlabel: \"a b\"\n trusted : true \n\n[p11-kit-object-v1]\nclass: data\n\
            -----BEGIN PUBLIC KEY-----\nYWJj\n-----END PUBLIC KEY-----\n[other]\nwhat: ever\n-----BEGIN X-----\n\n-----END X-----\n";
        let objects = read(text).unwrap();
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0].get(attributes::LABEL), Some(&b"a b"[..]));
        assert_eq!(objects[0].truth(attributes::TRUSTED), Some(true));
        assert_eq!(objects[1].number(attributes::CLASS), Some(0));
        assert_eq!(objects[1].get(attributes::PUBLIC_KEY_INFO), Some(&b"abc"[..]));
    }

    #[test]
    fn damage_anywhere_spoils_the_file() {
        let good = "[p11-kit-object-v1]\ntrusted: true\n";
        assert!(read(good.as_bytes()).is_some());
        for bad in [
            "trusted: true\n[p11-kit-object-v1]\n",
            "[p11-kit-object-v1]\nno colon\n",
            "[p11-kit-object-v1]\nnonsense: true\n",
            "[p11-kit-object-v1]\ntrusted: maybe\n",
            "[p11-kit-object-v1\n",
            "[p11-kit-object-v1]\n-----BEGIN CERTIFICATE-----\n",
            "[p11-kit-object-v1]\n-----BEGIN X-----\nYWJj\n-----END X-----\n",
        ] {
            assert!(read(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
