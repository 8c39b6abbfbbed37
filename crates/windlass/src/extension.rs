//! The extensions that libcrypto decodes once and caches.
//!
//! `d2i_X509` accepts any value. `ossl_x509v3_cache_extensions` (OpenSSL, crypto/x509/v3_purp.c;
//! `x509v3_cache_extensions` in 1.1.1) decodes the extensions that matter for a chain when the certificate is first
//! compared or added to a store. A value that it can't decode makes the certificate invalid and raises errors, once for
//! each object: one shared object would behave differently from many separate ones. Certificates with such values are
//! refused. All other extensions are decoded on each request, and may hold anything.

use crate::der::{
    BIT_STRING, BOOLEAN, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, Span, integer, object_identifier,
    small_number,
};
use crate::error::DerFault;
use crate::general_name::{general_name, general_names};
use crate::name::Canonicaliser;
use crate::policy;

/// Prefix of the extensions of RFC 5280: 2.5.29.x.
const ID_CE: [u8; 2] = [0x55, 0x1D];
const SUBJECT_KEY_IDENTIFIER: u8 = 14;
const KEY_USAGE: u8 = 15;
const SUBJECT_ALT_NAME: u8 = 17;
const BASIC_CONSTRAINTS: u8 = 19;
const NAME_CONSTRAINTS: u8 = 30;
const CRL_DISTRIBUTION_POINTS: u8 = 31;
const CERTIFICATE_POLICIES: u8 = 32;
const POLICY_MAPPINGS: u8 = 33;
const AUTHORITY_KEY_IDENTIFIER: u8 = 35;
const POLICY_CONSTRAINTS: u8 = 36;
const EXT_KEY_USAGE: u8 = 37;
const INHIBIT_ANY_POLICY: u8 = 54;

/// 2.16.840.1.113730.1.1
const NETSCAPE_CERT_TYPE: &[u8] = b"\x60\x86\x48\x01\x86\xF8\x42\x01\x01";
/// Prefix of the PKIX extensions: 1.3.6.1.5.5.7.1.x.
const ID_PE: [u8; 7] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01];
/// RFC 3779, and its replacement RFC 8360.
const IP_ADDR_BLOCKS: u8 = 7;
const AUTONOMOUS_SYS_IDS: u8 = 8;
const IP_ADDR_BLOCKS_V2: u8 = 28;
const AUTONOMOUS_SYS_IDS_V2: u8 = 29;
const PROXY_CERT_INFO: u8 = 14;

/// The context tags from 0 to 2, primitive and constructed.
const IMPLICIT: [u8; 3] = [0x80, 0x81, 0x82];
const TAGGED: [u8; 3] = [0xA0, 0xA1, 0xA2];

/// No CA certificate has more; comparing each extension with all others must stay cheap.
const MAX_EXTENSIONS: usize = 32;

