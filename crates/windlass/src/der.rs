//! A strict DER reader: definite lengths in their shortest form, tags of one byte.

use crate::error::DerFault;

/// Tag of BOOLEAN.
pub const BOOLEAN: u8 = 0x01;
/// Tag of INTEGER.
pub const INTEGER: u8 = 0x02;
/// Tag of BIT STRING.
pub const BIT_STRING: u8 = 0x03;
/// Tag of OCTET STRING.
pub const OCTET_STRING: u8 = 0x04;
/// Tag of NULL.
pub const NULL: u8 = 0x05;
/// Tag of OBJECT IDENTIFIER.
pub const OBJECT_IDENTIFIER: u8 = 0x06;
/// Tag of UTCTime.
pub const UTC_TIME: u8 = 0x17;
/// Tag of GeneralizedTime.
pub const GENERALIZED_TIME: u8 = 0x18;
/// Tag of SEQUENCE, SEQUENCE OF.
pub const SEQUENCE: u8 = 0x30;
/// Tag of SET, SET OF.
pub const SET: u8 = 0x31;

/// `OBJ_obj2txt` gives up beyond 586 bytes (CVE-2023-2650), and `d2i_X509_PUBKEY` calls it since 3.0; no real
/// algorithm, attribute or extension comes near 128 bytes.
const MAX_OBJECT_IDENTIFIER: usize = 128;

/// A range of bytes, relative to the start of some buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// None if the buffer is too large.
    pub fn new(start: usize, len: usize) -> Option<Span> {
        Some(Span { start: u32::try_from(start).ok()?, len: u32::try_from(len).ok()? })
    }

    /// The bytes; empty if the span does not lie within `buffer`.
    pub fn of<'a>(&self, buffer: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        buffer.get(start..start + self.len as usize).unwrap_or(&[])
    }
}

/// `c2i_ASN1_OBJECT`: not empty, complete, and no part that begins with 0x80 (X.690, 8.19.2).
#[inline]
pub fn object_identifier(content: &[u8]) -> Result<(), DerFault> {
    // The object identifiers of X.520 and of most extensions.
    if matches!(content, [0x00..=0x7F, 0x00..=0x7F, 0x00..=0x7F]) { Ok(()) } else { any_object_identifier(content) }
}

fn any_object_identifier(content: &[u8]) -> Result<(), DerFault> {
    let mut first_of_part = true;
    for &byte in content {
        if first_of_part && byte == 0x80 {
            return Err(DerFault::ObjectIdentifier);
        }
        first_of_part = byte & 0x80 == 0;
    }
    // After a complete part, the next byte would start a new one.
    if content.is_empty() || !first_of_part || content.len() > MAX_OBJECT_IDENTIFIER {
        return Err(DerFault::ObjectIdentifier);
    }
    Ok(())
}

/// `c2i_ibuf`: at least one byte, and the first nine bits not all equal (X.690, 8.3.2).
pub(crate) fn integer(content: &[u8]) -> Result<(), DerFault> {
    match content {
        [] | [0x00, 0x00..=0x7F, ..] | [0xFF, 0x80..=0xFF, ..] => Err(DerFault::Integer),
        _ => Ok(()),
    }
}

/// An INTEGER that is not negative and fits every `long`.
pub(crate) fn small_number(content: &[u8]) -> Result<(), DerFault> {
    integer(content)?;
    match content {
        [0x00..=0x7F, ..] if content.len() <= 4 => Ok(()),
        _ => Err(DerFault::Integer),
    }
}

/// Reads elements one after the other. Positions are relative to the buffer that the first reader was made over.
pub struct Reader<'a> {
    buffer: &'a [u8],
    position: u32,
    /// Not beyond the buffer, and not before the position.
    end: u32,
}

impl<'a> Reader<'a> {
    /// A buffer of 4 GiB or more counts as empty: no certificate and no name comes near that.
    pub fn new(buffer: &'a [u8]) -> Reader<'a> {
        Reader { buffer, position: 0, end: u32::try_from(buffer.len()).unwrap_or(0) }
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.position == self.end
    }

    /// The tag of the next element.
    pub fn peek(&self) -> Option<u8> {
        if self.is_empty() { None } else { self.buffer.get(self.position as usize).copied() }
    }

    /// Fails if anything is left.
    pub fn end(&self) -> Result<(), DerFault> {
        if self.is_empty() { Ok(()) } else { Err(DerFault::TrailingBytes) }
    }

    /// Enters the next element, which must have this tag: returns a reader over its content.
    #[inline]
    pub fn enter(&mut self, tag: u8) -> Result<Reader<'a>, DerFault> {
        let (_, content) = self.element_of(tag)?;
        Ok(self.inside(content))
    }

    /// Reads the next element, which must have this tag: returns its content.
    #[inline]
    pub fn content_of(&mut self, tag: u8) -> Result<&'a [u8], DerFault> {
        let (_, content) = self.element_of(tag)?;
        Ok(content.of(self.buffer))
    }

    /// Reads the next element, which must have this tag: returns the spans of the whole element and of its content.
    #[inline]
    pub fn element_of(&mut self, tag: u8) -> Result<(Span, Span), DerFault> {
        match self.element()? {
            (found, whole, content) if found == tag => Ok((whole, content)),
            _ => Err(DerFault::UnexpectedTag),
        }
    }

    /// Reads the next element: returns its tag and the spans of the whole element and of its content. Lengths must be
    /// in DER's shortest form. A tag of several bytes is taken as its first byte, and matches no known tag.
    #[inline]
    pub fn element(&mut self) -> Result<(u8, Span, Span), DerFault> {
        let rest = self.buffer.get(self.position as usize..self.end as usize).ok_or(DerFault::Truncated)?;
        let (tag, header, len) = match *rest {
            // Nearly all elements are short.
            [tag, len @ 0..=0x7F, ..] => (tag, 2, u32::from(len)),
            _ => long_header(rest)?,
        };
        if len > self.end - self.position - header {
            return Err(DerFault::Truncated);
        }
        // All of it lies before the end.
        let whole = Span { start: self.position, len: header + len };
        let content = Span { start: self.position + header, len };
        self.position += whole.len;
        Ok((tag, whole, content))
    }

    /// The bytes of an element, or of its content, that this reader has read.
    pub fn bytes(&self, span: Span) -> &'a [u8] {
        span.of(self.buffer)
    }

    /// A reader over the content of an element that this reader has read.
    pub fn inside(&self, span: Span) -> Reader<'a> {
        Reader { buffer: self.buffer, position: span.start, end: span.start + span.len }
    }
}

/// Tag, length of the header, and length of the content of an element that is not short.
fn long_header(rest: &[u8]) -> Result<(u8, u32, u32), DerFault> {
    match *rest {
        [tag, 0x81, len @ 0x80..=0xFF, ..] => Ok((tag, 3, u32::from(len))),
        [tag, 0x82, a @ 1..=0xFF, b, ..] => Ok((tag, 4, u32::from_be_bytes([0, 0, a, b]))),
        [tag, 0x83, a @ 1..=0xFF, b, c, ..] => Ok((tag, 5, u32::from_be_bytes([0, a, b, c]))),
        [tag, 0x84, a @ 1..=0xFF, b, c, d, ..] => Ok((tag, 6, u32::from_be_bytes([a, b, c, d]))),
        [] | [_] | [_, 0x81] | [_, 0x82, _] | [_, 0x82] => Err(DerFault::Truncated),
        _ => Err(DerFault::Length),
    }
}
