//! The policy extensions. `ossl_policy_cache_set` (OpenSSL, crypto/x509/pcy_cache.c; `policy_cache_set` in 1.1.1)
//! decodes them once for each certificate, when a chain with the certificate is first checked for policies.

use crate::der::{INTEGER, OBJECT_IDENTIFIER, Reader, SEQUENCE, Span, integer, object_identifier, small_number};
use crate::error::DerFault;

/// 2.5.29.32.0
const ANY_POLICY: &[u8] = b"\x55\x1D\x20\x00";
/// 1.3.6.1.5.5.7.2.1
const CPS: &[u8] = b"\x2B\x06\x01\x05\x05\x07\x02\x01";
/// 1.3.6.1.5.5.7.2.2
const USER_NOTICE: &[u8] = b"\x2B\x06\x01\x05\x05\x07\x02\x02";

const UTF8_STRING: u8 = 0x0C;
const IA5_STRING: u8 = 0x16;
const VISIBLE_STRING: u8 = 0x1A;
const BMP_STRING: u8 = 0x1E;

const REQUIRE_EXPLICIT_POLICY: u8 = 0x80;
const INHIBIT_POLICY_MAPPING: u8 = 0x81;

/// No CA has more; comparing each policy with all others must stay cheap.
const MAX_POLICIES: usize = 32;

/// certificatePolicies. `policy_cache_create` requires at least one policy, and no duplicates.
pub(crate) fn certificate_policies(mut value: Reader<'_>) -> Result<(), DerFault> {
    let mut policies = value.enter(SEQUENCE)?;
    value.end()?;
    let mut seen = [Span::default(); MAX_POLICIES];
    let mut count = 0;
    while !policies.is_empty() {
        let mut policy = policies.enter(SEQUENCE)?;
        let (_, place) = policy.element_of(OBJECT_IDENTIFIER)?;
        let oid = policy.bytes(place);
        object_identifier(oid)?;
        let before = seen.get(..count).unwrap_or(&[]);
        if before.iter().any(|other| policy.bytes(*other) == oid) {
            return Err(DerFault::ExtensionValue);
        }
        *seen.get_mut(count).ok_or(DerFault::ExtensionValue)? = place;
        count += 1;
        if !policy.is_empty() {
            qualifiers(policy.enter(SEQUENCE)?)?;
        }
        policy.end()?;
    }
    if count == 0 {
        return Err(DerFault::ExtensionValue);
    }
    Ok(())
}

fn qualifiers(mut list: Reader<'_>) -> Result<(), DerFault> {
    if list.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    while !list.is_empty() {
        let mut qualifier = list.enter(SEQUENCE)?;
        match qualifier.content_of(OBJECT_IDENTIFIER)? {
            CPS => drop(qualifier.content_of(IA5_STRING)?),
            USER_NOTICE => user_notice(qualifier.enter(SEQUENCE)?)?,
            _ => return Err(DerFault::ExtensionValue),
        }
        qualifier.end()?;
    }
    Ok(())
}

fn user_notice(mut notice: Reader<'_>) -> Result<(), DerFault> {
    if notice.peek() == Some(SEQUENCE) {
        let mut reference = notice.enter(SEQUENCE)?;
        display_text(&mut reference)?;
        let mut numbers = reference.enter(SEQUENCE)?;
        while !numbers.is_empty() {
            integer(numbers.content_of(INTEGER)?)?;
        }
        reference.end()?;
    }
    if !notice.is_empty() {
        display_text(&mut notice)?;
    }
    notice.end()
}

/// `DISPLAYTEXT`. `asn1_ex_c2i` requires two bytes for each character of a BMPString, and checks no other type.
fn display_text(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let (tag, _, content) = reader.element()?;
    match tag {
        UTF8_STRING | IA5_STRING | VISIBLE_STRING => Ok(()),
        BMP_STRING if content.len % 2 == 0 => Ok(()),
        _ => Err(DerFault::ExtensionValue),
    }
}

/// policyMappings. `policy_cache_set_mapping` requires at least one mapping, and none with anyPolicy.
pub(crate) fn policy_mappings(mut value: Reader<'_>) -> Result<(), DerFault> {
    let mut mappings = value.enter(SEQUENCE)?;
    value.end()?;
    if mappings.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    while !mappings.is_empty() {
        let mut mapping = mappings.enter(SEQUENCE)?;
        for _ in 0..2 {
            let policy = mapping.content_of(OBJECT_IDENTIFIER)?;
            object_identifier(policy)?;
            if policy == ANY_POLICY {
                return Err(DerFault::ExtensionValue);
            }
        }
        mapping.end()?;
    }
    Ok(())
}

/// policyConstraints: one of its two numbers, or both.
pub(crate) fn policy_constraints(mut value: Reader<'_>) -> Result<(), DerFault> {
    let mut constraints = value.enter(SEQUENCE)?;
    value.end()?;
    if constraints.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    for tag in [REQUIRE_EXPLICIT_POLICY, INHIBIT_POLICY_MAPPING] {
        if constraints.peek() == Some(tag) {
            small_number(constraints.content_of(tag)?)?;
        }
    }
    constraints.end()
}

/// inhibitAnyPolicy: one number.
pub(crate) fn inhibit_any_policy(mut value: Reader<'_>) -> Result<(), DerFault> {
    small_number(value.content_of(INTEGER)?)?;
    value.end()
}
