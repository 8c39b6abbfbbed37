//! p11-kit's own format, `[p11-kit-object-v1]` (common/persist.c, common/lexer.c): sections of `name: value` lines and
//! PEM blocks, one section per object.

use std::collections::BTreeMap;

use windlass::der::OBJECT_IDENTIFIER;

use super::attributes::{self, Field};
use super::{pem, text};
use crate::{element, oid_of};

const HEADER: &[u8] = b"p11-kit-object-v1";
const MAGIC: &[u8] = b"[p11-kit-object-v1]";
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";

/// No kind of object in p11-kit has as many attributes (`builder_schema`, trust/builder.c).
const MANY: usize = 64;

/// Attributes that contain attributes. Some versions of p11-kit skip them.
const TEMPLATES: [Field; 3] = [0x4000_0211, 0x4000_0212, 0x4000_0213];

/// The file is not of this format.
struct OtherFormat;

/// The reason why a line is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The file is not in this format for p11-kit either.
    OtherFormat,
    /// p11-kit may read it, in this version or another.
    Unknown,
}

/// The content of one section: each attribute once.
#[derive(Debug, Default)]
pub(super) struct Fields {
    values: BTreeMap<Field, Vec<u8>>,
    /// There were more attributes, which are not kept.
    has_more: bool,
}

impl Fields {
    /// The value of an attribute.
    pub fn get(&self, field: Field) -> Option<&[u8]> {
        self.values.get(&field).map(Vec::as_slice)
    }

    /// An attribute as a number.
    pub fn number(&self, field: Field) -> Option<u64> {
        Some(u64::from_ne_bytes(self.get(field)?.try_into().ok()?))
    }

    /// An attribute as a boolean of one byte.
    pub fn truth(&self, field: Field) -> Option<bool> {
        match self.get(field)? {
            [byte] => Some(*byte != 0),
            _ => None,
        }
    }

    /// Whether all attributes are among these.
    pub fn are_among(&self, allowed: &[&[Field]]) -> bool {
        !self.has_more && self.values.keys().all(|field| allowed.iter().any(|some| some.contains(field)))
    }

    fn set(&mut self, field: Field, value: Vec<u8>) {
        if self.values.len() < MANY || self.values.contains_key(&field) {
            self.values.insert(field, value);
        } else {
            self.has_more = true;
        }
    }

    fn set_if_absent(&mut self, field: Field, value: Vec<u8>) {
        if !self.values.contains_key(&field) {
            self.set(field, value);
        }
    }
}

/// Whether it may be in this format: its marker occurs somewhere in the file.
pub(crate) fn is_persist(bytes: &[u8]) -> bool {
    memchr::memmem::find(text(bytes), MAGIC).is_some()
}

/// All sections; None if for p11-kit the file is not in this format, and it tries the next one. The flag says whether
/// everything was understood: if not, p11-kit may read more, in this version or another.
pub(super) fn read(bytes: &[u8]) -> (Option<Vec<Fields>>, bool) {
    // Some functions of p11-kit end the text at a NUL, others do not.
    let text = text(bytes);
    let mut is_understood = text.len() == bytes.len();
    (sections(text, &mut is_understood).ok(), is_understood)
}

/// All sections, without the attributes that are not understood.
fn sections(bytes: &[u8], is_understood: &mut bool) -> Result<Vec<Fields>, OtherFormat> {
    let mut objects: Vec<Fields> = Vec::new();
    // Sections of other kinds are skipped.
    let mut skip = false;
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(BEGIN) {
            let (block, after) = split_block(rest).ok_or(OtherFormat)?;
            rest = after;
            if !skip {
                pem_block(block, objects.last_mut().ok_or(OtherFormat)?)?;
            }
            continue;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = after.get(1..).unwrap_or(&[]);
        match trim(line) {
            [] | [b'#', ..] => {}
            [b'[', name @ .., b']'] => {
                skip = name != HEADER;
                if !skip {
                    objects.push(Fields::default());
                }
            }
            [b'[', ..] => return Err(OtherFormat),
            line => {
                let colon = memchr::memchr(b':', line).ok_or(OtherFormat)?;
                if !skip {
                    let (name, value) = line.split_at_checked(colon).ok_or(OtherFormat)?;
                    let value = value.get(1..).unwrap_or(&[]);
                    let object = objects.last_mut().ok_or(OtherFormat)?;
                    match (field(trim(name)), parse(trim(value))) {
                        (Ok(field), Ok(value)) => object.set(field, value),
                        (Err(Fault::OtherFormat), _) | (Ok(_), Err(Fault::OtherFormat)) => return Err(OtherFormat),
                        (Err(Fault::Unknown), _) | (_, Err(Fault::Unknown)) => *is_understood = false,
                    }
                }
            }
        }
    }
    Ok(objects)
}

