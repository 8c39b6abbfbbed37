//! OpenSSL's TRUSTED CERTIFICATE: a certificate followed by a CertAux, as p11-kit understands it
//! (`build_openssl_extensions`, trust/parser.c).

use windlass::der::{OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, Span, object_identifier};

use super::text;
use crate::{Description, Parts, Sayings, Stapled, element, is_algorithm, is_certificate};

const UTF8_STRING: u8 = 0x0C;
const BOOLEAN_TRUE: &[u8] = b"\x01\x01\xFF";
const REJECT: u8 = 0xA0;
const OTHER: u8 = 0xA1;

/// 2.5.29.14
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x55\x1D\x0E";
/// 2.5.29.37
const EXT_KEY_USAGE: &[u8] = b"\x55\x1D\x25";
/// 1.3.6.1.4.1.3319.6.10.1 and .16: p11-kit's own, for rejected purposes and for an empty list of purposes.
const OPENSSL_REJECT: &[u8] = b"\x2B\x06\x01\x04\x01\x99\x77\x06\x0A\x01";
const RESERVED_PURPOSE: &[u8] = b"\x2B\x06\x01\x04\x01\x99\x77\x06\x0A\x10";

/// The content of a CertAux.
struct Aux<'a> {
    trust: Vec<&'a [u8]>,
    reject: Option<Vec<&'a [u8]>>,
    alias: Option<&'a [u8]>,
    /// The whole OCTET STRING.
    key_id: Option<&'a [u8]>,
}

/// Reads the content of a block into a description, which is not yet added, and stapled extensions. None if it is
/// invalid.
pub(super) fn read(content: &[u8], all: &mut Sayings) -> Option<Description> {
    let mut reader = Reader::new(content);
    let (whole, _) = reader.element_of(SEQUENCE).ok()?;
    let der = reader.bytes(whole);
    if !is_certificate(der) {
        return None;
    }
    let parts = Parts::read(der).ok()?;
    let mut description = Description { der: Some(der.into()), ..Description::default() };
    if reader.is_empty() {
        return Some(description);
    }
    let mut aux = parse(&mut reader)?;
    reader.end().ok()?;
    aux.trust.retain(|oid| !aux.reject.iter().flatten().any(|rejected| rejected == oid));
    let mut staple = |oid: &[u8], critical: bool, value: &[u8]| {
        all.extensions.push(Stapled {
            spki: parts.spki.into(),
            oid: oid.into(),
            der: extension(oid, critical, value).into(),
            label: None,
            id: None,
        });
    };
    staple(EXT_KEY_USAGE, true, &list(&aux.trust));
    if let Some(reject) = aux.reject.filter(|reject| !reject.is_empty()) {
        staple(OPENSSL_REJECT, false, &list(&reject));
    }
    if let Some(key_id) = aux.key_id {
        staple(SUBJECT_KEY_IDENTIFIER, false, key_id);
    }
    // For OpenSSL, trust for no purpose means distrust for all.
    (description.trusted, description.distrusted) = (!aux.trust.is_empty(), aux.trust.is_empty());
    description.label = aux.alias.and_then(|alias| std::str::from_utf8(text(alias)).ok()).map(Box::from);
    Some(description)
}

/// Encodes an Extension in DER.
pub(crate) fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let mark: &[u8] = if critical { BOOLEAN_TRUE } else { &[] };
    element(SEQUENCE, &[&element(OBJECT_IDENTIFIER, oid), mark, &element(OCTET_STRING, value)].concat())
}

/// Encodes an ExtKeyUsageSyntax. It can't be empty: p11-kit uses a purpose that stands for none.
pub(crate) fn list(oids: &[&[u8]]) -> Vec<u8> {
    let oids = if oids.is_empty() { &[RESERVED_PURPOSE] } else { oids };
    let elements: Vec<u8> = oids.iter().flat_map(|oid| element(OBJECT_IDENTIFIER, oid)).collect();
    element(SEQUENCE, &elements)
}

/// `X509_CERT_AUX`.
fn parse<'a>(reader: &mut Reader<'a>) -> Option<Aux<'a>> {
    let mut fields = reader.enter(SEQUENCE).ok()?;
    let mut aux = Aux { trust: Vec::new(), reject: None, alias: None, key_id: None };
    if fields.peek() == Some(SEQUENCE) {
        aux.trust = oids(fields.enter(SEQUENCE).ok()?)?;
    }
    if fields.peek() == Some(REJECT) {
        aux.reject = Some(oids(fields.enter(REJECT).ok()?)?);
    }
    if fields.peek() == Some(UTF8_STRING) {
        aux.alias = Some(fields.content_of(UTF8_STRING).ok()?);
    }
    if fields.peek() == Some(OCTET_STRING) {
        let (whole, _): (Span, Span) = fields.element_of(OCTET_STRING).ok()?;
        aux.key_id = Some(fields.bytes(whole));
    }
    if fields.peek() == Some(OTHER) {
        let mut other = fields.enter(OTHER).ok()?;
        while !other.is_empty() {
            is_algorithm(&mut other).ok()?;
        }
    }
    fields.end().ok()?;
    Some(aux)
}

fn oids<'a>(mut list: Reader<'a>) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    while !list.is_empty() {
        let oid = list.content_of(OBJECT_IDENTIFIER).ok()?;
        object_identifier(oid).ok()?;
        found.push(oid);
    }
    Some(found)
}
