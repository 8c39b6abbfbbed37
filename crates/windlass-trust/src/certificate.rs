//! The parts of a certificate that its trust is looked up by. Less strict than the walk for root stores: consumers of
//! trust attributes themselves refuse certificates that they can't parse, and an unusual certificate must not escape
//! its distrust.

use windlass::DerFault;
use windlass::der::{OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, Span};

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// The positions of the parts of one certificate. Elements are whole: tag, length and content.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub serial: &'a [u8],
    pub issuer: &'a [u8],
    pub not_before: (u8, &'a [u8]),
    pub not_after: (u8, &'a [u8]),
    pub subject: &'a [u8],
    pub spki: &'a [u8],
    /// Whether it is version 1.
    pub is_v1: bool,
    der: &'a [u8],
    /// Content of the list of extensions; empty if there are none.
    extensions: Span,
}

impl<'a> Parts<'a> {
    /// Reads a whole certificate: strict DER around the parts, anything inside them.
    pub fn read(der: &'a [u8]) -> Result<Parts<'a>, DerFault> {
        let mut outer = Reader::new(der);
        let mut certificate = outer.enter(SEQUENCE)?;
        outer.end()?;
        let mut tbs = certificate.enter(SEQUENCE)?;
        certificate.element_of(SEQUENCE)?;
        certificate.element()?;
        certificate.end()?;
        let mut is_v1 = true;
        if tbs.peek() == Some(VERSION) {
            is_v1 = tbs.enter(VERSION)?.content_of(INTEGER)? == [0];
        }
        let (serial, _) = tbs.element_of(INTEGER)?;
        tbs.element_of(SEQUENCE)?;
        let (issuer, _) = tbs.element_of(SEQUENCE)?;
        let mut validity = tbs.enter(SEQUENCE)?;
        let mut time = || validity.element().map(|(tag, _, content)| (tag, content.of(der)));
        let (not_before, not_after) = (time()?, time()?);
        let (subject, _) = tbs.element_of(SEQUENCE)?;
        let (spki, _) = tbs.element_of(SEQUENCE)?;
        let mut extensions = Span::default();
        while !tbs.is_empty() {
            // The two unique identifiers of X.509 version 2 may precede the extensions.
            let (tag, _, content) = tbs.element()?;
            if tag == EXTENSIONS {
                let mut list = tbs.inside(content);
                (_, extensions) = list.element_of(SEQUENCE)?;
            }
        }
        let of = |span: Span| span.of(der);
        Ok(Parts {
            serial: of(serial),
            issuer: of(issuer),
            not_before,
            not_after,
            subject: of(subject),
            spki: of(spki),
            is_v1,
            der,
            extensions,
        })
    }

    /// The value of the first extension of this type: the content of its OCTET STRING. An unreadable extension may have
    /// any type; its value is then empty, which is invalid for every type.
    pub fn extension(&self, oid: &[u8]) -> Option<&'a [u8]> {
        let mut list = Reader::new(self.extensions.of(self.der));
        while !list.is_empty() {
            let Ok((_, whole, _)) = list.element() else { return Some(&[]) };
            match extension(list.bytes(whole)) {
                Some((found, value)) if found == oid => return Some(value),
                Some(_) => {}
                None => return Some(&[]),
            }
        }
        None
    }
}

/// The type (content of the OBJECT IDENTIFIER) and the value (content of the OCTET STRING) of an Extension.
pub(crate) fn extension(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut extension = Reader::new(der).enter(SEQUENCE).ok()?;
    let oid = extension.content_of(OBJECT_IDENTIFIER).ok()?;
    if extension.peek() == Some(BOOLEAN) {
        extension.element().ok()?;
    }
    Some((oid, extension.content_of(OCTET_STRING).ok()?))
}

/// Encodes one element in DER.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let significant = usize::BITS.div_ceil(8) as usize - (len.leading_zeros() / 8) as usize;
    let mut out = Vec::with_capacity(len + 2 + significant);
    out.push(tag);
    if len < 0x80 {
        out.push(len as u8);
    } else {
        out.push(0x80 | significant as u8);
        let bytes = len.to_be_bytes();
        out.extend_from_slice(bytes.get(bytes.len() - significant..).unwrap_or(&[]));
    }
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_their_shortest_form() {
        for len in [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x1_0000] {
            let content = vec![7; len];
            let der = element(OCTET_STRING, &content);
            let mut reader = Reader::new(&der);
            assert_eq!(reader.content_of(OCTET_STRING), Ok(content.as_slice()));
            assert_eq!(reader.end(), Ok(()));
        }
    }

    #[test]
    fn an_extension_with_and_without_a_mark() {
        let plain = b"\x30\x09\x06\x03\x55\x1D\x0F\x04\x02\x03\x00";
        let critical = b"\x30\x0C\x06\x03\x55\x1D\x0F\x01\x01\xFF\x04\x02\x03\x00";
        assert_eq!(extension(plain), Some((&b"\x55\x1D\x0F"[..], &b"\x03\x00"[..])));
        assert_eq!(extension(critical), extension(plain));
        assert_eq!(extension(&plain[..8]), None);
    }
}