/// Splits the text after a block: the block from its first line to its last, and the rest.
fn split_block(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memmem::find(text, END)? + 1;
    let len = memchr::memchr(b'\n', text.get(end..)?).map_or(text.len(), |line| end + line + 1);
    text.split_at_checked(len)
}

fn pem_block(block: &[u8], fields: &mut Fields) -> Result<(), OtherFormat> {
    let [block] = <[pem::Block<'_>; 1]>::try_from(pem::blocks(block)).map_err(|_| OtherFormat)?;
    match block.kind {
        b"CERTIFICATE" => {
            fields.set_if_absent(attributes::CLASS, attributes::CERTIFICATE.to_ne_bytes().into());
            fields.set_if_absent(attributes::CERTIFICATE_TYPE, attributes::X_509.to_ne_bytes().into());
            fields.set_if_absent(attributes::VALUE, block.content);
        }
        b"PUBLIC KEY" => fields.set_if_absent(attributes::PUBLIC_KEY_INFO, block.content),
        _ => return Err(OtherFormat),
    }
    Ok(())
}

/// An attribute by its number or its name (`field_to_attribute`).
fn field(name: &[u8]) -> Result<Field, Fault> {
    let known = match number(name) {
        // p11-kit's number for "none".
        Some(u64::MAX) => return Err(Fault::Unknown),
        Some(number) => Some(number),
        None => std::str::from_utf8(name).ok().and_then(attributes::field),
    };
    match known {
        Some(field) if TEMPLATES.contains(&field) => Err(Fault::Unknown),
        Some(field) => Ok(field),
        None => Err(unknown_word(name)),
    }
}

/// A constant, a string in quotes with %-escapes, true or false, a number, or an object identifier (`parse_value`).
fn parse(value: &[u8]) -> Result<Vec<u8>, Fault> {
    if let [b'"', quoted @ .., b'"'] = value {
        return unescape(quoted).ok_or(Fault::OtherFormat);
    }
    let word = std::str::from_utf8(value).unwrap_or_default();
    if let Some(number) = attributes::constant(word).or_else(|| number(value)) {
        return Ok(number.to_ne_bytes().into());
    }
    match word {
        "true" => Ok(vec![1]),
        "false" => Ok(vec![0]),
        _ => object_identifier(word).unwrap_or(Err(unknown_word(value))),
    }
}

/// The fault for a word that could be a name: of a key or mechanism, or of something that a later version knows.
fn unknown_word(text: &[u8]) -> Fault {
    let is_name = text.first().is_some_and(u8::is_ascii_lowercase)
        && text.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
    if is_name { Fault::Unknown } else { Fault::OtherFormat }
}

/// Parses the whole string like `strtoul`. There need not be a digit.
fn number(text: &[u8]) -> Option<u64> {
    let (is_negative, digits) = match text {
        [] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number = Some(0u64);
    for digit in digits {
        let digit = char::from(*digit).to_digit(10)?;
        number = number.and_then(|number| number.checked_mul(10)?.checked_add(u64::from(digit)));
    }
    match number {
        Some(number) if is_negative => Some(number.wrapping_neg()),
        Some(number) => Some(number),
        None => Some(u64::MAX),
    }
}

/// `parse_oid`. None if it is not an object identifier; p11-kit has forgotten that there is a digit 8.
fn object_identifier(text: &str) -> Option<Result<Vec<u8>, Fault>> {
    let is_one = text.len() >= 4
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.bytes().filter(|byte| *byte == b'.').count() >= 2
        && !text.contains("..")
        && !text.starts_with(['.', '0'])
        && !text.ends_with('.');
    if !is_one {
        return None;
    }
    let oid = oid_of(text).filter(|_| !text.contains('8'));
    Some(oid.map(|oid| element(OBJECT_IDENTIFIER, &oid)).ok_or(Fault::Unknown))
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
        for (text, value) in [
            (&b"certificate"[..], 1u64.to_ne_bytes().to_vec()),
            // The name of an attribute is also a constant.
            (b"trusted", 0x86u64.to_ne_bytes().into()),
            (b"true", vec![1]),
            (b"17", 17u64.to_ne_bytes().into()),
            (b"", 0u64.to_ne_bytes().into()),
            (b"-1", u64::MAX.to_ne_bytes().into()),
            (b"+7", 7u64.to_ne_bytes().into()),
            (b"99999999999999999999", u64::MAX.to_ne_bytes().into()),
            (b"-99999999999999999999", u64::MAX.to_ne_bytes().into()),
            (b"2.5.29.37", b"\x06\x03\x55\x1D\x25".to_vec()),
            (b"\"a%20%fFb\"", b"a \xFFb".to_vec()),
            (b"\"\"", Vec::new()),
        ] {
            assert_eq!(parse(text), Ok(value), "{}", text.escape_ascii());
        }
        for none in [&b"\""[..], b"\"%2\"", b"\"%gg\"", b"Nonsense", b"a b", b"-", b"+", b"1.2", b"0.2.3", b"1.2..3"] {
            assert_eq!(parse(none), Err(Fault::OtherFormat), "{}", none.escape_ascii());
        }
        for maybe in [&b"aes-ecb"[..], b"nonsense", b"2.5.29.38", b"3.1.1", b"1.2.99999999999999999999"] {
            assert_eq!(parse(maybe), Err(Fault::Unknown), "{}", maybe.escape_ascii());
        }
    }

    #[test]
    fn names_of_each_kind() {
        assert_eq!(field(b"x-distrusted"), Ok(attributes::X_DISTRUSTED));
        assert_eq!((field(b"134"), field(b""), field(b"-0")), (Ok(attributes::TRUSTED), Ok(0), Ok(0)));
        assert_eq!(
            (field(b"-1"), field(b"x-distrust"), field(b"1073742353")),
            (Err(Fault::Unknown), Err(Fault::Unknown), Err(Fault::Unknown))
        );
        assert_eq!((field(b"Subject"), field(b"a b")), (Err(Fault::OtherFormat), Err(Fault::OtherFormat)));
    }

    #[test]
    fn sections_with_fields_comments_and_blocks() {
        let text = b"# c\n[p11-kit-object-v1]\nlabel: \"a b\"\n trusted : true \n\n[p11-kit-object-v1]\nclass: data\n\
            -----BEGIN PUBLIC KEY-----\nYWJj\n-----END PUBLIC KEY-----\n\
            [other]\nwhat: ever\n-----BEGIN X-----\n\n-----END X-----\n";
        let (objects, is_understood) = read(text);
        let objects = objects.unwrap();
        assert!(is_understood);
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0].get(attributes::LABEL), Some(&b"a b"[..]));
        assert_eq!(objects[0].truth(attributes::TRUSTED), Some(true));
        assert_eq!(objects[1].number(attributes::CLASS), Some(0));
        assert_eq!(objects[1].get(attributes::PUBLIC_KEY_INFO), Some(&b"abc"[..]));
    }

    #[test]
    fn damage_anywhere_spoils_the_file() {
        let good = "[p11-kit-object-v1]\ntrusted: true\n";
        assert!(read(good.as_bytes()).0.is_some());
        for bad in [
            "trusted: true\n[p11-kit-object-v1]\n",
            "[p11-kit-object-v1]\nno colon\n",
            "[p11-kit-object-v1]\nSubject: CN\n",
            "[p11-kit-object-v1]\ntrusted: may be\n",
            "[p11-kit-object-v1\n",
            "[p11-kit-object-v1]\n-----BEGIN CERTIFICATE-----\n",
            "[p11-kit-object-v1]\n-----BEGIN X-----\nYWJj\n-----END X-----\n",
        ] {
            assert!(read(bad.as_bytes()).0.is_none(), "{bad}");
        }
        for unknown in
            ["[p11-kit-object-v1]\nnonsense: true\ntrusted: true\n", "[p11-kit-object-v1]\ntrusted: true\n\0\n"]
        {
            let (objects, is_understood) = read(unknown.as_bytes());
            assert!(!is_understood, "{unknown}");
            assert_eq!(objects.unwrap()[0].truth(attributes::TRUSTED), Some(true), "what is understood is kept");
        }
    }

    #[test]
    fn many_attributes_of_one_object() {
        let mut text = String::from("[p11-kit-object-v1]\n");
        (0..100_000).for_each(|number| text += &format!("{number}:\n"));
        let objects = read(text.as_bytes()).0.unwrap();
        let all: Vec<Field> = (0..100_000).collect();
        assert!(objects[0].values.len() == MANY && !objects[0].are_among(&[&all]));
    }
}