/// Walks over the list, and returns the subject key identifier; empty if there is none.
pub(crate) fn extensions(reader: &mut Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<Span, DerFault> {
    let mut list = reader.enter(SEQUENCE)?;
    if list.is_empty() {
        return Err(DerFault::Extension);
    }
    let mut key_id = Span::default();
    let mut seen = [Span::default(); MAX_EXTENSIONS];
    let mut count = 0;
    while !list.is_empty() {
        let mut extension = list.enter(SEQUENCE)?;
        let (_, place) = extension.element_of(OBJECT_IDENTIFIER)?;
        let oid = list.bytes(place);
        object_identifier(oid)?;
        // `X509_get_ext_d2i` accepts neither of two.
        let before = seen.get(..count).unwrap_or(&[]);
        if before.iter().any(|other| list.bytes(*other) == oid) {
            return Err(DerFault::DuplicateExtension);
        }
        *seen.get_mut(count).ok_or(DerFault::ManyExtensions)? = place;
        count += 1;
        if extension.peek() == Some(BOOLEAN) {
            boolean(&mut extension)?;
        }
        let (_, value) = extension.element_of(OCTET_STRING)?;
        extension.end()?;
        if value.len == 0 {
            return Err(DerFault::Extension);
        }
        let value = list.inside(value);
        if *oid == [ID_CE[0], ID_CE[1], SUBJECT_KEY_IDENTIFIER] {
            key_id = key_identifier(value)?;
        } else {
            known(oid, value, canonicaliser)?;
        }
    }
    Ok(key_id)
}

/// Checks the value of an extension, if libcrypto caches its decoded form.
fn known(oid: &[u8], value: Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    if let Some([arc]) = oid.strip_prefix(&ID_CE) {
        return match *arc {
            KEY_USAGE => key_usage(value),
            SUBJECT_ALT_NAME => general_names(only_sequence(value)?, canonicaliser),
            BASIC_CONSTRAINTS => basic_constraints(only_sequence(value)?),
            NAME_CONSTRAINTS => name_constraints(only_sequence(value)?, canonicaliser),
            CRL_DISTRIBUTION_POINTS => distribution_points(only_sequence(value)?, canonicaliser),
            CERTIFICATE_POLICIES => policy::certificate_policies(value),
            POLICY_MAPPINGS => policy::policy_mappings(value),
            AUTHORITY_KEY_IDENTIFIER => authority_key_identifier(only_sequence(value)?, canonicaliser),
            POLICY_CONSTRAINTS => policy::policy_constraints(value),
            EXT_KEY_USAGE => ext_key_usage(only_sequence(value)?),
            INHIBIT_ANY_POLICY => policy::inhibit_any_policy(value),
            _ => Ok(()),
        };
    }
    match oid.strip_prefix(&ID_PE) {
        Some([IP_ADDR_BLOCKS | AUTONOMOUS_SYS_IDS | IP_ADDR_BLOCKS_V2 | AUTONOMOUS_SYS_IDS_V2 | PROXY_CERT_INFO]) => {
            Err(DerFault::RareExtension)
        }
        _ if oid == NETSCAPE_CERT_TYPE => only_bits(value).map(drop),
        _ => Ok(()),
    }
}

fn boolean(reader: &mut Reader<'_>) -> Result<bool, DerFault> {
    match reader.content_of(BOOLEAN)? {
        [0x00] => Ok(false),
        [0xFF] => Ok(true),
        _ => Err(DerFault::Boolean),
    }
}

/// The content of a value that is one SEQUENCE.
fn only_sequence(mut value: Reader<'_>) -> Result<Reader<'_>, DerFault> {
    let content = value.enter(SEQUENCE)?;
    value.end()?;
    Ok(content)
}

/// The flags of a value that is one BIT STRING.
fn only_bits(mut value: Reader<'_>) -> Result<&[u8], DerFault> {
    let bits = flags(value.content_of(BIT_STRING)?)?;
    value.end()?;
    Ok(bits)
}

/// One or two bytes of flags, with zeros in the unused bits (`c2i_ASN1_BIT_STRING` clears them).
fn flags(content: &[u8]) -> Result<&[u8], DerFault> {
    match content {
        [unused @ 0..=7, bits @ ..] => match bits {
            [last] | [_, last] if last.trailing_zeros() >= u32::from(*unused) => Ok(bits),
            _ => Err(DerFault::BitString),
        },
        _ => Err(DerFault::BitString),
    }
}

/// The content of a subjectKeyIdentifier extension: one OCTET STRING, not empty.
fn key_identifier(mut value: Reader<'_>) -> Result<Span, DerFault> {
    let (_, content) = value.element_of(OCTET_STRING)?;
    value.end()?;
    if content.len == 0 {
        return Err(DerFault::ExtensionValue);
    }
    Ok(content)
}

/// Since 3.0 at least one flag must be set (`X509V3_R_EMPTY_KEY_USAGE`).
fn key_usage(value: Reader<'_>) -> Result<(), DerFault> {
    if only_bits(value)?.iter().all(|byte| *byte == 0) {
        return Err(DerFault::ExtensionValue);
    }
    Ok(())
}

/// A path length must not be negative or too long for `ASN1_INTEGER_get`; for a certificate that is not a CA, 1.1.1
/// only accepts zero.
fn basic_constraints(mut constraints: Reader<'_>) -> Result<(), DerFault> {
    let is_ca = constraints.peek() == Some(BOOLEAN) && boolean(&mut constraints)?;
    if is_ca && !constraints.is_empty() {
        small_number(constraints.content_of(INTEGER)?)?;
    }
    constraints.end()
}

fn ext_key_usage(mut purposes: Reader<'_>) -> Result<(), DerFault> {
    if purposes.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    while !purposes.is_empty() {
        object_identifier(purposes.content_of(OBJECT_IDENTIFIER)?)?;
    }
    Ok(())
}

fn authority_key_identifier(mut identifier: Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    if identifier.peek() == Some(IMPLICIT[0]) {
        identifier.content_of(IMPLICIT[0])?;
    }
    if identifier.peek() == Some(TAGGED[1]) {
        general_names(identifier.enter(TAGGED[1])?, canonicaliser)?;
    }
    if identifier.peek() == Some(IMPLICIT[2]) {
        integer(identifier.content_of(IMPLICIT[2])?)?;
    }
    identifier.end()
}

/// Permitted subtrees of names, excluded ones, or both. Minimum and maximum are not used (RFC 5280, 4.2.1.10).
fn name_constraints(mut constraints: Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    if constraints.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    for tag in [TAGGED[0], TAGGED[1]] {
        if constraints.peek() != Some(tag) {
            continue;
        }
        let mut subtrees = constraints.enter(tag)?;
        if subtrees.is_empty() {
            return Err(DerFault::ExtensionValue);
        }
        while !subtrees.is_empty() {
            let mut subtree = subtrees.enter(SEQUENCE)?;
            general_name(&mut subtree, canonicaliser)?;
            subtree.end()?;
        }
    }
    constraints.end()
}

/// Since 3.0, `setup_dp` requires a name or an issuer. Up to 3.5 it completes a name that is relative to the issuer; no
/// CA uses these, and they are refused.
fn distribution_points(mut points: Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    if points.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    while !points.is_empty() {
        let mut point = points.enter(SEQUENCE)?;
        let mut has_name = false;
        if point.peek() == Some(TAGGED[0]) {
            let mut name = point.enter(TAGGED[0])?;
            general_names(name.enter(TAGGED[0])?, canonicaliser)?;
            name.end()?;
            has_name = true;
        }
        if point.peek() == Some(IMPLICIT[1]) {
            flags(point.content_of(IMPLICIT[1])?)?;
        }
        if point.peek() == Some(TAGGED[2]) {
            general_names(point.enter(TAGGED[2])?, canonicaliser)?;
            has_name = true;
        }
        point.end()?;
        if !has_name {
            return Err(DerFault::ExtensionValue);
        }
    }
    Ok(())
}
